// Keeps what is typed on the server, every few seconds and before each saving, so that neither a closed window nor a lost
// connection nor an expired session costs any of it. While the server cannot be reached, the browser keeps it.
import { announce, element, say, told } from "articles/editor/told";

const EVERY = 3000;
const NEVER_SENT = ["csrfmiddlewaretoken", "window", "merged_with", "asked"];

const form = document.getElementById("article_form");
const place = document.getElementById("keeping");
const shelf = `headline.copy.${told.user}.`;

const csrf = () => document.cookie.match(/(?:^|; )csrftoken=([^;]+)/)?.[1] || form.csrfmiddlewaretoken.value;

const typed = () => {
    const values = {};
    for (const [name, value] of new FormData(form)) {
        if (!NEVER_SENT.includes(name) && !/^(_|keep_)/.test(name)) (values[name] ||= []).push(value);
    }
    return values;
};

const asText = () => JSON.stringify(typed());

let kept = asText(); // what needs no keeping: as it was loaded, or as the server has it
let since = new Date();
let sending = null;

const show = (...parts) => {
    place.replaceChildren(...parts);
    place.hidden = !parts.length;
};

const clock = (time) => time.toLocaleTimeString(document.documentElement.lang, { timeStyle: "medium", hourCycle: "h23" });

const shelve = (text) => {
    const copy = { article: told.article, number: Date.now(), typed: JSON.parse(text) };
    try {
        localStorage.setItem(shelf + told.window, JSON.stringify(copy));
    } catch {
        // the browser's own store may be full or forbidden
    }
};

const post = (address, copy, options = {}) =>
    fetch(address, {
        method: "POST",
        headers: { "Content-Type": "application/json", "X-CSRFToken": csrf() },
        body: JSON.stringify({ ...copy, user: told.user }),
        ...options,
    });

const complain = async (answer) => {
    const { code, message } = await answer.json().catch(() => ({ code: "signed_out" })); // a page, not an answer
    if (code === "signed_out") {
        const link = element("a", { href: told.addresses.signIn, target: "_blank", textContent: say("signIn") });
        show(`${say("signedOut")} `, link);
    } else {
        show(message || say("notKept", { time: clock(since) }));
    }
    announce(place.textContent);
};

const complainOfTheLine = () => {
    show(say("notKept", { time: clock(since) }));
    announce(place.textContent);
};

const accept = async (answer, text) => {
    const { kept: time } = await answer.json();
    kept = text;
    since = new Date();
    localStorage.removeItem(shelf + told.window);
    form.csrfmiddlewaretoken.value = csrf();
    show(say("kept", { time }));
};

const send = async (text) => {
    try {
        const copy = { article: told.article, number: Date.now(), typed: JSON.parse(text) };
        const answer = await post(told.addresses.copy, copy);
        if (answer.ok) await accept(answer, text);
        else await complain(answer);
    } catch {
        complainOfTheLine();
    }
    if (kept !== text) shelve(text);
    return kept === text;
};

// Keeps what stands in the form; true when the server has what stands in the form.
export const keep = async () => {
    if (!told.addresses.copy) return true; // who only reads has nothing to lose
    await sending;
    const text = asText();
    if (text === kept) return true;
    sending = send(text);
    const done = await sending;
    sending = null;
    if (done) form.dispatchEvent(new CustomEvent("copy:kept"));
    return done;
};

let timer = null;
const run = async () => {
    clearTimeout(timer);
    if (!sending) await keep();
    timer = setTimeout(run, EVERY);
};

let isLeaving = false;
const isKept = () => !told.addresses.copy || (!sending && asText() === kept);

form.addEventListener("submit", async (event) => {
    if (isLeaving || isKept()) {
        isLeaving = true;
        clearTimeout(timer);
        return;
    }
    event.preventDefault();
    const { submitter } = event;
    if (await keep()) {
        isLeaving = true;
        clearTimeout(timer);
        form.requestSubmit(submitter);
    } else {
        place.append(" ", say("cannotSave"));
        announce(place.textContent);
    }
});

window.addEventListener("beforeunload", (event) => {
    if (!isLeaving && !isKept()) event.preventDefault(); // the browser asks whether to leave
});

window.addEventListener("focus", run);
window.addEventListener("online", run);
window.addEventListener("pagehide", () => {
    const text = asText();
    if (isLeaving || isKept()) return;
    shelve(text);
    const copy = { article: told.article, number: Date.now(), typed: JSON.parse(text) };
    post(told.addresses.copy, copy, { keepalive: true }).catch(() => {});
});

// What the browser kept while the server could not be reached: the server gets it now, and offers it.
const bringIn = async () => {
    let brought = 0;
    for (const key of Object.keys(localStorage).filter((name) => name.startsWith(shelf))) {
        const copy = JSON.parse(localStorage.getItem(key));
        const window = key.slice(shelf.length);
        if (copy.article !== told.article || window === told.window) continue;
        const answer = await post(told.addresses.copies.replace(/[0-9a-f-]{36}/, window), copy);
        if (!answer.ok) continue;
        localStorage.removeItem(key);
        brought += 1;
    }
    if (brought && asText() === kept) location.reload();
};

for (const notice of document.querySelectorAll("[data-unsaved]")) {
    notice.querySelector("[data-discard]").addEventListener("click", async () => {
        const answer = await fetch(notice.dataset.unsaved, { method: "DELETE", headers: { "X-CSRFToken": csrf() } });
        if (!answer.ok) return;
        notice.remove();
        announce(say("discarded"));
        form.querySelector("input:not([type=hidden])")?.focus();
    });
}

if (told.addresses.copy) {
    bringIn().catch(() => {});
    timer = setTimeout(run, EVERY);
}
