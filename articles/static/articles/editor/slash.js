// "/" at the beginning of an empty paragraph offers what the toolbar puts in: images, tables, embeds and so on.
import { Extension, pm } from "django-prose-editor/editor";
import { announce, element } from "articles/editor/config";
import { placeBeside } from "articles/editor/floating";

const ITEMS = {
    figure: "image", table: "grid_on", embed: "smart_display", blockquote: "format_quote", horizontalRule: "horizontal_rule",
    heading2: "title", heading3: "title", bulletList: "format_list_bulleted", orderedList: "format_list_numbered",
};
const LIST_ID = "insert-menu";

// What was typed behind the slash; null where there is none.
const typed = ({ selection: { $from, empty } }) => {
    if (!empty || $from.parent.type.name !== "paragraph" || $from.depth !== 1) return null;
    const match = /^\/([\p{L}\p{N}]*)$/u.exec($from.parent.textContent);
    return match && $from.parentOffset === match[0].length ? match[1].toLowerCase() : null;
};

class InsertMenu {
    constructor(editor, texts) {
        Object.assign(this, { editor, texts, active: 0, dismissed: false });
        this.list = element("ul", { id: LIST_ID, className: "floating insert-menu", role: "listbox", ariaLabel: texts.insertMenu, hidden: true });
        document.body.append(this.list);
    }

    get isOpen() {
        return !this.list.hidden;
    }

    update() {
        const term = this.editor.view.hasFocus() ? typed(this.editor.state) : null;
        if (term === null) this.dismissed = false;
        const names = term === null || this.dismissed ? [] : Object.keys(ITEMS).filter((name) => this.matches(name, term));
        if (!names.length) return this.close();
        if (names.join() !== this.names?.join()) this.draw(names);
        const { from } = this.editor.state.selection;
        this.list.hidden = false;
        placeBeside(this.list, this.editor, { from, to: from });
        return this.mark(this.active);
    }

    matches(name, term) {
        return name.toLowerCase().startsWith(term) || this.texts[name].toLowerCase().includes(term);
    }

    draw(names) {
        this.names = names;
        this.active = 0;
        const row = (name, at) => {
            const icon = element("span", { className: "icon", textContent: ITEMS[name] });
            icon.setAttribute("aria-hidden", "true");
            const option = element("li", { id: `${LIST_ID}-${at}`, role: "option" }, icon, this.texts[name]);
            option.addEventListener("mousedown", (event) => event.preventDefault());
            option.addEventListener("click", () => this.insert(name));
            return option;
        };
        this.list.replaceChildren(...names.map(row));
    }

    mark(at) {
        this.active = (at + this.names.length) % this.names.length;
        for (const [number, option] of [...this.list.children].entries()) option.setAttribute("aria-selected", number === this.active);
        this.list.children[this.active].scrollIntoView({ block: "nearest" });
        this.editor.view.dom.setAttribute("aria-activedescendant", `${LIST_ID}-${this.active}`);
        announce(this.texts[this.names[this.active]]);
    }

    close() {
        this.list.hidden = true;
        this.names = null;
        this.editor.view.dom.removeAttribute("aria-activedescendant");
    }

    insert(name) {
        const { $from } = this.editor.state.selection;
        this.editor.chain().focus().deleteRange({ from: $from.start(), to: $from.end() }).run();
        this.close();
        this.editor.storage.menu._definedItems[name].command(this.editor);
    }

    press({ key }) {
        if (!this.isOpen) return false;
        const steps = { ArrowDown: 1, ArrowUp: -1 };
        if (key in steps) this.mark(this.active + steps[key]);
        else if (key === "Enter" || key === "Tab") this.insert(this.names[this.active]);
        else if (key === "Escape") this.dismiss();
        else return false;
        return true;
    }

    dismiss() {
        this.dismissed = true;
        this.close();
    }
}

export const Slash = Extension.create({
    name: "slash",
    priority: 1000, // before the keys of lists, captions and the toolbar

    onCreate() {
        this.storage.menu = new InsertMenu(this.editor, this.options.texts);
        for (const kind of ["transaction", "focus", "blur"]) this.editor.on(kind, () => setTimeout(() => this.storage.menu.update()));
    },

    addProseMirrorPlugins() {
        const handleKeyDown = (_view, event) => !event.isComposing && Boolean(this.storage.menu?.press(event));
        return [new pm.state.Plugin({ props: { handleKeyDown } })];
    },
});
