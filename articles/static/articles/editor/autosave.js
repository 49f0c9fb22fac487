// Autosave: sends the form to the server before each save and every AUTOSAVE_INTERVAL seconds, which
// articles/desk/editor/autosave.py sets. While the server is unreachable, the browser stores it.
import { announce, config, element, text as label, timeout } from "articles/editor/config";
import { local } from "articles/editor/storage";
import { openWindows, staysOpen } from "articles/editor/windows";

const LEAVING = 10_000; // milliseconds that a submission may take
const NEVER_SENT = ["csrfmiddlewaretoken", "window", "merged_with", "asked", "review_stage"];

const form = document.getElementById("article_form");
const status = document.getElementById("autosave-status");
const storagePrefix = `headline.draft.${config.user}.`;

const formValues = () => {
    const values = {};
    for (const [name, value] of new FormData(form)) {
        if (!NEVER_SENT.includes(name) && !/^(_|keep_)/.test(name)) (values[name] ||= []).push(value);
    }
    return values;
};

const asText = () => JSON.stringify(formValues());

let saved = asText(); // the form as loaded, or as last saved on the server
let token = window.csrfToken(); // of the session in which that was; another one may be another user's
let since = new Date();
let sending = null;

const show = (parts, isProblem) => {
    status.replaceChildren(...parts);
    status.hidden = !parts.length;
    status.classList.toggle("is-problem", isProblem);
};

const clock = (time) => time.toLocaleTimeString(document.documentElement.lang, { timeStyle: "medium", hourCycle: "h23" });

// Grows, although the clock is set back, or is behind that of the browser in which a restored draft was written.
let number = config.number;
const nextNumber = () => (number = Math.max(number + 1, Date.now()));

const store = (text) => {
    const draft = { article: config.article, number: nextNumber(), typed: JSON.parse(text) };
    local.set(storagePrefix + config.window, JSON.stringify(draft));
};

const post = (address, draft, options = {}) =>
    fetch(address, {
        method: "POST",
        headers: { "Content-Type": "application/json", "X-CSRFToken": window.csrfToken() },
        body: JSON.stringify({ ...draft, user: config.user }),
        signal: timeout(),
        ...options,
    });

const reportError = async (response) => {
    const { code, message } = await response.json().catch(() => ({ code: response.status === 403 ? "signed_out" : "" })); // an HTML page
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
    token = window.csrfToken();
    since = new Date();
    local.remove(storagePrefix + config.window);
    show([label("saved", { time })], false);
};

const send = async (text) => {
    let isAccepted = false;
    try {
        const draft = { article: config.article, number: nextNumber(), typed: JSON.parse(text) };
        const response = await post(config.urls.draft, draft);
        if (response.ok) await accept(response, text);
        else await reportError(response);
        isAccepted = response.ok;
    } catch {
        reportOffline();
    }
    if (!isAccepted) store(text);
    return isAccepted;
};

// Saves the form; resolves to true when the server has its current content, `inSession` from the user who is signed in.
export const save = async (inSession = false) => {
    if (!config.urls.draft) return true; // read-only form
    await sending;
    const text = asText();
    if (text === saved && (!inSession || window.csrfToken() === token)) return true;
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

let sent = null; // the form that is on its way to the server
const isSaved = () => !config.urls.draft || (!sending && asText() === saved);
const canBeSent = () => !config.urls.draft || (isSaved() && window.csrfToken() === token);
const isKept = () => (sent === null ? isSaved() : asText() === sent);

const leave = () => {
    sent = asText();
    clearTimeout(timer);
    setTimeout(() => {
        sent = null; // the user has stopped it
        run();
    }, LEAVING);
};

form.addEventListener("submit", async (event) => {
    if (sent !== null) return event.preventDefault(); // pressed twice
    if (canBeSent()) return leave();
    event.preventDefault();
    const { submitter } = event;
    if (await save(true)) return form.requestSubmit(submitter);
    status.append(" ", label("cannotSave"));
    return announce(status.textContent);
});

window.addEventListener("beforeunload", (event) => {
    if (!isKept()) event.preventDefault(); // the browser asks whether to leave
});

window.addEventListener("focus", run);
window.addEventListener("online", run);
window.addEventListener("pagehide", () => {
    if (isKept()) return;
    const text = asText(); // also what was typed while the form was on its way
    store(text);
    const draft = { article: config.article, number: nextNumber(), typed: JSON.parse(text) };
    // Browsers limit such requests to 64 kB; a longer text is in the browser's storage, from which the next page sends
    // it.
    post(config.urls.draft, draft, { keepalive: true }).catch(() => {});
});

const banners = new Map([...document.querySelectorAll("[data-unsaved]")].map((banner) => [banner.dataset.unsaved, banner]));
const WINDOW = /[0-9a-f-]{36}/;
const addressOf = (window) => config.urls.drafts.replace(WINDOW, window);

// One draft is in sight, the others are folded below it.
const arrange = () => {
    const card = document.getElementById("recovered");
    if (!card) return;
    const [first, ...others] = [...banners.values()].filter((banner) => !banner.hidden);
    const older = card.querySelector(".recovered-older");
    card.hidden = !first;
    if (first && older?.contains(first)) older.before(first);
    if (older) older.hidden = !others.length;
};

const hide = (banner) => {
    banner.hidden = true;
    arrange();
    document.getElementById("id_title")?.focus();
};

// Offers only drafts whose window is closed. The page that this one has replaced may still be closing.
const hideOpen = async () => {
    const open = await openWindows();
    for (const [address, banner] of banners) {
        const [window] = WINDOW.exec(address);
        if (!open.has(window)) continue;
        hide(banner);
        staysOpen(window).then((stays) => {
            banner.hidden = stays;
            arrange();
        });
    }
};

const stored = (key) => {
    try {
        return JSON.parse(local.get(key));
    } catch {
        return null; // another program has written it
    }
};

// Sends the draft that a closed window stored in the browser to the server, which knows the article that a new form has
// created. Resolves to whether the page does not offer it yet.
const upload = async (key, window) => {
    const draft = stored(key);
    if (!draft || (draft.article && draft.article !== config.article)) return false;
    if ((await openWindows()).has(window) && (await staysOpen(window))) return false;
    const address = addressOf(window);
    const response = await post(address, draft);
    if (!response.ok) return false;
    local.remove(key);
    // The article may be another one: the form of a new article has created it since.
    return (await response.json()).article === config.article && !banners.has(address);
};

const uploads = new Map(); // by the address of the draft

const uploadStored = () => {
    for (const key of local.keys().filter((name) => name.startsWith(storagePrefix))) {
        const window = key.slice(storagePrefix.length);
        if (window === config.window) continue;
        const done = upload(key, window).catch(() => false);
        uploads.set(addressOf(window), done);
        done.then((isNew) => isNew && asText() === saved && location.reload());
    }
};

if (config.urls.draft) {
    hideOpen();
    uploadStored();
}

for (const [address, banner] of banners) {
    banner.querySelector("[data-discard]").addEventListener("click", async () => {
        await uploads.get(address); // an upload that arrives later would restore the draft
        const response = await fetch(address, { method: "DELETE", headers: { "X-CSRFToken": window.csrfToken() } });
        if (!response.ok) return;
        hide(banner);
        announce(label("discarded"));
    });
}

if (config.urls.draft) timer = setTimeout(run, config.autosaveInterval);
