// How search engines and social networks will show the article, from what is typed.
const form = document.getElementById("article_form");
const box = document.getElementById("shown-as");

const typed = (name) => form.querySelector(`[name="${name}"]`)?.value.trim() || "";

const textOf = (names) => {
    if (names === "address") return [location.host, typed("slug")].filter(Boolean).join(" › ");
    return names.split(" ").map(typed).find(Boolean) || "";
};

const show = () => {
    for (const line of box.querySelectorAll("[data-shown]")) line.textContent = textOf(line.dataset.shown);
    const cover = form.querySelector(".cover-selected img, .ProseMirror figure img");
    const image = box.querySelector("img");
    image.hidden = !cover;
    if (cover && image.src !== cover.src) image.src = cover.src;
};

if (box && form.querySelector("[name=title]")) {
    box.hidden = false;
    for (const kind of ["input", "change", "editor:ready"]) form.addEventListener(kind, show);
    show();
}
