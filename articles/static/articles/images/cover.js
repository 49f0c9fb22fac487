// The cover of an article: as many images as its mode takes, chosen in the picker, taken out with a button each.
document.addEventListener("DOMContentLoaded", () => {
    const field = document.querySelector("[data-cover]");
    const mode = document.querySelector("#id_cover_mode");
    if (!field || !mode) return;
    const TAKES = { one: 1, three: 3 };
    const [input, list, button] = ["input", ".cover-chosen", "[data-pick]"].map((name) => field.querySelector(name));

    const keep = () => {
        input.value = [...list.children].map((item) => item.dataset.id).join(",");
        input.dispatchEvent(new Event("change", { bubbles: true }));
    };

    const item = (image) => {
        const [row, thumbnail, out] = ["li", "img", "button"].map((name) => document.createElement(name));
        row.dataset.id = image.id;
        Object.assign(thumbnail, { src: image.thumbnail, alt: image.alt });
        Object.assign(out, { type: "button", className: "cover-out" });
        out.setAttribute("aria-label", field.dataset.takeOut.replace("{title}", image.title));
        out.innerHTML = '<span class="material-symbols-outlined" aria-hidden="true">close</span>';
        row.append(thumbnail, out);
        return row;
    };

    const show = () => {
        const takes = TAKES[mode.value] || 0;
        while (takes && list.children.length > takes) list.lastElementChild.remove();
        if (takes) keep();
    };

    button.addEventListener("click", async () => {
        const takes = TAKES[mode.value];
        const images = await document.querySelector("[data-picker]").pick({ most: takes });
        button.focus();
        if (!images) return;
        const known = new Set([...list.children].map(({ dataset }) => dataset.id));
        list.append(...images.filter(({ id }) => !known.has(id)).map(item));
        while (list.children.length > takes) list.firstElementChild.remove();
        keep();
    });
    list.addEventListener("click", ({ target }) => {
        const out = target.closest(".cover-out");
        if (!out) return;
        out.closest("li").remove();
        keep();
        button.focus();
    });
    mode.addEventListener("change", show);
});
