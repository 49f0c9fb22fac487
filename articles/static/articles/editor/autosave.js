// Autosave: sends the form to the server before each save and every AUTOSAVE_INTERVAL seconds, which
// articles/desk/editor/autosave.py sets. While the server is unreachable, the browser stores it.
import { announce, config, element, text as label } from "articles/editor/config";

const NEVER_SENT = ["csrfmiddlewaretoken", "window", "merged_with", "asked"];

const form = document.getElementById("article_form");
const status = document.getElementById("autosave-status");
const storagePrefix = `headline.draft.${config.user}.`;

const csrf = () => document.cookie.match(/(?:^|; )csrftoken=([^;]+)/)?.[1] || form.csrfmiddlewaretoken.value;

const formValues = () => {
    const values = {};
    for (const [name, value] of new FormData(form)) {
        if (!NEVER_SENT.includes(name) && !/^(_|keep_)/.test(name)) (values[name] ||= []).push(value);
    }
    return values;
};

const asText = () => JSON.stringify(formValues());

let saved = asText(); // the form as loaded, or as last saved on the server
let since = new Date();
let sending = null;

const show = (parts, isProblem) => {
    status.replaceChildren(...parts);
    status.hidden = !parts.length;
    status.classList.toggle("is-problem", isProblem);
};

const clock = (time) => time.toLocaleTimeString(document.documentElement.lang, { timeStyle: "medium", hourCycle: "h23" });

const store = (text) => {
    const draft = { article: config.article, number: Date.now(), typed: JSON.parse(text) };
    try {
        localStorage.setItem(storagePrefix + config.window, JSON.stringify(draft));
    } catch {
        // storage may be full or disabled
    }
};

const post = (address, draft, options = {}) =>
    fetch(address, {
        method: "POST",
        headers: { "Content-Type": "application/json", "X-CSRFToken": csrf() },
        body: JSON.stringify({ ...draft, user: config.user }),
        ...options,
    });

const reportError = async (response) => {
    const { code, message } = await response.json().catch(() => ({ code: "signed_out" })); // an HTML page
    if (code === "signed_out") {
        const link = element("a", { href: config.urls.signIn, target: "_blank", textContent: label("signIn") });
        show([`${label("signedOut")} `, link], true);
    } else {
        show([message || label("notSaved", { time: clock(since) })], true);
    }
    announce(status.textContent);
};

const reportOffline = () => {
    show([label("notSaved", { time: clock(since) })], true);
    announce(status.textContent);
};

const accept = async (response, text) => {
    const { saved: time } = await response.json();
    saved = text;
    since = new Date();
    localStorage.removeItem(storagePrefix + config.window);
    form.csrfmiddlewaretoken.value = csrf();
    show([label("saved", { time })], false);
};

const send = async (text) => {
    try {
        const draft = { article: config.article, number: Date.now(), typed: JSON.parse(text) };
        const response = await post(config.urls.draft, draft);
        if (response.ok) await accept(response, text);
        else await reportError(response);
    } catch {
        reportOffline();
    }
    if (saved !== text) store(text);
    return saved === text;
};

// Saves the form; resolves to true when the server has its current content.
export const save = async () => {
    if (!config.urls.draft) return true; // read-only form
    await sending;
    const text = asText();
    if (text === saved) return true;
    sending = send(text);
    const done = await sending;
    sending = null;
    if (done) form.dispatchEvent(new CustomEvent("draft:saved"));
    return done;
};

let timer = null;
const run = async () => {
    clearTimeout(timer);
    if (!sending) await save();
    timer = setTimeout(run, config.autosaveInterval);
};

let isLeaving = false;
const isSaved = () => !config.urls.draft || (!sending && asText() === saved);

form.addEventListener("submit", async (event) => {
    if (isLeaving || isSaved()) {
        isLeaving = true;
        clearTimeout(timer);
        return;
    }
    event.preventDefault();
    const { submitter } = event;
    if (await save()) {
        isLeaving = true;
        clearTimeout(timer);
        form.requestSubmit(submitter);
    } else {
        status.append(" ", label("cannotSave"));
        announce(status.textContent);
    }
});

window.addEventListener("beforeunload", (event) => {
    if (!isLeaving && !isSaved()) event.preventDefault(); // the browser asks whether to leave
});

window.addEventListener("focus", run);
window.addEventListener("online", run);
window.addEventListener("pagehide", () => {
    const text = asText();
    if (isLeaving || isSaved()) return;
    store(text);
    const draft = { article: config.article, number: Date.now(), typed: JSON.parse(text) };
    post(config.urls.draft, draft, { keepalive: true }).catch(() => {});
});

// Sends drafts stored in the browser to the server, and reloads to offer them.
const uploadStored = async () => {
    let uploaded = 0;
    for (const key of Object.keys(localStorage).filter((name) => name.startsWith(storagePrefix))) {
        const draft = JSON.parse(localStorage.getItem(key));
        const window = key.slice(storagePrefix.length);
        if (draft.article !== config.article || window === config.window) continue;
        const response = await post(config.urls.drafts.replace(/[0-9a-f-]{36}/, window), draft);
        if (!response.ok) continue;
        localStorage.removeItem(key);
        uploaded += 1;
    }
    if (uploaded && asText() === saved) location.reload();
};

for (const banner of document.querySelectorAll("[data-unsaved]")) {
    banner.querySelector("[data-discard]").addEventListener("click", async () => {
        const response = await fetch(banner.dataset.unsaved, { method: "DELETE", headers: { "X-CSRFToken": csrf() } });
        if (!response.ok) return;
        banner.remove();
        announce(label("discarded"));
        document.getElementById("id_title")?.focus();
    });
}

if (config.urls.draft) {
    uploadStored().catch(() => {});
    timer = setTimeout(run, config.autosaveInterval);
}
