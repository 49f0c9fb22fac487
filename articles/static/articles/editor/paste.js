// Pasted and dropped content: images are uploaded into the library, text from office programs is cleaned.
import { Extension, pm, updateAttrsDialog } from "django-prose-editor/editor";
import { announce, element, text as label } from "articles/editor/config";
import { figure } from "articles/editor/images";
import { cleaned, isOffice } from "articles/editor/office";
import { settled } from "articles/editor/references";

const IMAGE = /^image\/(jpeg|png|webp|avif|gif)$/;
const EMBEDDED = /<img\b[^>]*\ssrc=[\x22\x27](data:image\/[a-z]+;base64,[^\x22\x27]+)[\x22\x27][^>]*>/gi;
const BUSY = [429, 503];
const LONGEST_PAUSE = 10; // seconds: a busy server is asked again without the user if it wants so few
const MOST_PAUSES = 30;
const key = new pm.state.PluginKey("uploads");

const uploadAddress = () => document.querySelector("[data-upload]")?.dataset.upload;

const post = async (address, values, pauses = 0) => {
    const body = new FormData();
    for (const [name, value] of Object.entries(values)) body.append(name, value);
    const headers = { "X-CSRFToken": window.csrfToken() };
    const response = await fetch(address, { method: "POST", body, headers });
    const pause = BUSY.includes(response.status) ? Number(response.headers.get("Retry-After")) : 0;
    if (pause && pause <= LONGEST_PAUSE && pauses < MOST_PAUSES) {
        await new Promise((resolve) => { setTimeout(resolve, pause * 1000); });
        return post(address, values, pauses + 1);
    }
    const answer = await response.json().catch(() => ({}));
    if (!response.ok) throw new Error(answer.error || response.statusText);
    return answer;
};

// One image after another: the server works on few of one client at once.
let sent = Promise.resolve();
const uploaded = (file) => {
    const answer = sent.then(() => post(uploadAddress(), { file }));
    sent = answer.catch(() => {});
    return answer;
};

// The uploaded image with its alt text, which is asked for, one image after another; null when that is cancelled.
let asked = Promise.resolve();
const described = (editor, image) => {
    if (image.alt) return image;
    const ask = updateAttrsDialog(
        { alt: { title: label("altText", { name: image.title }), required: true } },
        { title: label("altTitle"), submitText: label("insert") },
    );
    const address = uploadAddress().replace(/upload\/$/, `${image.id}/describe/`);
    const answer = asked.then(() => ask(editor, { alt: "" })).then((values) => values && post(address, values));
    asked = answer.catch(() => {});
    return answer;
};

const placeOf = (view, id) => key.getState(view.state).find(null, null, (spec) => spec.id === id)[0]?.from ?? null;

const button = (name, press) => {
    const made = element("button", { type: "button", className: "notice-action", textContent: label(name) });
    made.addEventListener("click", press);
    return made;
};

const report = (message, retry) => {
    const notice = element("div", { className: "notice notice-error" }, element("p", { textContent: message }));
    const close = () => notice.remove();
    if (retry) notice.append(button("retry", () => [close(), retry()]));
    notice.append(button("close", close));
    notice.setAttribute("role", "alert");
    document.querySelector(".messages").append(notice);
};

const showError = (editor, file, message) => report(message, () => insertFile(editor, file, editor.state.selection.to));

const insertImage = (view, image, place) => {
    const { tr, schema } = view.state;
    const node = schema.nodeFromJSON(figure(image));
    const $at = tr.doc.resolve(place ?? tr.selection.to);
    view.dispatch(tr.insert(pm.transform.insertPoint(tr.doc, $at.pos, node.type) ?? $at.after(1), node));
};

let running = 0;
const insertFile = async (editor, file, at) => {
    const { view } = editor;
    const id = {};
    view.dispatch(view.state.tr.setMeta(key, { add: { id, at, name: file.name } }));
    running += 1;
    try {
        const image = await described(editor, await uploaded(file));
        if (image) insertImage(view, image, placeOf(view, id));
        if (image) announce(label("uploaded", { name: file.name }));
    } catch (error) {
        showError(editor, file, error instanceof TypeError ? label("uploadFailed", { name: file.name }) : error.message);
    } finally {
        view.dispatch(view.state.tr.setMeta(key, { remove: id }));
        running -= 1;
    }
};

// The images among the files; the other files are named in a notice.
const imagesOf = (files) => {
    const isImage = ({ type }) => uploadAddress() && IMAGE.test(type);
    const others = files.filter((file) => !isImage(file)).map(({ name }) => name);
    if (others.length) report(label("noImage", { name: others.join(label("separator")) }));
    return files.filter(isImage);
};

const placeholder = ({ name }) => () => element("span", { className: "uploading", textContent: label("uploading", { name }) });

const apply = (tr, set) => {
    const mapped = set.map(tr.mapping, tr.doc);
    const { add, remove } = tr.getMeta(key) || {};
    if (add) return mapped.add(tr.doc, [pm.view.Decoration.widget(add.at, placeholder(add), { id: add.id })]);
    return remove ? mapped.remove(mapped.find(null, null, (spec) => spec.id === remove)) : mapped;
};

const asFile = (data, number) => {
    const [, type, text] = /^data:([^;]+);base64,(.*)$/s.exec(data);
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const extension = type.replace(/^.*\//, "");
    return new File([bytes], [number + 1, extension].join("."), { type });
};

export const Paste = Extension.create({
    name: "pastedContent",
    priority: 200,

    addProseMirrorPlugins() {
        const { editor } = this;
        const insert = (files, at = editor.state.selection.to) => {
            for (const file of files) insertFile(editor, file, at);
        };
        const transformPastedHTML = (html) => {
            const files = uploadAddress() ? [...html.matchAll(EMBEDDED)].map((found, number) => asFile(found[1], number)) : [];
            if (files.length) setTimeout(() => insert(files));
            const { html: text, lost } = settled(html.replace(EMBEDDED, ""));
            if (lost.length) report(label("notPasted", { name: lost.join(label("separator")) }));
            return isOffice(html) ? cleaned(text) : text;
        };
        const handlePaste = (_view, { clipboardData }) => {
            const files = [...(clipboardData?.files || [])];
            const isText = clipboardData?.getData("text/plain").trim() || /<(p|table|li)\b/i.test(clipboardData?.getData("text/html") || "");
            if (!files.length || isText) return false; // Word adds an image of the text itself
            insert(imagesOf(files));
            return true;
        };
        const handleDrop = (view, event, _slice, isMoved) => {
            const files = isMoved ? [] : [...(event.dataTransfer?.files || [])];
            if (!files.length) return false;
            event.preventDefault();
            insert(imagesOf(files), view.posAtCoords({ left: event.clientX, top: event.clientY })?.pos);
            return true;
        };
        const decorations = (state) => key.getState(state);
        return [
            new pm.state.Plugin({
                key,
                state: { init: () => pm.view.DecorationSet.empty, apply },
                props: { decorations, transformPastedHTML, handlePaste, handleDrop },
            }),
        ];
    },
});

window.addEventListener("beforeunload", (event) => running && event.preventDefault());
// A file dropped beside the text would otherwise replace the page.
for (const kind of ["dragover", "drop"]) {
    window.addEventListener(kind, (event) => event.dataTransfer?.types.includes("Files") && event.preventDefault());
}
