// Lets those parts of unfold's frame be used by keyboard and named by a screen reader that only answer to a mouse, and
// keeps the names of its icons from being read out.
(() => {
    const NAMES = {
        sidebarDesktopOpen: "menu",
        sidebarMobileOpen: "menu",
        openUserLinks: "account",
        "filterOpen = false": "close",
    };
    const NATIVE = "a[href], button, input, select, textarea, label, summary, [role]";

    const nameOf = (element, texts) => {
        const action = element.getAttribute("x-on:click");
        const found = Object.keys(NAMES).find((start) => action.startsWith(start));
        const words = element.querySelector(".truncate")?.textContent.trim();
        return [words, found && texts[NAMES[found]]].filter(Boolean).join(": ");
    };

    const press = (event) => {
        if (event.target !== event.currentTarget || !["Enter", " "].includes(event.key)) return;
        event.preventDefault();
        event.currentTarget.click();
    };

    const makeButton = (element, texts) => {
        if (element.matches(NATIVE)) return;
        element.dataset.deskKey = "";
        element.tabIndex = 0;
        element.setAttribute("role", "button");
        element.addEventListener("keydown", press);
        const name = nameOf(element, texts);
        if (name) element.setAttribute("aria-label", name);
    };

    document.addEventListener("DOMContentLoaded", () => {
        const texts = document.querySelector("meta[name=desk-texts]").dataset;
        document.querySelectorAll("[x-on\\:click]").forEach((element) => makeButton(element, texts));
        const icons = document.querySelectorAll(".material-symbols-outlined:not([role])");
        icons.forEach((icon) => icon.setAttribute("aria-hidden", "true"));
    });
})();
