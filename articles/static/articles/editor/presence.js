// Says every few seconds that the article is open here, and shows who else has it open or has saved it meanwhile.
import { element, say, told } from "articles/editor/told";

const EVERY = 8000;
const place = document.getElementById("presence");
const form = document.getElementById("article_form");

const message = (values) => {
    const data = new FormData();
    for (const [name, value] of Object.entries(values)) data.set(name, value);
    data.set("csrfmiddlewaretoken", document.cookie.match(/(?:^|; )csrftoken=([^;]+)/)?.[1] || "");
    return data;
};

const show = (news) => {
    const text = news.join("\n");
    if (place.dataset.text === text) return; // said once
    place.dataset.text = text;
    const close = element("button", { type: "button", className: "notice-action", textContent: say("close") });
    close.addEventListener("click", () => (place.hidden = true)); // until there is something else to say
    place.replaceChildren(...news.map((line) => element("p", { textContent: line })), close);
    place.hidden = !news.length;
};

const ask = async () => {
    const seen = (form.querySelector("[name=merged_with]") || form.querySelector("[name=seen]"))?.value || "";
    const base = form.querySelector("[name=base]")?.value || "";
    const answer = await fetch(told.addresses.presence, { method: "POST", body: message({ seen, base }) });
    if (answer.ok) show((await answer.json()).news);
};

let timer = null;
const run = () => {
    clearTimeout(timer);
    ask().catch(() => {});
    timer = setTimeout(run, EVERY);
};

document.getElementById("merging")?.focus();
if (told.addresses.presence) {
    run();
    window.addEventListener("focus", run);
    window.addEventListener("pagehide", () => {
        clearTimeout(timer);
        navigator.sendBeacon(told.addresses.presence, message({ leave: 1 }));
    });
}
