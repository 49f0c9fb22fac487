// Ctrl+K outside the text: the command palette of the admin. Its scripts are loaded when it is opened first.
import { config } from "articles/editor/config";

const load = (src) =>
    new Promise((resolve, reject) => {
        const script = Object.assign(document.createElement("script"), { src, async: false, onload: resolve, onerror: reject });
        document.head.append(script);
    });

const open = async () => {
    stop();
    await Promise.all(config.palette.map(load)).catch(listen);
    setTimeout(() => window.dispatchEvent(new CustomEvent("opencommand"))); // when Alpine has started
};

const press = (event) => {
    if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey)) return;
    if (event.target.isContentEditable || document.querySelector("dialog[open]")) return;
    event.preventDefault();
    open();
};

const button = document.querySelector("[data-palette]");
const listen = () => document.addEventListener("keydown", press);
const stop = () => document.removeEventListener("keydown", press);

button.hidden = false;
button.addEventListener("click", () => (window.Alpine ? window.dispatchEvent(new CustomEvent("opencommand")) : open()));
listen();
