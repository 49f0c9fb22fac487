// Preserves imported markup that the editor cannot edit: videos, definition lists, language marks.
import { Extension, Heading as BaseHeading, Mark, Node, Table as BaseTable } from "django-prose-editor/editor";

const BLOCKS = ["audio", "details", "dl", "picture", "video"];
const INLINE = ["abbr", "cite", "dfn", "ins", "kbd", "mark", "q", "samp", "small", "time", "var"];
const FIRST = { priority: 60 }; // before the rules of tables and figures

const parse = (html) => {
    const template = document.createElement("template"); // inert: nothing in it loads or runs
    template.innerHTML = html;
    return template.content.firstElementChild;
};

export const PreservedBlock = Node.create({
    name: "preservedBlock",
    group: "block",
    atom: true,

    addAttributes: () => ({ html: { default: "<p></p>", parseHTML: (element) => element.outerHTML, rendered: false } }),

    parseHTML: () => [
        ...BLOCKS.map((tag) => ({ ...FIRST, tag })),
        { ...FIRST, tag: "figure", getAttrs: (figure) => (figure.querySelector(":scope > img") ? false : null) },
        { ...FIRST, tag: "table", getAttrs: (table) => (table.querySelector("caption, tfoot, table") ? null : false) },
    ],

    renderHTML: ({ node }) => parse(node.attrs.html),

    addNodeView() {
        return ({ node }) => {
            const element = parse(node.attrs.html);
            const dom = document.createElement("div");
            dom.className = "preserved";
            dom.textContent = `${this.options.texts.preserved} <${element.localName}> ${element.textContent.trim()}`;
            return { dom };
        };
    },
});

export const PreservedInline = Mark.create({
    name: "keptInline",
    excludes: "",

    addAttributes: () => ({
        tag: { default: "abbr", parseHTML: (element) => element.localName, rendered: false },
        title: { default: null },
        datetime: { default: null },
    }),

    parseHTML: () => INLINE.map((tag) => ({ tag })),

    renderHTML: ({ mark, HTMLAttributes }) => [mark.attrs.tag, HTMLAttributes, 0],
});

const attributes = (...names) => Object.fromEntries(names.map((name) => [name, { default: null }]));

export const Attributes = Extension.create({
    name: "keptAttributes",

    addGlobalAttributes: () => [
        { types: ["paragraph", "heading", "blockquote", "listItem", "keptInline"], attributes: attributes("lang", "dir") },
        { types: ["blockquote"], attributes: attributes("cite") },
        { types: ["tableHeader"], attributes: attributes("scope") },
    ],
});

// The headline is the page's only h1; levels below the third look alike.
export const Heading = BaseHeading.extend({
    parseHTML: () =>
        [1, 2, 3, 4, 5, 6].map((level) => ({ tag: `h${level}`, attrs: { level: Math.min(Math.max(level, 2), 4) } })),
});

// A table begins with three columns and a row of headings; its own buttons do the rest.
export const Table = BaseTable.extend({
    addCommands() {
        const insert = () => ({ commands }) => commands.insertTable({ rows: 3, cols: 3, withHeaderRow: true });
        return { ...this.parent?.(), insertTableWithOptions: insert };
    },
});
