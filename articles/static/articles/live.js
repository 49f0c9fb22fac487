// Refreshes the dashboard every few seconds and when an item is due; counts down on the server clock. Replaces only
// changed sections, and preserves focus, scroll and open tables.
(() => {
    const INTERVAL = 5000;
    const AFTER_DUE = 400; // workers publish within milliseconds
    const root = document.getElementById("dashboard");
    const text = root.dataset;
    const served = new Map();
    let offset = 0;
    let timer = null;
    let newest = null;

    const setClock = (page) => { offset = Number(page.dataset.now) - Date.now(); };
    const now = () => Date.now() + offset;
    const sections = (page) => [...page.querySelectorAll("[data-section]")];
    const two = (number) => String(number).padStart(2, "0");

    const countdown = (left) => {
        const seconds = Math.ceil(left / 1000);
        const [days, hours, minutes] = [Math.floor(seconds / 86400), Math.floor(seconds / 3600), Math.floor(seconds / 60)];
        if (seconds <= 0) return text.due;
        if (days) return text.days.replace("%d", days).replace("%h", hours % 24);
        if (hours) return text.hours.replace("%h", hours).replace("%m", two(minutes % 60));
        return `${minutes}:${two(seconds % 60)}`;
    };

    const updateClocks = () => {
        let isDue = false;
        for (const clock of root.querySelectorAll("[data-due]")) {
            const left = Date.parse(clock.dataset.due) - now();
            const label = countdown(left);
            if (clock.textContent !== label) {
                clock.textContent = label;
                isDue ||= left <= 0;
            }
            clock.classList.toggle("dashboard-soon", left < 60000);
        }
        if (isDue) schedule(AFTER_DUE);
    };

    const identity = (element) => element.getAttribute("href") || element.getAttribute("aria-label") || element.textContent;

    const replace = (old, next) => {
        const focused = old.contains(document.activeElement) ? document.activeElement : null;
        for (const details of old.querySelectorAll("details[open]")) {
            const same = next.querySelector(`[data-key="${details.dataset.key}"]`);
            if (same) same.open = true;
        }
        old.replaceWith(next);
        if (!focused) return;
        const same = [...next.querySelectorAll(focused.tagName)].find((element) => identity(element) === identity(focused));
        (same || next.querySelector("h2"))?.focus({ preventScroll: true });
    };

    const announce = () => {
        const latest = root.querySelector("[data-published]");
        if (latest && newest !== null && latest.dataset.published !== newest) {
            document.getElementById("dashboard-live-region").textContent = `${text.live} ${latest.querySelector("a").textContent}`;
        }
        newest = latest ? latest.dataset.published : "";
    };

    // The CSRF token of a form differs in every response.
    const markup = (section) => section.outerHTML.replace(/<input[^>]*csrfmiddlewaretoken[^>]*>/g, "");
    const remember = (page) => sections(page).forEach((section) => served.set(section.id, markup(section)));

    const show = (page) => {
        const here = new Map(sections(root).map((section) => [section.id, section]));
        const same = sections(page).map((section) => section.id).join() === [...here.keys()].join();
        const before = new Map(served);
        served.clear();
        remember(page);
        if (!same) {
            replace(root.querySelector(".dashboard"), page);
        } else {
            for (const section of sections(page)) {
                if (markup(section) !== before.get(section.id)) replace(here.get(section.id), section);
            }
        }
    };

    const refresh = async () => {
        const response = await fetch(text.source, { cache: "no-store", redirect: "error" });
        if (!response.ok) throw new Error(response.status);
        const template = document.createElement("template");
        template.innerHTML = await response.text();
        setClock(template.content.firstElementChild);
        show(template.content.firstElementChild);
        updateClocks();
        announce();
    };

    const setOffline = (isOffline) => {
        const line = document.getElementById("dashboard-offline");
        line.hidden = !isOffline;
        line.textContent = isOffline ? text.lost : "";
    };

    const run = async () => {
        clearTimeout(timer);
        if (document.hidden) return;
        try {
            await refresh();
            setOffline(false);
        } catch {
            setOffline(true);
        }
        schedule(INTERVAL);
    };

    const schedule = (pause) => {
        clearTimeout(timer);
        timer = setTimeout(run, pause);
    };

    setClock(root.querySelector(".dashboard"));
    remember(root);
    updateClocks();
    announce();
    setInterval(updateClocks, 250);
    document.addEventListener("visibilitychange", run);
    schedule(INTERVAL);
})();
