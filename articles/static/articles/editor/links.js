// Links: an article or a URL is asked for beside the selected text.
import { Link as BaseLink } from "django-prose-editor/editor";
import { ArticleChoices } from "articles/editor/article_choices";
import { element } from "articles/editor/config";
import { placeBeside } from "articles/editor/floating";

const COMPLETE = /^([a-z][a-z0-9+.-]*:|\/|#)/i;
const MAIL = /^[^\s@/]+@[^\s@/]+$/;

const HOST = /^[^\s/]+(\.[^\s/]+|:\d+)([/?#]|$)/;

// Whether it can only be an address, not words of a headline.
const isAddress = (typed) => COMPLETE.test(typed) || MAIL.test(typed) || HOST.test(typed);

// Words, and addresses of this site, whose article is shown.
const isSearched = (typed) => !isAddress(typed) || typed.startsWith("/") || typed.startsWith(`${location.origin}/`);

const completed = (typed) => {
    if (!typed || COMPLETE.test(typed)) return typed;
    return MAIL.test(typed) ? `mailto:${typed}` : `https://${typed}`;
};

const draw = (texts, href) => {
    const input = element("input", { type: "text", inputMode: "url", value: href, placeholder: texts.linkPlaceholder, ariaLabel: texts.linkField, autocomplete: "off" });
    const apply = element("button", { type: "submit", className: "primary", textContent: texts.Update });
    const remove = element("button", { type: "button", className: "bar-button", textContent: texts.unlink, hidden: !href });
    const form = element("form", { className: "floating link-dialog", role: "dialog", ariaLabel: texts.link }, input, apply, remove);
    return { form, input, remove };
};

// Resolves to the URL, to "" when the link is removed, to null by Escape, to undefined when the focus goes elsewhere.
const ask = (editor, texts, href, range) =>
    new Promise((resolve) => {
        const { form, input, remove } = draw(texts, href);
        const finish = (found) => {
            resolve(found);
            form.remove();
        };
        form.addEventListener("submit", (event) => {
            event.preventDefault();
            const typed = input.value.trim();
            if (!typed || isAddress(typed)) finish(completed(typed));
            else if (choices.chosen) choices.chosen.click();
            else choices.search();
        });
        remove.addEventListener("click", () => finish(""));
        form.addEventListener("keydown", (event) => {
            if (event.key !== "Escape") return;
            event.stopPropagation();
            finish(null);
        });
        form.addEventListener("focusout", ({ relatedTarget }) => relatedTarget && !form.contains(relatedTarget) && finish());
        document.body.append(form);
        const resized = () => placeBeside(form, editor, range);
        const choices = new ArticleChoices(input, { isSearched, isCertain: (typed) => !isAddress(typed), choose: finish, resized });
        form.append(choices.list, choices.found);
        resized();
        input.focus();
        input.select();
    });

const edit = async (editor, name, texts) => {
    if (editor.isActive(name)) editor.commands.extendMarkRange(name);
    const { from, to } = editor.state.selection;
    const href = await ask(editor, texts, editor.getAttributes(name).href || "", { from, to });
    if (href === undefined) return true;
    const chain = editor.chain().focus().setTextSelection({ from, to });
    if (href === null) return chain.run();
    return (href ? chain.setMark(name, { href }) : chain.unsetLink()).run();
};

export const Link = BaseLink.extend({
    addCommands() {
        const addLink = () => ({ editor, dispatch }) => {
            const isPossible = !editor.state.selection.empty || editor.isActive(this.name);
            if (isPossible && dispatch) setTimeout(() => edit(editor, this.name, this.options.texts));
            return isPossible;
        };
        return { ...this.parent?.(), addLink };
    },
});
