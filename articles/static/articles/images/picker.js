// Image picker dialog. `document.querySelector("[data-picker]").pick({ most })` opens it and resolves to the chosen images
// (id, title, alt, caption, credit, thumbnail, address), or to null when it is cancelled.
document.addEventListener("DOMContentLoaded", () => {
    const dialog = document.querySelector("[data-picker]");
    if (!dialog) return;
    const choices = dialog.querySelector("[data-choices]");
    const search = dialog.querySelector("input[type=search]");
    const sum = dialog.querySelector("[data-picked]");
    const use = dialog.querySelector("[data-use]");
    const asking = dialog.querySelector("[data-describe]");
    const chosen = new Map();
    let [most, settle, timer, latest, shown] = [1, null, null, 0, ""];

    const count = () => {
        sum.textContent = most > 1 ? sum.dataset.picked.replace("{chosen}", chosen.size).replace("{most}", most) : "";
        use.hidden = most === 1;
        use.disabled = chosen.size === 0;
        for (const button of choices.querySelectorAll("[data-choice]")) {
            button.setAttribute("aria-pressed", chosen.has(button.dataset.id));
        }
    };

    const fetchPage = async (page) => {
        const query = new URLSearchParams({ q: search.value, page });
        const response = await fetch(`${dialog.dataset.picker}?${query}`).catch(() => null);
        if (response?.ok && !response.redirected) return response.text();
        const lost = document.createElement("li");
        lost.className = "library-empty";
        lost.textContent = dialog.dataset.lost;
        return lost.outerHTML;
    };

    const load = async (page = 1) => {
        const mine = ++latest;
        const html = await fetchPage(page);
        while (window.isPressed(choices)) await new Promise(requestAnimationFrame);
        if (mine !== latest) return; // answers may overtake each other
        if (page === 1 && html === shown) return count(); // what has the focus stays
        shown = page === 1 ? html : "";
        choices.querySelector(".library-more")?.remove();
        if (page === 1) choices.replaceChildren();
        choices.insertAdjacentHTML("beforeend", html);
        count();
    };

    const finish = (images) => {
        settle?.(images);
        settle = null;
        if (dialog.open) dialog.close();
    };

    const toggle = (image) => {
        if (chosen.delete(image.id)) return count();
        if (chosen.size >= most) chosen.delete(chosen.keys().next().value);
        chosen.set(image.id, image);
        if (most === 1) return finish([image]);
        count();
    };

    const describe = async (image, alt) => {
        const body = new FormData();
        body.append("alt", alt);
        body.append("csrfmiddlewaretoken", window.csrfToken());
        const response = await fetch(dialog.dataset.picker.replace(/picker\/$/, `${image.id}/describe/`), { method: "POST", body });
        const described = await response.json();
        if (!response.ok) throw new Error(described.error);
        return described;
    };

    const askForAltText = (image) => {
        const [thumbnail, input, button, error] = ["img", "input", "button", "[role=alert]"].map((name) => asking.querySelector(name));
        thumbnail.src = image.thumbnail;
        input.value = error.textContent = "";
        asking.hidden = false;
        button.onclick = async () => {
            try {
                const described = await describe(image, input.value);
                asking.hidden = true;
                load();
                toggle(described);
            } catch (failure) {
                error.textContent = failure.message;
            }
        };
        input.onkeydown = (event) => event.key === "Enter" && button.click();
        input.focus();
    };

    choices.addEventListener("click", ({ target }) => {
        const more = target.closest("[data-page]");
        if (more) return load(Number(more.dataset.page));
        const button = target.closest("[data-choice]");
        if (!button) return;
        const image = { ...button.dataset };
        if (image.alt || chosen.has(image.id)) toggle(image);
        else askForAltText(image);
    });
    search.addEventListener("input", () => {
        clearTimeout(timer);
        timer = setTimeout(load, 200);
    });
    dialog.addEventListener("image:uploaded", () => load());
    dialog.addEventListener("close", () => finish(null));
    for (const button of dialog.querySelectorAll("[data-close]")) button.onclick = () => dialog.close();
    use.onclick = () => finish([...chosen.values()]);
    // Input in the dialog is not part of the article form: do not submit or autosave it.
    dialog.addEventListener("keydown", (event) => event.key === "Enter" && event.target.matches("input") && event.preventDefault());
    for (const kind of ["input", "change"]) dialog.addEventListener(kind, (event) => event.stopPropagation());

    dialog.pick = (options = {}) => {
        most = options.most || 1;
        chosen.clear();
        asking.hidden = true;
        search.value = "";
        load();
        dialog.showModal();
        search.focus();
        return new Promise((resolve) => {
            settle = resolve;
        });
    };
});
