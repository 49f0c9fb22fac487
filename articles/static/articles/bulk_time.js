// Hints below the time of a bulk action, fetched again when another time is typed.
(() => {
    const DELAY = 300; // milliseconds without a change
    const form = document.getElementById("bulk-action-question");
    let timer = null;
    let latest = 0;

    const refresh = async () => {
        const mine = ++latest;
        const data = new FormData(form);
        data.set("look", 1);
        const response = await fetch(form.action, { method: "POST", body: data });
        if (!response.ok || response.redirected) return;
        const page = new DOMParser().parseFromString(await response.text(), "text/html");
        const fresh = page.getElementById("bulk-hints");
        if (mine === latest && fresh) document.getElementById("bulk-hints").replaceChildren(...fresh.childNodes);
    };

    form.addEventListener("input", () => {
        clearTimeout(timer);
        timer = setTimeout(() => refresh().catch(() => {}), DELAY);
    });
})();
