// The page around the text: menus, the tabs of the panel, keyboard shortcuts, headline and summary.
import { rememberCaret, restoreCaret } from "articles/editor/caret";
import { config, element, text as label } from "articles/editor/config";
import { session } from "articles/editor/storage";

const form = document.getElementById("article_form");
const isPhone = matchMedia("(max-width: 63.99rem)");

// Menus close by Escape, by a click elsewhere and when the focus leaves them. The page listens for them: those of the
// actions are replaced while it is open.
const closeMenus = (isClosed) => {
    for (const menu of document.querySelectorAll(".menu[open]")) if (isClosed(menu)) menu.open = false;
};
const onToggle = ({ target }) => target.matches(".menu[open]") && closeMenus((menu) => menu !== target);
document.addEventListener("toggle", onToggle, true); // it does not bubble
document.addEventListener(
    "keydown",
    (event) => {
        const menu = event.key === "Escape" && event.target.closest?.(".menu[open]");
        if (!menu) return;
        event.stopPropagation();
        menu.open = false;
        menu.querySelector("summary").focus();
    },
    true,
);
document.addEventListener("focusout", ({ target, relatedTarget }) => {
    const left = relatedTarget && target.closest(".menu");
    if (left) closeMenus((menu) => menu === left && !menu.contains(relatedTarget));
});
document.addEventListener("click", ({ target }) => closeMenus((menu) => !menu.contains(target)));

// The panel: one tab at a time. On a phone it is a sheet above the row of tabs, closed at first.
const panel = document.getElementById("panel");
const tabList = panel.querySelector("[role=tablist]");
const tabs = [...tabList.querySelectorAll("[role=tab]")];
const shownBy = (tab) => document.getElementById(tab.getAttribute("aria-controls"));

// The tab that was open last stays open after saving, also for an article that has its id only since then.
const STORED = "headline.panel";
const stored = () => {
    const { article, tab } = JSON.parse(session.get(STORED)) || {};
    return (!article || article === config.article) && document.getElementById(tab);
};
const first = () => (isPhone.matches ? null : stored() || tabs[0]);

const select = (chosen) => {
    for (const tab of tabs) {
        const isChosen = tab === chosen;
        tab.setAttribute("aria-selected", isChosen);
        tab.tabIndex = isChosen || (!chosen && tab === tabs[0]) ? 0 : -1;
        shownBy(tab).hidden = !isChosen;
    }
    if (chosen) session.set(STORED, JSON.stringify({ article: config.article, tab: chosen.id }));
    panel.classList.toggle("is-open", Boolean(chosen));
    form.classList.toggle("has-sheet", Boolean(chosen));
};

// Shows the tab of this key, or the one that contains the element.
export const showTab = (which) => {
    const key = typeof which === "string" ? which : which.closest(".tab-panel")?.id.replace("panel-", "");
    const tab = document.getElementById(`tab-${key}`);
    if (tab) select(tab);
    return tab;
};

const move = (event) => {
    const at = tabs.indexOf(event.target);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const next = tabs.at(to % tabs.length);
    select(next);
    next.focus();
};

for (const tab of tabs) {
    shownBy(tab).setAttribute("role", "tabpanel");
    shownBy(tab).setAttribute("aria-labelledby", tab.id);
    tab.addEventListener("click", () => select(isPhone.matches && tab.getAttribute("aria-selected") === "true" ? null : tab));
    tab.addEventListener("keydown", move);
}
tabList.hidden = false;
panel.classList.add("has-tabs");
panel.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !isPhone.matches) return;
    const open = tabs.find((tab) => tab.getAttribute("aria-selected") === "true");
    select(null);
    open?.focus();
});
document.getElementById("content").addEventListener("focusin", () => isPhone.matches && select(null));
const firstError = panel.querySelector(".has-error");
if (firstError) showTab(firstError);
else select(first());
isPhone.addEventListener("change", () => select(first()));

// The main action for a live text waits for a change.
let isChanged = false;
const armActions = () => {
    for (const waiting of form.querySelectorAll("[data-needs-change]")) {
        waiting.disabled = !isChanged;
        if (isChanged) waiting.removeAttribute("title");
    }
};
const change = () => {
    isChanged = true;
    armActions();
};
for (const kind of ["input", "change"]) {
    form.addEventListener(kind, ({ target }) => (target.form === form || target.isContentEditable) && change());
}
form.querySelector("[data-editor]")?.editor?.on("update", change);
armActions();

