// Highlights the passages of open notes in the text, by decorations that are not part of it. articles/notes/notes.js has the threads.
import { Extension, pm } from "django-prose-editor/editor";

const CONTEXT = 64; // characters around a quote, as articles/models/note.py stores them
const PAUSE = 400; // milliseconds without an edit, after which lost passages are searched
const key = new pm.state.PluginKey("notes");

// The letters of the document without white space, and where each stands.
const letters = (doc) => {
    const found = { text: "", places: [] };
    doc.descendants((node, place) => {
        if (!node.isText) return;
        for (let at = 0; at < node.text.length; at += 1) {
            if (/\s/.test(node.text[at])) continue;
            found.text += node.text[at];
            found.places.push(place + at);
        }
    });
    return found;
};

const decoration = (from, to, id) => pm.view.Decoration.inline(from, to, { class: "note-mark", "data-note": id }, { note: id });

// Passages that are highlighted already keep their place, which follows the edits; others are searched.
const placed = (doc, old, { passages, locate }) => {
    const kept = new Map(old.find().map((mark) => [mark.spec.note, mark]));
    const found = letters(doc);
    const marks = passages.flatMap((passage) => {
        const mark = kept.get(passage.id);
        if (mark && mark.from < mark.to) return [decoration(mark.from, mark.to, passage.id)];
        const span = locate(found.text, passage);
        return span ? [decoration(found.places[span.start], found.places[span.end - 1] + 1, passage.id)] : [];
    });
    return pm.view.DecorationSet.create(doc, marks);
};

// The selected passage with the text around it; null without a selection.
const selected = ({ doc, selection: { from, to } }) => {
    const quote = doc.textBetween(from, to, "\n").trim();
    if (!quote) return null;
    const prefix = doc.textBetween(0, from, "\n").slice(-CONTEXT);
    return { quote, prefix, suffix: doc.textBetween(to, doc.content.size, "\n").slice(0, CONTEXT) };
};

const ask = () => document.dispatchEvent(new CustomEvent("notes:add"));

export const Notes = Extension.create({
    name: "notes",

    addProseMirrorPlugins() {
        return [new pm.state.Plugin({
            key,
            state: {
                init: () => pm.view.DecorationSet.empty,
                apply: (transaction, old) => {
                    const mapped = old.map(transaction.mapping, transaction.doc);
                    const shown = transaction.getMeta(key);
                    return shown ? placed(transaction.doc, mapped, shown) : mapped;
                },
            },
            props: { decorations: (state) => key.getState(state) },
        })];
    },

    addMenuItems({ menu, buttons }) {
        const button = buttons.material("add_comment", "note");
        menu.defineItem({ name: "note", groups: "notes", button, command: ask, hidden: () => !document.getElementById("notes") });
    },

    addKeyboardShortcuts() {
        return { "Mod-Alt-m": ask };
    },

    onCreate() {
        const show = (detail) => this.editor.view.dispatch(this.editor.state.tr.setMeta(key, detail).setMeta("addToHistory", false));
        let [shown, timer] = [null, null];
        document.addEventListener("notes:shown", ({ detail }) => show((shown = detail)));
        // A passage that was deleted is highlighted again when it comes back.
        this.editor.on("update", () => {
            clearTimeout(timer);
            const isLost = shown && new Set(key.getState(this.editor.state).find().map((mark) => mark.spec.note)).size < shown.passages.length;
            if (isLost) timer = setTimeout(() => show(shown), PAUSE);
        });
        document.addEventListener("notes:select", ({ detail }) => {
            detail.selector = selected(this.editor.state);
        });
        document.dispatchEvent(new CustomEvent("notes:ready"));
    },
});
