// Word count and reading time below the text; length hints below headline and summary.
import { announce, element, text as label } from "articles/editor/config";

const HAN = "[\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}]";
const LETTERS = `(?:(?!${HAN})[\\p{L}\\p{N}])+`;
const WORDS = new RegExp(`${HAN}|${LETTERS}(?:['’.,-]${LETTERS})*`, "gu");
const IS_HAN = new RegExp(HAN, "u");
const PER_MINUTE = { han: 400, other: 230 };
const GOOD = { title: { han: 30, other: 70 }, summary: { han: 80, other: 160 } };

export const count = (text) => {
    const words = text.match(WORDS) || [];
    const han = words.filter((word) => IS_HAN.test(word)).length;
    const minutes = han / PER_MINUTE.han + (words.length - han) / PER_MINUTE.other;
    return { words: words.length, han, minutes: Math.max(1, Math.round(minutes)) };
};

const below = (field, id) => {
    const hint = element("p", { className: "counted", id });
    (field.closest(".prose-editor") || field).after(hint);
    return hint;
};

const describe = (field, hint) => {
    const known = field.getAttribute("aria-describedby");
    field.setAttribute("aria-describedby", known ? `${known} ${hint.id}` : hint.id);
};

const watchLength = (field, good) => {
    const hint = below(field, `${field.id}_length`);
    describe(field, hint);
    let state = "";
    const show = () => {
        const { words, han } = count(field.value);
        const recommended = good[han * 2 > words ? "han" : "other"];
        const length = [...field.value].length;
        const now = length >= field.maxLength ? "full" : length > recommended ? "long" : "";
        const sentence = label("length", { length, good: recommended });
        hint.textContent = now ? `${sentence}: ${label(now)}` : sentence;
        hint.hidden = !length;
        hint.dataset.state = now;
        if (now !== state && now) announce(label(now));
        state = now;
    };
    field.addEventListener("input", show);
    show();
};

const watchWords = (field) => {
    const hint = below(field, `${field.id}_words`);
    const show = () => {
        const text = new DOMParser().parseFromString(field.value.replace(/></g, "> <"), "text/html").body.textContent;
        hint.textContent = label("counted", count(text));
    };
    field.addEventListener("input", show);
    show();
};

for (const [name, good] of Object.entries(GOOD)) {
    const field = document.getElementById(`id_${name}`);
    if (field) watchLength(field, good);
}
const body = document.querySelector("[data-editor]");
if (body) watchWords(body);
