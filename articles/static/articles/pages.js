// Older and newer articles of a list, loaded into the page that is open. Without this script the links lead to them.
(() => {
    const list = document.querySelector("[data-list]");
    if (!list) return;
    const announcer = document.createElement("p");
    announcer.className = "visually-hidden";
    announcer.setAttribute("role", "status");
    list.before(announcer);

    const linkIn = (page, way) => page.querySelector(`[data-turn=${way}]`)?.closest(".turn");

    const add = (page, way) => {
        const cards = [...page.querySelector("[data-list]").children];
        cards.forEach((card) => card.classList.remove("lead"));
        const known = new Set([...document.querySelectorAll("main [data-id]")].map((card) => card.dataset.id));
        const fresh = cards.filter((card) => !known.has(card.dataset.id));
        if (way === "older") list.append(...fresh);
        else list.prepend(...fresh);
        return fresh;
    };

    const turn = async (link) => {
        const way = link.dataset.turn;
        const answer = await fetch(link.href);
        if (!answer.ok) throw new Error(answer.status);
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        const fresh = add(page, way);
        const next = linkIn(page, way);
        if (next) link.closest(".turn").replaceWith(next);
        else link.closest(".turn").remove();
        history.replaceState(null, "", link.href);
        announcer.textContent = link.dataset.announced;
        const first = way === "older" ? fresh[0] : fresh.at(-1);
        first?.querySelector("h2 a").focus();
    };

    document.addEventListener("click", (event) => {
        const link = event.target.closest("[data-turn]");
        if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
        event.preventDefault();
        link.setAttribute("aria-busy", "true");
        turn(link).catch(() => location.assign(link.href));
    });
})();
