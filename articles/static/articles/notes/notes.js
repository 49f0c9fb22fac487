// Notes beside a text: sends them without leaving the page, refreshes the threads, keeps what is typed, and connects threads
// with their passages. The editor listens to and sends events on `document`, see articles/editor/notes.js.
const POLL_INTERVAL = 8000; // milliseconds, as presence
const TIMEOUT = 30000;
const OFFERED = 6;

const root = document.getElementById("notes");
const form = document.getElementById("notes-form");
const problem = document.getElementById("note-problem");
const config = JSON.parse(document.getElementById("notes-config").textContent);
const storageKey = `headline.notes.${config.user}.${config.address}`;
let { version, passages } = config;

const field = (name) => root.querySelector(`[name="${CSS.escape(name)}"]`);
const emit = (name, detail) => document.dispatchEvent(new CustomEvent(`notes:${name}`, { detail }));

// --- The passage: white space is ignored, because the server's plain text and the page differ in it ---------------------

const dense = (text) => text.replace(/\s+/g, "");

const common = (one, other) => {
    let size = 0;
    while (size < one.length && one[size] === other[size]) size += 1;
    return size;
};

const reversed = (text) => [...text].reverse().join("");

// Start and end of a passage in a text without white space, where its surroundings fit best; null if it is not there.
const locate = (text, passage) => {
    const [quote, prefix, suffix] = [passage.quote, passage.prefix, passage.suffix].map(dense);
    let best = null;
    for (let at = text.indexOf(quote); quote && at >= 0; at = text.indexOf(quote, at + 1)) {
        const before = text.slice(Math.max(0, at - prefix.length), at);
        const fit = common(reversed(prefix), reversed(before)) + common(suffix, text.slice(at + quote.length));
        if (!best || fit > best.fit) best = { start: at, end: at + quote.length, fit };
    }
    return best;
};

// --- Passages in a text that is not an editor -------------------------------------------------------------------------

const textNodes = (element) => {
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    const nodes = [];
    while (walker.nextNode()) nodes.push(walker.currentNode);
    return nodes;
};

const unmark = (element) => {
    for (const mark of element.querySelectorAll("mark[data-note]")) mark.replaceWith(...mark.childNodes);
    element.normalize();
};

const mark = (element, passage) => {
    const places = textNodes(element).flatMap((node) => [...node.data].map((letter, at) => ({ node, at, letter })));
    const solid = places.filter(({ letter }) => /\S/.test(letter));
    const found = locate(solid.map(({ letter }) => letter).join(""), passage);
    if (!found) return;
    const shown = solid.slice(found.start, found.end);
    for (const node of new Set(shown.map((place) => place.node))) {
        const inside = shown.filter((place) => place.node === node).map(({ at }) => at);
        const range = document.createRange();
        range.setStart(node, inside[0]);
        range.setEnd(node, inside.at(-1) + 1);
        const wrapper = Object.assign(document.createElement("mark"), { className: "note-mark" });
        wrapper.dataset.note = passage.id;
        range.surroundContents(wrapper);
    }
};

const markStaticTexts = () => {
    for (const element of document.querySelectorAll("[data-notes-text]")) {
        unmark(element);
        for (const passage of passages) mark(element, passage);
    }
};

const showPassages = () => {
    markStaticTexts();
    emit("shown", { passages, locate });
};

// --- What is typed survives a reload, a closed window, a lost connection and an expired session -------------------------

const isTyped = (box) => {
    const area = box.querySelector("textarea");
    return box.matches("[data-note-draft]") ? area.value.trim() : area && area.value !== area.defaultValue;
};

// New notes, replies and edits that are not sent, with their hidden fields.
const drafts = () => Object.fromEntries(
    [...root.querySelectorAll("[data-note-draft], .note-more")]
        .filter(isTyped)
        .flatMap((box) => [...box.querySelectorAll("input, textarea")].map(({ name, value }) => [name, value])),
);

const read = (storage) => {
    try {
        return JSON.parse(storage.getItem(storageKey)) || {};
    } catch {
        return {};
    }
};

const write = (storage, values) => {
    try {
        if (Object.keys(values).length) storage.setItem(storageKey, JSON.stringify(values));
        else storage.removeItem(storageKey);
    } catch {
        // storage may be full or disabled
    }
};

const storeDrafts = () => write(sessionStorage, drafts());

