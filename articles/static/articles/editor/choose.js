// Choices that are searched for on the server (author, tags): the selected ones with a remove button, and a text field
// with suggestions. The `select` itself holds the value; a new tag is created by the tag form, if the user may add tags.
import { announce, config, element, text as label } from "articles/editor/config";

const DELAY = 200; // milliseconds without a change
const form = document.getElementById("article_form");

const search = async (select, term) => {
    const { appLabel, modelName, fieldName } = select.dataset;
    const query = new URLSearchParams({ term, app_label: appLabel, model_name: modelName, field_name: fieldName });
    const response = await fetch(`${select.dataset["ajax-Url"]}?${query}`);
    return response.ok ? (await response.json()).results : [];
};

// The ID of the new tag; the tag form answers a window with it.
const create = async (name) => {
    const body = new FormData();
    for (const [key, value] of Object.entries({ name, _popup: 1, csrfmiddlewaretoken: window.csrfToken() })) body.set(key, value);
    const response = await fetch(config.urls.newTag, { method: "POST", body });
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const made = page.getElementById("django-admin-popup-response-constants")?.dataset.popupResponse;
    return made ? JSON.parse(made).value : null;
};

const enhance = (select) => {
    const isMultiple = select.multiple;
    const title = form.querySelector(`label[for="${select.id}"]`)?.textContent.trim() || select.name;
    const chosen = element("ul", { className: "chosen" });
    const input = element("input", { type: "text", id: `${select.id}_search`, className: "choose-input", autocomplete: "off", role: "combobox", ariaLabel: title });
    const list = element("ul", { className: "choose-list", id: `${select.id}_choices`, role: "listbox", hidden: true, ariaLabel: title });
    input.setAttribute("aria-expanded", "false");
    input.setAttribute("aria-controls", list.id);
    let [timer, latest, active] = [null, 0, -1];

    const options = () => [...list.querySelectorAll("[role=option]")];

    const close = () => {
        clearTimeout(timer);
        latest += 1; // an answer on its way would open the list again
        list.hidden = true;
        active = -1;
        input.setAttribute("aria-expanded", "false");
        input.removeAttribute("aria-activedescendant");
    };

    const changed = () => {
        show();
        select.dispatchEvent(new Event("change", { bubbles: true }));
    };

    const remove = (option) => {
        option.remove();
        changed();
        input.focus();
    };

    const show = () => {
        const items = [...select.selectedOptions].filter(({ value }) => value);
        chosen.replaceChildren(...items.map((option) => {
            const name = option.textContent.trim();
            const button = element("button", { type: "button", ariaLabel: label("removeChoice", { name }), textContent: "×" });
            button.addEventListener("click", () => remove(option));
            return element("li", {}, element("span", { textContent: name }), button);
        }));
        input.hidden = !isMultiple && items.length > 0;
    };

    const add = async ({ id, text, isNew }) => {
        const value = isNew ? await create(text) : id;
        if (!value) return announce(label("notCreated", { name: text }));
        const known = [...select.options].find((option) => option.value === String(value));
        const option = known || element("option", { value, textContent: text });
        if (!known) select.append(option);
        option.selected = true;
        input.value = "";
        close();
        changed();
        announce(label("chosen", { name: text }));
    };

    const mark = (to) => {
        const all = options();
        if (!all.length) return;
        active = (to + all.length) % all.length;
        for (const [at, option] of all.entries()) option.setAttribute("aria-selected", at === active);
        input.setAttribute("aria-activedescendant", all[active].id);
        all[active].scrollIntoView({ block: "nearest" });
    };

    const offer = (results, term) => {
        const taken = new Set([...select.selectedOptions].map(({ value }) => value));
        const left = results.filter(({ id }) => !taken.has(String(id)));
        const isKnown = results.some(({ text }) => text.toLowerCase() === term.toLowerCase());
        const rows = term && !isKnown && select.name === "tags" && config.urls.newTag ? [...left, { text: term, isNew: true }] : left;
        list.replaceChildren(...rows.map((row, at) => {
            const text = row.isNew ? label("createTag", { name: row.text }) : row.text;
            const option = element("li", { id: `${list.id}_${at}`, role: "option", textContent: text });
            option.setAttribute("aria-selected", "false");
            option.addEventListener("mousedown", (event) => event.preventDefault()); // the field keeps the focus
            option.addEventListener("click", () => add(row));
            return option;
        }));
        list.hidden = !rows.length;
        input.setAttribute("aria-expanded", String(rows.length > 0));
        active = -1;
        if (rows.length && term) mark(0);
    };

    const suggest = async () => {
        const mine = ++latest;
        const term = input.value.trim();
        const results = await search(select, term).catch(() => []);
        while (window.isPressed(list)) await new Promise(requestAnimationFrame);
        if (mine === latest && document.activeElement === input) offer(results, term);
    };

    input.addEventListener("input", (event) => {
        event.stopPropagation(); // not a change of the article
        clearTimeout(timer);
        timer = setTimeout(suggest, DELAY);
    });
    input.addEventListener("click", suggest);
    input.addEventListener("blur", close);
    input.addEventListener("keydown", (event) => {
        const steps = { ArrowDown: active + 1, ArrowUp: active - 1 };
        if (event.key in steps) {
            event.preventDefault();
            if (list.hidden) suggest();
            else mark(steps[event.key]);
        } else if (event.key === "Enter") {
            event.preventDefault();
            options()[active]?.click();
        } else if (event.key === "Escape") {
            if (!list.hidden) event.stopPropagation();
            close();
        } else if (event.key === "Backspace" && !input.value && chosen.lastElementChild) {
            chosen.lastElementChild.querySelector("button").click();
        }
    });
    select.hidden = true;
    select.after(element("div", { className: "choose" }, chosen, input, list));
    form.querySelector(`label[for="${select.id}"]`)?.setAttribute("for", input.id);
    show();
};

for (const select of form.querySelectorAll("select.admin-autocomplete")) enhance(select);
