// Loads older and newer articles into the open list. Without this script the links lead to them.
(() => {
    const list = document.querySelector("[data-list]");
    if (!list) return;
    const announcer = document.createElement("p");
    announcer.className = "visually-hidden";
    announcer.setAttribute("role", "status");
    list.before(announcer);

    const linkIn = (page, direction) => page.querySelector(`[data-turn=${direction}]`)?.closest(".turn");

    const add = (page, direction) => {
        const cards = [...page.querySelector("[data-list]").children];
        cards.forEach((card) => card.classList.remove("lead"));
        const known = new Set([...document.querySelectorAll("main [data-id]")].map((card) => card.dataset.id));
        const fresh = cards.filter((card) => !known.has(card.dataset.id));
        if (direction === "older") list.append(...fresh);
        else list.prepend(...fresh);
        return fresh;
    };

    const load = async (link) => {
        const direction = link.dataset.turn;
        const response = await fetch(link.href);
        if (!response.ok) throw new Error(response.status);
        const page = new DOMParser().parseFromString(await response.text(), "text/html");
        const fresh = add(page, direction);
        const next = linkIn(page, direction);
        if (next) link.closest(".turn").replaceWith(next);
        else link.closest(".turn").remove();
        history.replaceState(null, "", link.href);
        announcer.textContent = link.dataset.announced;
        const first = direction === "older" ? fresh[0] : fresh.at(-1);
        first?.querySelector("h2 a").focus();
    };

    document.addEventListener("click", (event) => {
        const link = event.target.closest("[data-turn]");
        if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
        event.preventDefault();
        link.setAttribute("aria-busy", "true");
        load(link).catch(() => location.assign(link.href));
    });
})();
