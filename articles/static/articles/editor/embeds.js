// Video embeds: a URL alone in a paragraph, shown as a player if its site is allowed.
import { Extension, pm, updateAttrsDialog } from "django-prose-editor/editor";

const FRAME = /<iframe\b[^>]*?\ssrc=["'](?:https?:)?(\/\/[^"'\s<>]+)["'][^>]*>(?:\s*<\/iframe>)?/gi;

const WITH_SCHEME = /^[a-z][a-z0-9+.-]*:/i;

const withoutFrames = (text, replacement) => text.replace(FRAME, (_frame, address) => replacement(`https:${address}`));

const siteOf = (text, embeds) => embeds.find(({ address }) => new RegExp(`^(?:${address})`).test(text.trim()));

const shownAsPlayers = (doc, { embeds, texts }) => {
    const marks = [];
    doc.descendants((node, position) => {
        const site = node.type.name === "paragraph" && siteOf(node.textContent, embeds);
        if (!site || /\s/.test(node.textContent.trim())) return;
        const attributes = { class: "player", "data-player": `${texts.embedShown} ${site.name}` };
        marks.push(pm.view.Decoration.node(position, position + node.nodeSize, attributes));
    });
    return pm.view.DecorationSet.create(doc, marks);
};

export const Embed = Extension.create({
    name: "embed",

    addMenuItems({ menu, buttons }) {
        const { texts } = this.options;
        const dialog = updateAttrsDialog(
            { address: { title: texts.embedAddress, required: true } },
            { title: texts.embedTitle, submitText: texts.Insert },
        );
        const insert = async (editor) => {
            const values = await dialog(editor, {});
            if (!values) return editor.commands.focus();
            const typed = withoutFrames(values.address, (found) => found).trim();
            const address = WITH_SCHEME.test(typed) ? typed : `https://${typed}`;
            const link = { type: "text", text: address, marks: [{ type: "link", attrs: { href: address } }] };
            return editor.chain().focus().insertContent([{ type: "paragraph", content: [link] }, { type: "paragraph" }]).run();
        };
        menu.defineItem({ name: "embed", groups: "media", command: insert, button: buttons.material("smart_display", "") });
    },

    addProseMirrorPlugins() {
        const link = (address) => `<p><a href="${address}">${address}</a></p>`;
        return [
            new pm.state.Plugin({
                props: {
                    decorations: ({ doc }) => shownAsPlayers(doc, this.options),
                    transformPastedText: (text) => withoutFrames(text, (address) => address),
                    transformPastedHTML: (html) => withoutFrames(html, link),
                },
            }),
        ];
    },
});
