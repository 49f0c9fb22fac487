// Saving by keyboard loads the page again; caret, selection and scroll position stay as they were.
import { config } from "articles/editor/config";
import { session } from "articles/editor/storage";

const KEY = "headline.caret";
const body = document.querySelector("[data-editor]");

export const rememberCaret = () => {
    const { activeElement } = document;
    const isBody = body?.editor?.view.hasFocus();
    const { from, to } = isBody ? body.editor.state.selection : { from: activeElement.selectionStart, to: activeElement.selectionEnd };
    session.set(KEY, JSON.stringify({ article: config.article, id: isBody ? body.id : activeElement.id, from, to, top: scrollY }));
};

// Once the page is complete; a message about an error has the focus itself.
export const restoreCaret = () => {
    const { article, id, from, to, top } = JSON.parse(session.get(KEY)) || {};
    session.remove(KEY);
    const field = id && document.getElementById(id);
    if (!field || (article && article !== config.article) || document.querySelector("#merging, .notice-error")) return;
    if (field === body) body.editor.chain().setTextSelection({ from, to }).focus(null, { scrollIntoView: false }).run();
    else field.focus({ preventScroll: true });
    if (field !== body && Number.isInteger(from)) field.setSelectionRange(from, to);
    scrollTo(0, top);
};
