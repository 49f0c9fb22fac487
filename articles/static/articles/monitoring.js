// The board: filters apply when they are chosen, and tabs need no page load.
(() => {
    const root = document.getElementById("monitoring");
    const filters = document.getElementById("board-filters");

    filters.addEventListener("change", (event) => event.target.matches("select") && filters.requestSubmit());

    const openColumn = (tab) => {
        root.firstElementChild.dataset.open = tab.dataset.tab;
        for (const other of root.querySelectorAll("[data-tab]")) {
            if (other === tab) other.setAttribute("aria-current", "true");
            else other.removeAttribute("aria-current");
        }
        const source = new URL(root.dataset.source, location.href);
        source.searchParams.set("column", tab.dataset.tab);
        root.dataset.source = source.pathname + source.search;
        history.replaceState(history.state, "", tab.href);
    };

    root.addEventListener("click", (event) => {
        const tab = event.target.closest("[data-tab]");
        if (!tab || event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        openColumn(tab);
    });
})();
