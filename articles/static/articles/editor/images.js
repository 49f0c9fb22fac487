// Images in the text come from the image library through the picker. On an existing image the same button edits alt text
// and caption. Enter inside a figure continues below it.
import { Figure as BaseFigure, pm } from "django-prose-editor/editor";

export const figure = ({ address, alt, caption, credit }) => {
    const text = [caption, credit && `© ${credit}`].filter(Boolean).join(" ");
    const image = { type: "image", attrs: { src: address, alt } };
    return { type: "figure", content: text ? [image, { type: "caption", content: [{ type: "text", text }] }] : [image] };
};

// The position behind the image in which the selection is, or behind a caption that stands by itself; null elsewhere.
const behind = ({ $from }) => {
    for (let depth = $from.depth; depth > 0; depth -= 1) if ($from.node(depth).type.name === "figure") return $from.after(depth);
    return $from.parent.type.name === "caption" ? $from.after() : null;
};

const goBelow = ({ tr }) => tr.setSelection(pm.state.Selection.near(tr.doc.resolve(behind(tr.selection) ?? tr.selection.to)));

const choose = async (editor) => {
    const images = await document.querySelector("[data-picker]").pick();
    if (!images) return editor.commands.focus();
    editor.chain().focus().insertContent(images.map(figure)).run();
    return editor.chain().command(goBelow).scrollIntoView().run();
};

const leave = ({ editor }) => {
    const below = behind(editor.state.selection);
    if (below === null) return false;
    return editor.chain().insertContentAt(below, { type: "paragraph" }).setTextSelection(below + 1).scrollIntoView().run();
};

export const Figure = BaseFigure.extend({
    addKeyboardShortcuts: () => ({ Enter: leave }),

    addCommands() {
        const commands = this.parent?.();
        const isOnImage = (editor) => editor.isActive("figure") || editor.isActive("image");
        const insertFigure = () => (props) => {
            if (isOnImage(props.editor) || !document.querySelector("[data-picker]")) return commands.insertFigure()(props);
            if (props.dispatch) choose(props.editor);
            return true;
        };
        return { ...commands, insertFigure };
    },
});
