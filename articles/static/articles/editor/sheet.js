// The publish sheet as a dialog: fetched for the form as it is, and again when another time is chosen in it or when what
// it says of the time is no longer true.
import { announce, text as label, timeout } from "articles/editor/config";

const RETRY = 5_000; // milliseconds
const HOUR = 3_600_000;
const form = document.getElementById("article_form");

const fetchSheet = async (button, preset = "") => {
    const data = new FormData(form, button);
    if (preset) data.set("preset", preset);
    const response = await fetch(`${button.formAction}?dialog=1`, { method: "POST", body: data, signal: timeout() });
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
        wait();
    };
    // Says how long it still takes; what is being chosen or pressed stays where it is.
    let latest = 0;
    const update = async () => {
        const mine = ++latest;
        const fresh = await fetchSheet(button).catch(() => null);
        if (!sheet.open || mine !== latest) return true;
        for (const selector of fresh ? [".sheet-when [role=status]", ".primary"] : []) {
            sheet.querySelector(selector).replaceChildren(...fresh.querySelector(selector).childNodes);
        }
        if (fresh) sheet.querySelector(".primary").disabled = fresh.querySelector(".primary").disabled;
        wait(fresh?.querySelector("[data-wait]")?.dataset.wait ?? (fresh ? null : RETRY));
        return Boolean(fresh);
    };
    let timer = null;
    const wait = (left = sheet.querySelector("[data-wait]")?.dataset.wait ?? null) => {
        clearTimeout(timer);
        if (left !== null) timer = setTimeout(update, Math.min(Number(left), HOUR));
    };
    sheet.addEventListener("click", ({ target }) => {
        if (target === sheet || target.closest("[data-close], [data-fix], .primary")) sheet.close();
        const preset = target.closest("[data-preset]");
        if (preset) again(preset.dataset.preset).catch(() => announce(label("noConnection")));
    });
    sheet.addEventListener("change", ({ target }) => {
        if (!target.matches("[data-sheet-time]")) return;
        store(sheet);
        // Not the whole sheet: that would close the open picker and take the focus from where Tab led.
        update().then((isShown) => isShown || announce(label("noConnection")));
    });
    document.addEventListener("follow:shown", () => {
        const offered = form.querySelector(`[name=sheet][value="${button.value}"]`);
        if (sheet.open && !offered) sheet.close(); // another user has made the transition
    });
    wait();
    sheet.addEventListener("close", () => {
        clearTimeout(timer);
        if (document.activeElement === document.body) form.querySelector(`[name=sheet][value="${button.value}"]`)?.focus();
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

form.addEventListener("click", (event) => {
    const button = event.target.closest("[name=sheet]");
    if (!button) return;
    event.preventDefault();
    open(button).catch(() => announce(label("noConnection")));
});
