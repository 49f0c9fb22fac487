// Presence heartbeat: reports that the article is open here and shows who else is editing or has saved it.
import { config, element, text as label, timeout } from "articles/editor/config";

const PRESENCE_INTERVAL = 8000; // milliseconds
const banner = document.getElementById("presence");
const form = document.getElementById("article_form");

const formData = (values) => {
    const data = new FormData();
    for (const [name, value] of Object.entries(values)) data.set(name, value);
    data.set("csrfmiddlewaretoken", window.csrfToken());
    return data;
};

const show = (messages) => {
    const text = messages.join("\n");
    if (banner.dataset.text === text) return;
    banner.dataset.text = text;
    const close = element("button", { type: "button", className: "notice-action", textContent: label("close") });
    close.addEventListener("click", () => (banner.hidden = true)); // until the next change
    banner.replaceChildren(...messages.map((line) => element("p", { textContent: line })), close);
    banner.hidden = !messages.length;
};

const showPeople = (names) => {
    const initial = (name) => element("span", { title: name, textContent: [...name][0].toUpperCase() });
    document.getElementById("people").replaceChildren(...names.map(initial));
};

const ping = async () => {
    const seen = (form.querySelector("[name=merged_with]") || form.querySelector("[name=seen]"))?.value || "";
    const base = form.querySelector("[name=base]")?.value || "";
    const response = await fetch(config.urls.presence, { method: "POST", body: formData({ seen, base }), signal: timeout() });
    if (!response.ok) return;
    const { messages, people, version } = await response.json();
    document.dispatchEvent(new CustomEvent("follow:look", { detail: { version } }));
    show(messages);
    showPeople(people);
};

let timer = null;
const run = () => {
    clearTimeout(timer);
    ping().catch(() => {});
    timer = setTimeout(run, PRESENCE_INTERVAL);
};

document.getElementById("merging")?.focus();
if (config.urls.presence) {
    run();
    window.addEventListener("focus", run);
    window.addEventListener("pagehide", () => {
        clearTimeout(timer);
        navigator.sendBeacon(config.urls.presence, formData({ leave: 1 }));
    });
}
