// Configuration of the article form from the server: texts in the editor's language, URLs, quick times.
export const config = JSON.parse(document.getElementById("editor-config").textContent);

export const text = (name, values = {}) =>
    config.texts[name].replace(/\{(\w+)\}/g, (_match, key) => values[key]);

export const element = (tag, properties = {}, ...children) => {
    const created = Object.assign(document.createElement(tag), properties);
    created.append(...children);
    return created;
};

// Announces a text politely to screen readers, once per change.
const liveRegion = element("p", { className: "sr-only", role: "status" });
document.body.append(liveRegion);

// Of a request: one without an answer holds up what follows.
export const timeout = () => AbortSignal.timeout(30_000);

export const announce = (message) => {
    if (liveRegion.textContent !== message) liveRegion.textContent = message;
};
