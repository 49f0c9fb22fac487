// Below each time: what it means ("in 14 hours, Tuesday …"), what speaks against it, and what editors choose most.
import { element, told } from "articles/editor/told";

const AFTER = 300; // milliseconds without a change
const AGAIN = 10000; // "in 40 seconds" grows old
const WITH_CHOICES = ["publish_at", "update_at"];
const form = document.getElementById("article_form");

const panels = new Map();
for (const name of ["publish_at", "update_at", "embargo_until", "unpublish_at"]) {
    const input = document.getElementById(`id_${name}_0`);
    if (!input) continue;
    const panel = element("div", { className: "timing" });
    panel.says = element("p", { className: "timing-says", id: `${input.id}_says` });
    panel.says.setAttribute("aria-live", "polite");
    panel.input = input;
    panel.append(panel.says);
    input.setAttribute("aria-describedby", `${input.getAttribute("aria-describedby") || ""} ${panel.says.id}`.trim());
    input.closest("[data-time]").append(panel);
    panels.set(name, panel);
}

const offerTwo = (name, panel, twice) => {
    let select = form.querySelector(`[name="${name}_which"]`);
    if (!twice.length) return select?.remove();
    if (!select) {
        select = element("select", { name: `${name}_which`, className: "timing-which", ariaLabel: told.words.which });
        panel.closest("[data-time]").querySelector("[data-zone]").before(select);
    }
    if (select.options.length !== twice.length + 1) {
        select.replaceChildren(...[["", told.words.whichOne], ...twice].map(([value, text]) => element("option", { value, textContent: text })));
    }
    return select;
};

const show = (name, panel, answer) => {
    const lines = [answer.sentence, ...answer.problems].filter(Boolean);
    if (panel.said === lines.join("\n")) return; // said once
    panel.said = lines.join("\n");
    panel.says.replaceChildren(
        ...[answer.sentence].filter(Boolean).map((text) => element("span", { textContent: text })),
        ...answer.problems.map((text) => element("strong", { textContent: text })),
    );
    panel.closest("[data-time]").querySelector("[data-zone]").textContent = answer.zone;
};

const query = () => {
    const asked = new URLSearchParams({ article: told.article || "" });
    const wanted = /^(channel|(publish_at|update_at|embargo_until|unpublish_at)(_which)?)$/;
    for (const [name, value] of new FormData(form)) if (wanted.test(name)) asked.set(name, value);
    return asked;
};

let latest = 0;
const ask = async () => {
    const mine = ++latest;
    const answer = await fetch(`${told.addresses.times}?${query()}`);
    if (!answer.ok || mine !== latest || answer.redirected) return null;
    const { fields, choices } = await answer.json();
    for (const [name, panel] of panels) {
        offerTwo(name, panel, fields[name].twice);
        show(name, panel, fields[name]);
    }
    return choices;
};

let timer = null;
const askSoon = (wait = AFTER) => {
    clearTimeout(timer);
    timer = setTimeout(() => ask().catch(() => {}).finally(() => askSoon(AGAIN)), wait);
};

const choose = async (panel, choice) => {
    const choices = await ask();
    if (!choices?.[choice]) return;
    panel.input.value = choices[choice];
    panel.input.dispatchEvent(new Event("input", { bubbles: true }));
};

for (const name of WITH_CHOICES) {
    const panel = panels.get(name);
    if (!panel) continue;
    const group = element("div", { className: "timing-choices", role: "group", ariaLabel: told.words.quick });
    for (const [choice, text] of told.choices) {
        const button = element("button", { type: "button", textContent: text });
        button.addEventListener("click", () => choose(panel, choice).catch(() => {}));
        group.append(button);
    }
    panel.prepend(group);
}

if (panels.size) {
    form.addEventListener("input", (event) => /_at|_until|channel/.test(event.target.name) && askSoon());
    form.addEventListener("change", (event) => /_which|channel/.test(event.target.name) && askSoon());
    askSoon(0);
}
