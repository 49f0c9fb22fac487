// Makes a rich-text editor of each text area with `data-editor`. The list of extensions is the list of what it can do:
// one more button of the toolbar is one more extension here, from a module of its own (see BodyWidget.MODULES).
import {
    Blockquote, Bold, BulletList, Caption, Code, CodeBlock, Document, Dropcursor, Gapcursor, HardBreak, History,
    HorizontalRule, Image, Italic, Link, ListItem, Menu, OrderedList, Paragraph, Strike, Subscript, Superscript,
    TableCell, TableHeader, TableRow, Text, TrailingNode, Underline, createTextareaEditor,
} from "django-prose-editor/editor";
import { Attributes, Heading, KeptBlock, KeptInline, Table } from "articles/editor/kept";
import { Embed } from "articles/editor/embeds";
import { Figure } from "articles/editor/images";
import { Toolbar } from "articles/editor/toolbar";

const GROUPS = ["text", "headings", "marks", "link", "lists", "quotes", "media", "table", "history"];

const extensions = ({ words, embeds }) => [
    Document, Paragraph, Text, HardBreak, Heading.configure({ levels: [2, 3, 4] }),
    Bold, Italic, Underline, Strike, Subscript, Superscript, Code, CodeBlock,
    Blockquote, BulletList, OrderedList.configure({ enableListAttributes: false }), ListItem, HorizontalRule,
    Link.configure({ enableTarget: false, defaultProtocol: "https" }),
    Image, Figure, Caption,
    Table, TableRow, TableHeader, TableCell,
    Embed.configure({ embeds, words }),
    KeptBlock.configure({ words }), KeptInline, Attributes,
    Dropcursor, Gapcursor, TrailingNode, History,
    Menu.configure({ groups: GROUPS.map((group) => ({ group })) }),
    Toolbar.configure({ words }),
];

const name = (editor, textarea, words) => {
    const label = document.querySelector(`label[for="${textarea.id}"]`);
    const box = editor.view.dom;
    box.setAttribute("role", "textbox");
    box.setAttribute("aria-multiline", "true");
    box.setAttribute("aria-label", label ? label.textContent.trim() : textarea.name);
    box.setAttribute("aria-description", words.toolbarHelp);
    label?.addEventListener("click", () => editor.commands.focus());
};

// The empty paragraph to go on in, which follows an image or table at the end, is there from the beginning; it is no part
// of the text.
const addAnEnd = (editor, textarea) => {
    const stored = textarea.value;
    editor.view.dispatch(editor.state.tr.setMeta("addToHistory", false)); // as after each change, the paragraph is added if it is missing
    textarea.value = stored;
    editor.on("update", () => (textarea.value = textarea.value.replace(/(<p><\/p>)+$/, "")));
};

for (const textarea of document.querySelectorAll("[data-editor]")) {
    const told = JSON.parse(textarea.dataset.editor);
    const editor = createTextareaEditor(textarea, extensions(told));
    name(editor, textarea, told.words);
    addAnEnd(editor, textarea);
    // The line being written stays clear of the toolbar above and of the buttons below, in pixels.
    editor.setOptions({ editorProps: { scrollThreshold: 130, scrollMargin: 130 } });
    textarea.editor = editor;
    textarea.dispatchEvent(new CustomEvent("editor:ready", { bubbles: true, detail: editor }));
}