// The drafts of two windows; a text of both has the lines of both.
const joined = (one, other) => {
    const texts = Object.keys(one).filter((name) => name in other && /^(text|reply-|edit-)/.test(name));
    const both = texts.map((name) => [name, [...new Set([one[name], other[name]])].join("\n")]);
    return { ...one, ...other, ...Object.fromEntries(both) };
};

// Puts texts into their fields; those of notes that are gone go to the new note.
const fill = (values) => {
    for (const [name, value] of Object.entries(values)) {
        const input = field(name);
        if (input) input.value = value;
        if (input?.matches("textarea")) for (let box = input.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
        if (input || !/^(reply|edit)-/.test(name)) continue;
        field("text").value = [field("text").value, value].filter(Boolean).join("\n");
        report(config.texts.moved);
    }
    showAbout();
};

// A window that closes leaves its drafts to the next one of this article. The page shows what their notes say now: a draft is
// saved over that, not over what it began with.
const restoreDrafts = () => {
    const drafts = Object.entries(joined(read(localStorage), read(sessionStorage)));
    fill(Object.fromEntries(drafts.filter(([name]) => !name.startsWith("seen-"))));
    storeDrafts();
    write(localStorage, {});
};

addEventListener("pagehide", () => write(localStorage, joined(read(localStorage), drafts())));
addEventListener("pageshow", ({ persisted }) => persisted && write(localStorage, {})); // this window has them still

// --- The passage of a new note ----------------------------------------------------------------------------------------

const about = document.getElementById("note-about");

const showAbout = () => {
    about.hidden = !field("quote").value;
    about.querySelector("q").textContent = field("quote").value;
};

const quote = (selector) => {
    for (const name of ["quote", "prefix", "suffix"]) field(name).value = selector?.[name] || "";
    showAbout();
    storeDrafts();
};

const selectedIn = (element) => {
    const selection = getSelection();
    if (!selection.rangeCount || selection.isCollapsed) return null;
    const range = selection.getRangeAt(0);
    if (!element.contains(range.commonAncestorContainer)) return null;
    const [before, after] = [range.cloneRange(), range.cloneRange()];
    before.setStart(element, 0);
    before.setEnd(range.startContainer, range.startOffset);
    after.selectNodeContents(element);
    after.setStart(range.endContainer, range.endOffset);
    return { quote: selection.toString(), prefix: before.toString().slice(-64), suffix: after.toString().slice(0, 64) };
};

// Takes the passage selected in the text for the new note; the editor answers the event, if there is one.
const takeSelection = () => {
    const request = { selector: null };
    emit("select", request);
    const texts = [...document.querySelectorAll("[data-notes-text]")];
    const selector = request.selector || texts.map(selectedIn).find(Boolean);
    if (selector) quote(selector);
    return Boolean(selector);
};

// Shows the notes where they are a tab of a panel.
const showPanel = () => {
    const tab = document.getElementById("tab-notes");
    if (tab?.getAttribute("aria-selected") === "false") tab.click();
};

const compose = () => {
    showPanel();
    const text = field("text");
    text.focus();
    text.scrollIntoView({ block: "nearest" });
};

const selectButton = root.querySelector("[data-note-select]");
selectButton.hidden = config.page > 0; // their own screen has no text
selectButton.addEventListener("mousedown", (event) => event.preventDefault()); // keeps the selection
selectButton.addEventListener("click", () => (takeSelection() ? compose() : report(config.texts.select)));
root.querySelector("[data-note-unquote]").addEventListener("click", () => {
    quote(null);
    field("text").focus();
});
document.addEventListener("notes:add", () => {
    takeSelection();
    compose();
});

// --- Sending and refreshing -------------------------------------------------------------------------------------------

const report = (...parts) => {
    problem.replaceChildren(...parts);
    problem.hidden = !parts.length;
    if (parts.length) problem.scrollIntoView({ block: "nearest" });
};

const reportSignedOut = () => {
    const link = Object.assign(document.createElement("a"), { href: config.signIn, target: "_blank", textContent: config.texts.signIn });
    report(`${config.texts.signedOut} `, link);
};

const replaceHtml = (id, html) => {
    const place = document.getElementById(id);
    const focused = place.contains(document.activeElement) ? document.activeElement : null;
    const [name, start, end] = [focused?.name, focused?.selectionStart, focused?.selectionEnd];
    const [typed, opened] = [drafts(), [...place.querySelectorAll("details[open]")].map(pathOf)];
    place.innerHTML = html;
    for (const details of place.querySelectorAll("details")) details.open = opened.includes(pathOf(details));
    fill(typed);
    if (!name) return;
    const again = field(name);
    again?.focus({ preventScroll: true });
    if (again?.matches("textarea")) again.setSelectionRange(start, end);
};

const pathOf = (details) => `${details.className} ${details.closest("[id]").id}`;

const show = (data) => {
    ({ version, passages } = data);
    replaceHtml("note-threads", data.threads);
    replaceHtml("note-owner", data.owner);
    storeDrafts(); // texts of notes that are gone are in the new one, or the next window would add them once more
    showPassages();
    const badge = document.querySelector("[data-count=notes]");
    if (!badge) return;
    badge.textContent = data.count;
    badge.hidden = !data.count;
};

// Threads in which the user is writing stay, also when newer ones come.
const isWritten = (thread) => thread.contains(document.activeElement) || [...thread.querySelectorAll("[data-note-draft], .note-more")].some(isTyped);

const request = (options, query = {}) => {
    const kept = [...root.querySelectorAll(".note-thread")].filter(isWritten).map(({ id }) => ["keep", id.slice("note-".length)]);
    const asked = new URLSearchParams([...(config.page ? [["page", config.page]] : []), ...kept, ...Object.entries(query)]);
    const signal = AbortSignal.timeout(TIMEOUT);
    return fetch(`${config.address}?${asked}`, { headers: { Accept: "application/json" }, signal, ...options });
};

// Words that an input method still composes are lost with their field: what is new waits for them.
let composition = null;
root.addEventListener("compositionstart", () => {
    composition = new Promise((end) => root.addEventListener("compositionend", () => end(composition = null), { once: true }));
});

let isSending = false;
let sent = 0; // an answer to a request before the last change would show the notes as they were

const accept = async (data, submitter) => {
    sent += 1;
    await composition;
    const draft = submitter.closest("[data-note-draft]");
    if (draft) {
        for (const input of draft.querySelectorAll("textarea, [name=quote], [name=prefix], [name=suffix]")) input.value = "";
        draft.querySelector("[name^=new]").value = data.new;
    }
    const box = submitter.closest(".note-more, .note-assign");
    if (box) for (const area of box.querySelectorAll("textarea")) area.value = area.defaultValue; // saved, or deleted with its note
    if (box) box.open = false;
    report();
    show(data);
};

const send = async (submitter) => {
    const data = new FormData(form, submitter);
    storeDrafts();
    const response = await request({ method: "POST", body: data }).catch(() => null);
    if (!response) return report(config.texts.offline);
    const answer = await response.json().catch(() => null); // which may be cut off, or of a network that asks to sign in
    if (response.ok && answer) return accept(answer, submitter);
    const { code, message } = answer || {};
    if (code === "signed_out") return reportSignedOut();
    report(message || config.texts.failed);
    if (code === "note_gone") setTimeout(refresh); // once this one has ended
};

form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (isSending) return;
    isSending = true;
    const areas = event.submitter.closest("[data-note-draft], .note-more")?.querySelectorAll("textarea") || [];
    for (const area of areas) area.readOnly = true; // its answer empties or replaces what would be typed on
    event.submitter.setAttribute("aria-busy", "true");
    await send(event.submitter);
    event.submitter.removeAttribute("aria-busy");
    for (const area of areas) area.readOnly = false;
    isSending = false;
});

