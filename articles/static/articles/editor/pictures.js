// Pictures in the text come from the newsroom's shelf: the button opens its picker. On a picture that is there already, the
// same button changes its description and caption.
import { Figure as BaseFigure } from "django-prose-editor/editor";

const figure = ({ address, alt, caption, credit }) => {
    const text = [caption, credit && `© ${credit}`].filter(Boolean).join(" ");
    const image = { type: "image", attrs: { src: address, alt } };
    return { type: "figure", content: text ? [image, { type: "caption", content: [{ type: "text", text }] }] : [image] };
};

const choose = async (editor) => {
    const pictures = await document.querySelector("[data-picker]").pick();
    if (!pictures) return editor.commands.focus();
    return editor.chain().focus().insertContent(pictures.map(figure)).run();
};

export const Figure = BaseFigure.extend({
    addCommands() {
        const commands = this.parent?.();
        const isOnPicture = (editor) => editor.isActive("figure") || editor.isActive("image");
        const insertFigure = () => (props) => {
            if (isOnPicture(props.editor) || !document.querySelector("[data-picker]")) return commands.insertFigure()(props);
            if (props.dispatch) choose(props.editor);
            return true;
        };
        return { ...commands, insertFigure };
    },
});
