// Previews of a search result and of a shared link, from the fields of the article form and its cover.
const previews = document.querySelector("[data-shared-previews]");
const form = document.querySelector("#article_form");

const textOf = (names) => {
    for (const name of names.split(" ")) {
        const text = form.elements[name]?.value.trim();
        if (text) return text;
    }
    return "";
};

// Chinese characters are twice as wide as Latin ones.
const widthOf = (text) => [...text].reduce((sum, char) => sum + (char > "\u2e80" ? 2 : 1), 0);

const coverOf = () => {
    const mode = form.elements.cover_mode?.value;
    if (mode === "none") return null;
    return document.querySelector(mode === "auto" ? ".ProseMirror img" : ".cover-selected img");
};

const show = () => {
    for (const place of previews.querySelectorAll("[data-shows]")) {
        const text = textOf(place.dataset.shows);
        if (place.textContent !== text) place.textContent = text; // the observer sees it, too
    }
    for (const note of previews.querySelectorAll("[data-most]")) note.hidden = widthOf(textOf(note.dataset.of)) <= note.dataset.most;
    const [image, cover] = [previews.querySelector("img"), coverOf()];
    image.hidden = !cover;
    if (cover && image.src !== cover.src) image.src = cover.src;
};

if (previews && form?.elements.title) {
    previews.hidden = false;
    for (const kind of ["input", "change"]) form.addEventListener(kind, show);
    // The editor changes its text without events of the form, and creates the images of the body later.
    new MutationObserver(show).observe(form, { subtree: true, childList: true, attributeFilter: ["src"] });
    show();
}
