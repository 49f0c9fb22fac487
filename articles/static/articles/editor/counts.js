// Words and reading time below the text; how long headline and summary are, and whether that is still good.
import { announce, element, say } from "articles/editor/told";

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
    let standing = "";
    const show = () => {
        const { words, han } = count(field.value);
        const best = good[han * 2 > words ? "han" : "other"];
        const length = [...field.value].length;
        const now = length >= field.maxLength ? "full" : length > best ? "long" : "";
        const said = say("length", { length, good: best });
        hint.textContent = now ? `${said}: ${say(now)}` : said;
        hint.hidden = !length;
        hint.dataset.standing = now;
        if (now !== standing && now) announce(say(now));
        standing = now;
    };
    field.addEventListener("input", show);
    show();
};

const watchWords = (field) => {
    const hint = below(field, `${field.id}_words`);
    const show = () => {
        const text = new DOMParser().parseFromString(field.value.replace(/></g, "> <"), "text/html").body.textContent;
        hint.textContent = say("counted", count(text));
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
