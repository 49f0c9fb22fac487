// The tab *Checks*: refreshed after each autosave; "Fix" leads to the field, and in the text to the passage.
import { config } from "articles/editor/config";
import { showTab } from "articles/editor/workspace";

const form = document.getElementById("article_form");
const badge = form.querySelector("[data-count=checks]");

let latest = 0;
const refresh = async () => {
    const mine = ++latest;
    const response = await fetch(config.urls.checks);
    if (!response.ok || response.redirected || mine !== latest) return;
    const html = await response.text();
    const list = new DOMParser().parseFromString(html, "text/html").getElementById("checks");
    document.getElementById("checks").replaceWith(list);
    badge.textContent = list.dataset.found;
    badge.hidden = list.dataset.found === "0";
};

// The position and length of a passage in the text: of an image without alt text, a link or a word.
const place = (doc, passage) => {
    let found = null;
    doc.descendants((node, at) => {
        if (found) return false;
        if (passage === "img" && node.type.name === "image" && !node.attrs.alt) found = [at, at + node.nodeSize];
        const isLink = node.marks.some(({ type, attrs }) => type.name === "link" && attrs.href === passage);
        const start = node.isText && !isLink ? node.text.indexOf(passage) : -1;
        if (isLink) found = [at, at + node.nodeSize];
        else if (start >= 0) found = [at + start, at + start + passage.length];
    });
    return found;
};

const fixInText = (editor, passage) => {
    const found = passage && place(editor.state.doc, passage);
    const chain = editor.chain().focus();
    if (!found) return chain.run();
    return (passage === "img" ? chain.setNodeSelection(found[0]) : chain.setTextSelection({ from: found[0], to: found[1] })).scrollIntoView().run();
};

const fix = ({ fix: name, passage }) => {
    const { editor } = document.querySelector("[data-editor]") || {};
    if (name === "body" && editor) return fixInText(editor, passage);
    const names = [`id_${name}_search`, `id_${name}_0`, `id_${name}`, name === "cover" ? "id_cover_mode" : ""];
    const field = names.map((id) => id && document.getElementById(id)).find((found) => found && !found.hidden);
    if (!field) return null;
    showTab(field);
    field.scrollIntoView({ block: "center" });
    return field.focus();
};

document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-fix]");
    if (!link) return;
    event.preventDefault();
    fix(link.dataset);
});
form.addEventListener("draft:saved", () => refresh().catch(() => {}));
