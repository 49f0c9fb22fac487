// Makes a rich-text editor of each text area with `data-editor`. The list of extensions is the list of what it can do:
// one more button of the toolbar is one more extension here, from a module of its own (see BodyWidget.MODULES).
import {
    Blockquote, Bold, BulletList, Caption, Code, CodeBlock, Document, Dropcursor, Gapcursor, HardBreak, History,
    HorizontalRule, Image, Italic, ListItem, Menu, OrderedList, Paragraph, Placeholder, Strike, Subscript, Superscript,
    TableCell, TableHeader, TableRow, Text, TrailingNode, Underline, createTextareaEditor,
} from "django-prose-editor/editor";
import { Attributes, Heading, PreservedBlock, PreservedInline, Table } from "articles/editor/preserved";
import { Bubble } from "articles/editor/bubble";
import { Embed } from "articles/editor/embeds";
import { Figure } from "articles/editor/images";
import { Link } from "articles/editor/links";
import { Notes } from "articles/editor/notes";
import { Paste } from "articles/editor/paste";
import { Slash } from "articles/editor/slash";
import { Toolbar } from "articles/editor/toolbar";

const GROUPS = ["text", "headings", "marks", "link", "lists", "quotes", "media", "table", "notes", "history"];

const extensions = ({ texts, embeds }) => [
    Document, Paragraph, Text, HardBreak, Heading.configure({ levels: [2, 3, 4] }),
    Bold, Italic, Underline, Strike, Subscript, Superscript, Code, CodeBlock,
    Blockquote, BulletList, OrderedList.configure({ enableListAttributes: false }), ListItem, HorizontalRule,
    Link.configure({ enableTarget: false, defaultProtocol: "https", texts }),
    Image, Figure, Caption,
    Table, TableRow, TableHeader, TableCell,
    Embed.configure({ embeds, texts }),
    PreservedBlock.configure({ texts }), PreservedInline, Attributes,
    Dropcursor, Gapcursor, TrailingNode, History,
    Menu.configure({ groups: GROUPS.map((group) => ({ group })) }),
    Toolbar.configure({ texts }), Bubble.configure({ texts }), Slash.configure({ texts }), Paste, Notes,
    Placeholder.configure({ placeholder: texts.placeholder }),
];

const name = (editor, textarea, texts) => {
    const label = document.querySelector(`label[for="${textarea.id}"]`);
    const box = editor.view.dom;
    box.setAttribute("role", "textbox");
    box.setAttribute("aria-multiline", "true");
    box.setAttribute("aria-label", label ? label.textContent.trim() : textarea.name);
    box.setAttribute("aria-description", texts.toolbarHelp);
    label?.addEventListener("click", () => editor.commands.focus());
};

// The trailing empty paragraph that follows an image or table is present from the start and not part of the value.
const addTrailingParagraph = (editor, textarea) => {
    const stored = textarea.value;
    editor.view.dispatch(editor.state.tr.setMeta("addToHistory", false));
    textarea.value = stored;
    editor.on("update", () => (textarea.value = textarea.value.replace(/(<p><\/p>)+$/, "")));
};

for (const textarea of document.querySelectorAll("[data-editor]")) {
    const settings = JSON.parse(textarea.dataset.editor);
    const editor = createTextareaEditor(textarea, extensions(settings));
    name(editor, textarea, settings.texts);
    addTrailingParagraph(editor, textarea);
    // Keeps the caret clear of the sticky toolbar and submit bar, in pixels.
    editor.setOptions({ editorProps: { scrollThreshold: 130, scrollMargin: 130 } });
    textarea.editor = editor;
    textarea.dispatchEvent(new CustomEvent("editor:ready", { bubbles: true, detail: editor }));
}
