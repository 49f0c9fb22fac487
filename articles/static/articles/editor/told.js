// What the server tells the scripts of the article's screen: texts in the editor's language, addresses, times.
export const told = JSON.parse(document.getElementById("told").textContent);

export const say = (name, values = {}) =>
    told.words[name].replace(/\{(\w+)\}/g, (_match, key) => values[key]);

export const element = (tag, properties = {}, ...children) => {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
};

// Read aloud politely, once for each change of what there is to say.
const speaker = element("p", { className: "sr-only", role: "status" });
document.body.append(speaker);

export const announce = (text) => {
    if (speaker.textContent !== text) speaker.textContent = text;
};
