// Live preview beside the form, at desktop or phone width; reloads after each autosave.
import { config } from "articles/editor/config";
import { save } from "articles/editor/autosave";

const DELAY = 600; // milliseconds without a change
const form = document.getElementById("article_form");
const button = document.getElementById("preview-button");
const panel = document.getElementById("preview");
const stage = panel.querySelector(".preview-stage");
const frame = panel.querySelector("iframe");
const PHONE = 390;
let width = innerWidth < 2 * PHONE ? PHONE : 1200;
let top = 0;

const fit = () => {
    const scale = Math.min(1, stage.clientWidth / width);
    frame.style.width = `${width}px`;
    frame.style.height = `${stage.clientHeight / scale}px`;
    frame.style.transform = `scale(${scale})`;
    frame.style.left = `${Math.max(0, (stage.clientWidth - width * scale) / 2)}px`;
};

const load = () => {
    top = frame.contentWindow?.scrollY || 0;
    frame.contentWindow.location.replace(`${config.urls.preview}&frame=1`);
};

const open = async (isOpen) => {
    panel.hidden = !isOpen;
    button.setAttribute("aria-expanded", isOpen);
    document.documentElement.classList.toggle("previewing", isOpen);
    if (!isOpen) return button.focus();
    fit();
    panel.querySelector("button").focus();
    await save();
    return load();
};

let timer = null;
form.addEventListener("input", () => {
    clearTimeout(timer);
    if (!panel.hidden) timer = setTimeout(save, DELAY);
});
form.addEventListener("draft:saved", () => !panel.hidden && load());
frame.addEventListener("load", () => frame.contentWindow.scrollTo(0, top));
window.addEventListener("focus", () => !panel.hidden && frame.contentDocument?.querySelector("[data-signed-out]") && load());
new ResizeObserver(fit).observe(stage);

button.addEventListener("click", () => open(panel.hidden));
document.getElementById("preview-close").addEventListener("click", () => open(false));
panel.addEventListener("keydown", (event) => event.key === "Escape" && open(false));

const show = (chosen) => {
    width = chosen;
    for (const choice of panel.querySelectorAll("[data-width]")) choice.setAttribute("aria-pressed", Number(choice.dataset.width) === width);
    fit();
};

for (const choice of panel.querySelectorAll("[data-width]")) {
    choice.addEventListener("click", () => show(Number(choice.dataset.width)));
}
show(width);
