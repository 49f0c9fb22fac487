// Accessible toolbar: label, roving tabindex, arrow keys, pressed and disabled states; Escape in the text focuses it.
import { Extension } from "django-prose-editor/editor";

const ICONS = { underline: "format_underlined" }; // the icon font of the editor itself has another name

const usable = (bar) => [...bar.querySelectorAll("button")].filter((button) => button.offsetParent);

const rove = (bar, chosen) => {
    for (const button of bar.querySelectorAll("button")) button.tabIndex = button === chosen ? 0 : -1;
};

const target = (bar, key, from) => {
    const buttons = usable(bar);
    const last = buttons.length - 1;
    const at = buttons.indexOf(from);
    const to = { ArrowRight: at === last ? 0 : at + 1, ArrowLeft: at <= 0 ? last : at - 1, Home: 0, End: last }[key];
    return to === undefined ? null : buttons[to];
};

const label = (bar, texts) => {
    for (const button of bar.querySelectorAll("[data-name]")) {
        const text = texts[button.dataset.name];
        if (!text) continue;
        if (button.dataset.name in ICONS) button.textContent = ICONS[button.dataset.name];
        button.title = text;
        button.setAttribute("aria-label", text);
    }
};

const updateStates = (bar) => {
    for (const button of bar.querySelectorAll("[data-name]")) {
        button.setAttribute("aria-pressed", button.classList.contains("active"));
        button.setAttribute("aria-disabled", button.classList.contains("disabled"));
    }
    const current = bar.querySelector("[tabindex='0']");
    if (!current || !current.offsetParent) rove(bar, usable(bar)[0]);
};

const listen = (bar) => {
    bar.addEventListener("keydown", (event) => {
        const next = target(bar, event.key, event.target);
        if (!next) return;
        event.preventDefault();
        rove(bar, next);
        next.focus();
    });
    bar.addEventListener("focusin", (event) => rove(bar, event.target));
};

const GROUPS = {
    paragraph: "text", blockquote: "quotes", horizontalRule: "quotes", figure: "media",
};

export const Toolbar = Extension.create({
    name: "toolbar",
    priority: 10, // after the menu, which creates the buttons

    addMenuItems({ menu }) {
        const items = menu.items("nodes");
        for (const item of items) if (GROUPS[item.name]) item.groups = new Set([GROUPS[item.name]]);
    },

    addKeyboardShortcuts() {
        const leave = ({ editor }) => {
            editor.storage.menu.dom.querySelector("[tabindex='0']")?.focus();
            return true;
        };
        return { Escape: leave, "Alt-F10": leave };
    },

    onCreate() {
        const bar = this.editor.storage.menu.dom;
        bar.setAttribute("role", "toolbar");
        bar.setAttribute("aria-label", this.options.texts.toolbar);
        label(bar, this.options.texts);
        listen(bar);
        updateStates(bar);
        this.editor.on("transaction", () => updateStates(bar));
    },
});
