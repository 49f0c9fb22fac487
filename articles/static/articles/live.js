// Refreshes the dashboard or the board every few seconds and when an item is due; counts down on the server clock.
// Replaces only changed sections, and preserves focus, scroll and open details. The content may have a version, which
// the next request repeats: the response is 204 if nothing has changed.
(() => {
    const INTERVAL = 5000;
    const TIMEOUT = 30000; // of a request
    const AFTER_DUE = 400; // workers publish within milliseconds
    const root = document.querySelector("[data-source]");
    const region = document.querySelector("[data-live-region]");
    const line = document.querySelector("[data-live-offline]");
    const text = root.dataset;
    const served = new Map();
    let offset = 0;
    let timer = null;
    let newest = null;
    let [asked, answered] = [0, 0]; // numbers of the last request, and of the last one that was answered
    let version = "";
    let isDueNow = false; // the clock changes what is shown, too

    const setClock = (page) => {
        offset = Number(page.dataset.now) - Date.now();
        version = page.dataset.version;
    };
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
            clock.classList.toggle("live-soon", left < 60000);
        }
        if (!isDue) return;
        isDueNow = true;
        schedule(AFTER_DUE);
    };

    const identity = (element) => {
        const name = element.getAttribute("href") || element.getAttribute("aria-label") || element.textContent;
        return `${element.closest("[data-key]")?.dataset.key} ${name}`;
    };

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
            region.textContent = `${text.live} ${latest.querySelector("a").textContent}`;
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
            replace(root.firstElementChild, page);
        } else {
            for (const section of sections(page)) {
                if (markup(section) !== before.get(section.id)) replace(here.get(section.id), section);
            }
        }
    };

    const source = () => {
        const address = new URL(text.source, location.href);
        if (version && !isDueNow) address.searchParams.set("seen", version);
        return address;
    };

    const refresh = async (mine) => {
        const address = source();
        isDueNow = false;
        // A redirect leads to the log-in page: as an error, the page says that the connection is lost.
        const response = await fetch(address, { cache: "no-store", redirect: "error", signal: AbortSignal.timeout(TIMEOUT) });
        if (!response.ok) throw new Error(response.status);
        if (response.status === 204) return (answered = Math.max(answered, mine));
        const template = document.createElement("template");
        template.innerHTML = await response.text();
        await released();
        if (mine < answered) return; // answers may overtake each other
        answered = mine;
        setClock(template.content.firstElementChild);
        show(template.content.firstElementChild);
        updateClocks();
        announce();
    };

    const released = () =>
        new Promise((done) => {
            const check = () => (window.isPressed() ? setTimeout(check, 50) : done());
            check();
        });

    const setOffline = (isOffline) => {
        line.hidden = !isOffline;
        line.textContent = isOffline ? text.lost : "";
    };

    const run = async () => {
        clearTimeout(timer);
        // A page in the background polls nothing; it refreshes at once when it is seen again.
        if (document.hidden) return;
        const mine = ++asked;
        try {
            await refresh(mine);
            setOffline(false);
        } catch {
            if (mine > answered) {
                setOffline(true);
                isDueNow = true; // what the clock has changed may not have come
            }
        }
        schedule(INTERVAL);
    };

    const schedule = (pause) => {
        clearTimeout(timer);
        timer = setTimeout(run, pause);
    };

    setClock(root.firstElementChild);
    remember(root);
    updateClocks();
    announce();
    setInterval(updateClocks, 250);
    document.addEventListener("visibilitychange", run);
    schedule(INTERVAL);
})();
