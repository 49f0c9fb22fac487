// The publish sheet as a dialog: fetched for the form as it is, and again when another time is chosen in it.
import { announce, text as label } from "articles/editor/config";

const form = document.getElementById("article_form");

const fetchSheet = async (button, preset = "") => {
    const data = new FormData(form, button);
    if (preset) data.set("preset", preset);
    const response = await fetch(`${button.formAction}?dialog=1`, { method: "POST", body: data });
    const page = response.ok && !response.redirected ? await response.text() : "";
    return new DOMParser().parseFromString(page, "text/html").getElementById("sheet");
};

// The chosen time becomes that of the form.
const store = (sheet) => {
    const { dataset: { sheetTime }, value } = sheet.querySelector("[data-sheet-time]");
    const field = document.getElementById(`id_${sheetTime}_0`);
    if (!field || field.value === value) return;
    field.value = value;
    field.dispatchEvent(new Event("input", { bubbles: true }));
};

const listen = (sheet, button) => {
    const again = async (preset) => {
        const fresh = await fetchSheet(button, preset);
        if (!fresh || !sheet.open) return;
        const focused = sheet.contains(document.activeElement) ? document.activeElement.dataset.preset : "";
        sheet.replaceChildren(...fresh.childNodes);
        store(sheet);
        sheet.querySelector(focused ? `[data-preset="${focused}"]` : "[data-sheet-time]").focus();
    };
    sheet.addEventListener("click", ({ target }) => {
        if (target === sheet || target.closest("[data-close], [data-fix], .primary")) sheet.close();
        const preset = target.closest("[data-preset]");
        if (preset) again(preset.dataset.preset).catch(() => announce(label("noConnection")));
    });
    sheet.addEventListener("change", ({ target }) => {
        if (!target.matches("[data-sheet-time]")) return;
        store(sheet);
        again().catch(() => announce(label("noConnection")));
    });
    sheet.addEventListener("close", () => {
        if (document.activeElement === document.body) button.focus();
    });
};

const open = async (button) => {
    const sheet = await fetchSheet(button);
    if (!sheet) return form.requestSubmit(button); // as a page
    document.getElementById("sheet")?.remove(); // not when it is closed: its button still submits the form
    document.body.append(sheet);
    store(sheet);
    listen(sheet, button);
    sheet.showModal();
    return (sheet.querySelector(".primary:enabled") || sheet.querySelector("[data-sheet-time]")).focus();
};

for (const button of form.querySelectorAll("[name=sheet]")) {
    button.addEventListener("click", (event) => {
        event.preventDefault();
        open(button).catch(() => announce(label("noConnection")));
    });
}