let timer = null;
let [asked, answered] = [0, 0]; // numbers of the last request, and of the one whose answer is shown
const refresh = async () => {
    clearTimeout(timer);
    if (!document.hidden && !isSending) {
        const [before, mine] = [sent, ++asked];
        const response = await request({}, { version }).catch(() => null);
        const data = response?.status === 200 && (await response.json().catch(() => null));
        const isFree = !isSending && !composition && !window.isPressed(root);
        if (data && isFree && sent === before && mine > answered) { // answers may overtake each other
            answered = mine;
            show(data);
        }
    }
    clearTimeout(timer);
    timer = setTimeout(refresh, POLL_INTERVAL);
};

// --- Mentions ---------------------------------------------------------------------------------------------------------

const list = Object.assign(document.createElement("ul"), { className: "note-people", id: "note-people", hidden: true });
list.setAttribute("role", "listbox");
root.append(list);

const closeList = (area) => {
    list.hidden = true;
    area?.removeAttribute("aria-activedescendant");
    area?.removeAttribute("aria-controls");
};

const mentionBefore = (area) => area.value.slice(0, area.selectionStart).match(/@([\p{L}\p{N}_.+-]*)$/u);

const matching = (typed) => {
    const wanted = typed.toLowerCase();
    return config.people.filter(({ username, name }) => `${username} ${name}`.toLowerCase().split(/\s+/).some((word) => word.startsWith(wanted)) || name.includes(typed)).slice(0, OFFERED);
};

