// The dialog in which images are chosen. `document.querySelector("[data-picker]").pick({ most })` shows it and promises
// the images, each with its id, title, alt, caption, credit, thumbnail and address; or null when nobody chose any.
document.addEventListener("DOMContentLoaded", () => {
    const dialog = document.querySelector("[data-picker]");
    if (!dialog) return;
    const choices = dialog.querySelector("[data-choices]");
    const search = dialog.querySelector("input[type=search]");
    const sum = dialog.querySelector("[data-picked]");
    const use = dialog.querySelector("[data-use]");
    const asking = dialog.querySelector("[data-describe]");
    const chosen = new Map();
    let [most, settle, timer] = [1, null, null];

    const count = () => {
        sum.textContent = most > 1 ? sum.dataset.picked.replace("{chosen}", chosen.size).replace("{most}", most) : "";
        use.hidden = most === 1;
        use.disabled = chosen.size === 0;
        for (const button of choices.querySelectorAll("[data-choice]")) {
            button.setAttribute("aria-pressed", chosen.has(button.dataset.id));
        }
    };

    const load = async (page = 1) => {
        const query = new URLSearchParams({ q: search.value, page });
        const answer = await fetch(`${dialog.dataset.picker}?${query}`);
        const html = answer.ok ? await answer.text() : "";
        choices.querySelector(".shelf-more")?.remove();
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
        body.append("csrfmiddlewaretoken", document.querySelector("[name=csrfmiddlewaretoken]").value);
        const answer = await fetch(dialog.dataset.picker.replace(/picker\/$/, `${image.id}/describe/`), { method: "POST", body });
        const told = await answer.json();
        if (!answer.ok) throw new Error(told.error);
        return told;
    };

    const ask = (image) => {
        const [preview, input, button, fault] = ["img", "input", "button", "[role=alert]"].map((name) => asking.querySelector(name));
        preview.src = image.thumbnail;
        input.value = fault.textContent = "";
        asking.hidden = false;
        button.onclick = async () => {
            try {
                const told = await describe(image, input.value);
                asking.hidden = true;
                load();
                toggle(told);
            } catch (error) {
                fault.textContent = error.message;
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
        else ask(image);
    });
    search.addEventListener("input", () => {
        clearTimeout(timer);
        timer = setTimeout(load, 200);
    });
    dialog.addEventListener("image:uploaded", () => load());
    dialog.addEventListener("close", () => finish(null));
    for (const button of dialog.querySelectorAll("[data-close]")) button.onclick = () => dialog.close();
    use.onclick = () => finish([...chosen.values()]);
    // What is typed here is not the article's: its form neither sends nor watches it.
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
