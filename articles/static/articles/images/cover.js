// Cover images of an article: as many as the mode takes, chosen in the picker, each with buttons to crop and remove it.
// The dialog to crop comes from the server; without it the link opens the image's page.
const openCrop = async (link) => {
    const response = await fetch(link.href.replace(/change\/$/, "focus/"));
    const page = response.ok && !response.redirected ? await response.text() : "";
    const dialog = new DOMParser().parseFromString(page, "text/html").querySelector("[data-crop]");
    if (!dialog) return window.open(link.href);
    const [form, error] = [dialog.querySelector("form"), dialog.querySelector("[role=alert]")];

    const save = async () => {
        const answer = await fetch(form.action, { method: "POST", body: new FormData(form) });
        const image = await answer.json();
        if (!answer.ok) throw new Error(image.error);
        link.parentElement.querySelector("img").style.objectPosition = image.focus;
        dialog.close();
    };

    for (const button of dialog.querySelectorAll("[data-close]")) button.onclick = () => dialog.close();
    dialog.querySelector("[data-save]")?.addEventListener("click", () => {
        save().catch((failure) => (error.textContent = failure.name === "Error" ? failure.message : dialog.dataset.lost));
    });
    dialog.addEventListener("close", () => {
        dialog.remove();
        link.focus();
    });
    document.body.append(dialog);
    dialog.dispatchEvent(new Event("image:crop", { bubbles: true }));
    dialog.showModal();
    return dialog.querySelector(".focus-point, [data-close]").focus();
};

document.addEventListener("DOMContentLoaded", () => {
    const field = document.querySelector("[data-cover]");
    const mode = document.querySelector("#id_cover_mode");
    if (!field || !mode) return;
    const TAKES = { one: 1, three: 3 };
    const [input, list, button] = ["input", ".cover-selected", "[data-pick]"].map((name) => field.querySelector(name));

    const store = () => {
        input.value = [...list.children].map((item) => item.dataset.id).join(",");
        input.dispatchEvent(new Event("change", { bubbles: true }));
    };

    const item = (image) => {
        const [row, thumbnail, crop, remove] = ["li", "img", "a", "button"].map((name) => document.createElement(name));
        row.dataset.id = image.id;
        Object.assign(thumbnail, { src: image.thumbnail, alt: image.alt });
        thumbnail.style.objectPosition = image.focus;
        const address = list.dataset.address.replace(/[0-9a-f-]{36}/, image.id);
        Object.assign(crop, { className: "cover-crop", href: address, target: "_blank" });
        crop.setAttribute("aria-label", list.dataset.cropLabel.replace("{title}", image.title));
        crop.innerHTML = '<span class="material-symbols-outlined" aria-hidden="true">crop</span>';
        Object.assign(remove, { type: "button", className: "cover-remove" });
        remove.setAttribute("aria-label", field.dataset.removeLabel.replace("{title}", image.title));
        remove.innerHTML = '<span class="material-symbols-outlined" aria-hidden="true">close</span>';
        row.append(thumbnail, crop, remove);
        return row;
    };

    const show = () => {
        const takes = TAKES[mode.value] || 0;
        while (takes && list.children.length > takes) list.lastElementChild.remove();
        if (takes) store();
    };

    button.addEventListener("click", async () => {
        const takes = TAKES[mode.value];
        const images = await document.querySelector("[data-picker]").pick({ most: takes });
        button.focus();
        if (!images) return;
        const known = new Set([...list.children].map(({ dataset }) => dataset.id));
        list.append(...images.filter(({ id }) => !known.has(id)).map(item));
        while (list.children.length > takes) list.firstElementChild.remove();
        store();
    });
    list.addEventListener("click", (event) => {
        const [remove, crop] = [".cover-remove", ".cover-crop"].map((name) => event.target.closest(name));
        if (crop && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
            event.preventDefault();
            openCrop(crop).catch(() => window.open(crop.href));
        }
        if (!remove) return;
        remove.closest("li").remove();
        store();
        button.focus();
    });
    mode.addEventListener("change", show);
});