const mention = (area, username) => {
    const [written] = mentionBefore(area);
    area.setRangeText(`@${username} `, area.selectionStart - written.length, area.selectionStart, "end");
    closeList(area);
    area.focus();
    storeDrafts();
};

const choose = (area, option) => {
    for (const each of list.children) each.setAttribute("aria-selected", each === option);
    area.setAttribute("aria-activedescendant", option.id);
};

const offer = (area) => {
    const found = mentionBefore(area);
    const people = found ? matching(found[1]) : [];
    if (!people.length) return closeList(area);
    list.replaceChildren(...people.map(({ username, name }, at) => {
        const option = Object.assign(document.createElement("li"), { id: `note-person-${at}`, textContent: name });
        option.dataset.username = username;
        option.setAttribute("role", "option");
        option.addEventListener("mousedown", (event) => {
            event.preventDefault();
            mention(area, username);
        });
        return option;
    }));
    area.after(list);
    list.hidden = false;
    area.setAttribute("aria-controls", list.id);
    choose(area, list.firstChild);
};

root.addEventListener("input", ({ target }) => {
    if (!target.matches("textarea")) return;
    storeDrafts();
    offer(target);
});
root.addEventListener("focusout", ({ target }) => closeList(target));
root.addEventListener("keydown", (event) => {
    const { key, target, isComposing } = event;
    if (isComposing || !target.matches("textarea")) return;
    if ((event.ctrlKey || event.metaKey) && key === "Enter") {
        event.preventDefault();
        event.stopPropagation();
        return target.closest("[data-note-draft], .note-more").querySelector("button[value^=add], button[value^=reply], button[value^=edit]").click();
    }
    if (list.hidden) return;
    const chosen = list.querySelector("[aria-selected=true]");
    const next = { ArrowDown: chosen.nextSibling || list.firstChild, ArrowUp: chosen.previousSibling || list.lastChild }[key];
    if (next) choose(target, next);
    else if (key === "Enter" || key === "Tab") mention(target, chosen.dataset.username);
    else if (key === "Escape") closeList(target);
    else return;
    event.preventDefault();
    event.stopPropagation();
});

// --- Threads and passages ---------------------------------------------------------------------------------------------

const flash = (element) => {
    element.classList.add("is-shown");
    setTimeout(() => element.classList.remove("is-shown"), 1500);
};

const open = (id) => {
    const thread = document.getElementById(`note-${id}`);
    if (!thread) return;
    showPanel();
    thread.closest("details")?.setAttribute("open", "");
    thread.scrollIntoView({ block: "nearest" });
    flash(thread);
};

const reveal = (id) => {
    const marks = document.querySelectorAll(`.note-mark[data-note="${id}"]`);
    marks[0]?.scrollIntoView({ block: "center" });
    marks.forEach(flash);
};

root.addEventListener("click", ({ target }) => {
    const button = target.closest("[data-note-reveal]");
    if (button) reveal(button.dataset.noteReveal);
});
document.addEventListener("click", ({ target }) => {
    const marked = target.closest?.(".note-mark");
    const isWritingOnPhone = marked?.closest("[contenteditable]") && matchMedia("(max-width: 63.99rem)").matches;
    if (marked && !isWritingOnPhone) open(marked.dataset.note);
});
document.addEventListener("notes:ready", showPassages); // the editor listens
document.addEventListener("visibilitychange", () => document.hidden || refresh());

restoreDrafts();
showPassages();
timer = setTimeout(refresh, POLL_INTERVAL);
window.addEventListener("load", () => location.hash === "#notes" && showPanel());