// The image picker opens from the text, too, while the tab it belongs to is hidden.
const picker = form.querySelector("[data-picker]");
if (picker) document.body.append(picker);

// Headline and summary grow with their text; Enter goes on to the next field.
const lines = [...document.querySelectorAll("#id_title, #id_summary")];
const fit = (field) => {
    field.style.height = "auto";
    field.style.height = `${field.scrollHeight}px`;
};
for (const field of lines) {
    if (!CSS.supports("field-sizing", "content")) {
        field.addEventListener("input", () => fit(field));
        fit(field);
    }
    field.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" || event.isComposing) return;
        event.preventDefault();
        const next = lines[lines.indexOf(field) + 1];
        if (next) next.focus();
        else document.querySelector("[data-editor]")?.editor.view.focus();
    });
}

// Headline, summary and body are in the language of the headline, which chooses the typeface and the spelling checker.
const title = lines[0];
const setLanguage = () => {
    if (!title?.value.trim()) return;
    const language = /\p{Script=Han}/u.test(title.value) ? "zh" : "en"; // as on readers' pages
    for (const field of [...lines, document.querySelector(".ProseMirror")]) field?.setAttribute("lang", language);
};
title?.addEventListener("input", setLanguage);
setLanguage();

// Shortcuts: each is a key, its name and what it does. Letters need Ctrl or Command, "?" works outside of text fields.
const press = (selector) => form.querySelector(selector)?.click();
const saveHere = () => {
    const button = form.querySelector(".actions [name=_continue]:enabled");
    if (!button) return;
    rememberCaret();
    button.click();
};
const focusTab = (key) => showTab(key)?.focus();
const SHORTCUTS = [
    { keys: "Ctrl+S", name: "save", run: saveHere },
    { keys: "Ctrl+Enter", name: "primary", run: () => press(".split > button") },
    { keys: "Alt+Shift+P", name: "preview", run: () => press("#preview-button") },
    ...tabs.map((tab, at) => ({ keys: `Alt+Shift+${at + 1}`, title: tab.querySelector(".tab-label").textContent, run: () => focusTab(tab.id.replace("tab-", "")) })),
    { keys: "Ctrl+K", name: "palette" },
    { keys: "Esc", name: "toolbar" },
    { keys: "?", name: "help", run: () => showShortcuts() },
];

const pressed = ({ key, code, ctrlKey, metaKey, altKey, shiftKey }) => {
    const letter = altKey ? code.replace(/^(Digit|Key)/, "") : key.length === 1 ? key.toUpperCase() : key;
    const held = [(ctrlKey || metaKey) && "Ctrl", altKey && "Alt", shiftKey && letter !== "?" && "Shift"].filter(Boolean);
    return [...held, letter].join("+");
};

const isTyping = (target) => target.isContentEditable || target.matches("input, textarea, select");

const listShortcuts = () => {
    const mark = navigator.platform.startsWith("Mac") ? (keys) => keys.replace("Ctrl+", "\u2318") : (keys) => keys;
    const rows = SHORTCUTS.flatMap(({ keys, name, title }) => [
        element("dt", {}, element("kbd", { textContent: mark(keys) })),
        element("dd", { textContent: title || label(`key_${name}`) }),
    ]);
    const close = element("button", { type: "button", className: "desk-button", textContent: label("close") });
    const heading = element("h2", { id: "shortcuts-title", textContent: label("shortcuts") });
    const dialog = element("dialog", { className: "sheet shortcuts" }, heading, element("dl", {}, ...rows), close);
    dialog.setAttribute("aria-labelledby", heading.id);
    close.addEventListener("click", () => dialog.close());
    document.body.append(dialog);
    return dialog;
};

let shortcuts = null;
const showShortcuts = () => {
    shortcuts ||= listShortcuts();
    if (!shortcuts.open) shortcuts.showModal();
};
const offerShortcuts = () => {
    for (const button of form.querySelectorAll("[data-shortcuts]")) button.hidden = false;
};
form.addEventListener("click", ({ target }) => target.closest("[data-shortcuts]") && showShortcuts());
offerShortcuts();
document.addEventListener("follow:shown", () => {
    armActions();
    offerShortcuts();
});

document.addEventListener("keydown", (event) => {
    const found = SHORTCUTS.find(({ keys, run }) => run && keys === pressed(event));
    if (!found || document.querySelector("dialog[open]")) return;
    if (found.keys === "?" && isTyping(event.target)) return;
    event.preventDefault();
    found.run();
});

restoreCaret();
