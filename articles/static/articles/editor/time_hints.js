// Hints below each time field: relative time, problems, quick choices.
import { config, element, timeout } from "articles/editor/config";

const DELAY = 300; // milliseconds without a change
const REFRESH = 10000; // milliseconds; "in 40 seconds" goes stale
const WITH_QUICK_TIMES = ["publish_at", "update_at"];
const form = document.getElementById("article_form");

const panels = new Map();
for (const name of ["publish_at", "update_at", "embargo_until", "unpublish_at"]) {
    const input = document.getElementById(`id_${name}_0`);
    if (!input) continue;
    const panel = element("div", { className: "timing" });
    panel.hint = element("p", { className: "timing-hint", id: `${input.id}_hint` });
    panel.hint.setAttribute("aria-live", "polite");
    if (input.value) panel.hint.append("\u00a0"); // takes its place until the answer is there
    panel.input = input;
    panel.append(panel.hint);
    input.setAttribute("aria-describedby", `${input.getAttribute("aria-describedby") || ""} ${panel.hint.id}`.trim());
    input.closest("[data-time]").append(panel);
    panels.set(name, panel);
}

const offerOccurrences = (name, panel, occurrences) => {
    let select = form.querySelector(`[name="${name}_which"]`);
    if (!occurrences.length) return select?.remove();
    if (!select) {
        select = element("select", { name: `${name}_which`, className: "timing-which", ariaLabel: config.texts.which });
        panel.closest("[data-time]").querySelector("[data-zone]").before(select);
    }
    if (select.options.length !== occurrences.length + 1) {
        select.replaceChildren(...[["", config.texts.whichOne], ...occurrences].map(([value, text]) => element("option", { value, textContent: text })));
    }
    return select;
};

const show = (name, panel, response) => {
    const lines = [response.sentence, ...response.problems].filter(Boolean);
    if (panel.shown === lines.join("\n")) return;
    panel.shown = lines.join("\n");
    panel.hint.replaceChildren(
        ...[response.sentence].filter(Boolean).map((text) => element("span", { textContent: text })),
        ...response.problems.map((text) => element("strong", { textContent: text })),
    );
    panel.closest("[data-time]").querySelector("[data-zone]").textContent = response.zone;
};

const query = () => {
    const params = new URLSearchParams({ article: config.article || "" });
    const wanted = /^(channel|(publish_at|update_at|embargo_until|unpublish_at)(_which|_zone)?)$/;
    for (const [name, value] of new FormData(form)) if (wanted.test(name)) params.set(name, value);
    return params;
};

let latest = 0;
const refresh = async () => {
    const mine = ++latest;
    const response = await fetch(`${config.urls.times}?${query()}`, { signal: timeout() });
    if (!response.ok || response.redirected) return null;
    const { fields, choices } = await response.json();
    for (const [name, panel] of mine === latest ? panels : []) {
        offerOccurrences(name, panel, fields[name].occurrences);
        show(name, panel, fields[name]);
        if (panel.later) panel.later.hidden = !fields[name].later;
    }
    return { choices, fields };
};

let timer = null;
const refreshSoon = (wait = DELAY) => {
    clearTimeout(timer);
    timer = setTimeout(() => refresh().catch(() => {}).finally(() => refreshSoon(REFRESH)), wait);
};

const set = (panel, wall) => {
    if (!wall) return;
    panel.input.value = wall;
    panel.input.dispatchEvent(new Event("input", { bubbles: true }));
};

const chip = (textContent, choose) => {
    const button = element("button", { type: "button", textContent });
    button.addEventListener("click", () => refresh().then((answer) => answer && choose(answer)).catch(() => {}));
    return button;
};

for (const name of WITH_QUICK_TIMES) {
    const panel = panels.get(name);
    if (!panel) continue;
    const group = element("div", { className: "timing-choices", role: "group", ariaLabel: config.texts.quick });
    panel.later = chip(config.texts.plusHour, ({ fields }) => set(panel, fields[name].later));
    panel.later.hidden = !panel.input.value;
    group.append(panel.later, ...config.choices.map(([choice, text]) => chip(text, ({ choices }) => set(panel, choices[choice]))));
    panel.choices = group;
    panel.prepend(group);
}

// Once it is live, its time to go live can no longer be set; what was typed stays, and is not saved.
const setReadOnly = () => {
    const settable = document.querySelector("[data-settable]")?.dataset.settable.split(" ");
    for (const [name, panel] of settable ? panels : []) {
        panel.input.readOnly = !settable.includes(name);
        if (panel.choices) panel.choices.hidden = panel.input.readOnly;
    }
};
document.addEventListener("follow:shown", () => {
    setReadOnly();
    refreshSoon(0);
});

if (panels.size) {
    form.addEventListener("input", (event) => /_at|_until|channel/.test(event.target.name) && refreshSoon());
    form.addEventListener("change", (event) => /_which|channel/.test(event.target.name) && refreshSoon());
    refreshSoon(0);
}
