// The formatting that is used most, beside selected text. For pointers only: the toolbar above the text has it for the
// keyboard and for screen readers, and a phone shows a menu of its own there.
import { Extension, isTextSelection } from "django-prose-editor/editor";
import { element } from "articles/editor/config";
import { placeBeside } from "articles/editor/floating";

const BUTTONS = { bold: "format_bold", italic: "format_italic", link: "link", heading2: "title", blockquote: "format_quote", bulletList: "format_list_bulleted", note: "add_comment" };
const isTouch = matchMedia("(pointer: coarse)");

const buttonFor = (editor, name, texts) => {
    const item = editor.storage.menu._definedItems[name];
    const icon = element("span", { className: "icon", textContent: BUTTONS[name] });
    const button = element("button", { type: "button", title: texts[name], tabIndex: -1 }, icon);
    button.addEventListener("mousedown", (event) => event.preventDefault()); // the selection stays
    button.addEventListener("click", () => item.command(editor));
    editor.on("transaction", () => button.classList.toggle("active", Boolean(item.active?.(editor))));
    return button;
};

export const Bubble = Extension.create({
    name: "bubble",
    priority: 10, // after the menu, whose buttons it repeats

    onCreate() {
        const { editor } = this;
        const bar = element("div", { className: "floating bubble", hidden: true });
        bar.setAttribute("aria-hidden", "true");
        const names = Object.keys(BUTTONS).filter((name) => name !== "note" || document.getElementById("notes"));
        bar.append(...names.map((name) => buttonFor(editor, name, this.options.texts)));
        document.body.append(bar);
        let isSelecting = false;

        const show = () => {
            const { selection } = editor.state;
            bar.hidden = isSelecting || isTouch.matches || !editor.view.hasFocus() || selection.empty || !isTextSelection(selection);
            if (!bar.hidden) placeBeside(bar, editor, selection, true);
        };

        editor.view.dom.addEventListener("mousedown", () => (isSelecting = true));
        document.addEventListener("mouseup", () => {
            if (isSelecting) setTimeout(show); // when the editor knows the selection
            isSelecting = false;
        });
        for (const kind of ["transaction", "focus", "blur"]) editor.on(kind, () => setTimeout(show));
        window.addEventListener("scroll", show, { passive: true });
    },
});
