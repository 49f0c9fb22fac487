// "Just in": the latest headlines that the page does not show yet. Polls once a second while the page is visible; the
// response is "304 Not Modified", shared by all readers, until something changes.
(() => {
    const INTERVAL = 1000; // milliseconds
    const MAX_INTERVAL = 30000;
    const TIMEOUT = 30000; // of a request
    const INITIAL_SIZE = 6;
    const strip = document.querySelector("[data-latest]");
    const announcer = strip.querySelector("[role=status]");
    let version = null;
    let old = null; // ids of the first response; later ones are new
    let announced = null; // ids already announced or present at load
    let wait = INTERVAL;
    let timer = null;
    let [asked, answered] = [0, 0]; // numbers of the last request, and of the one whose answer is shown

    const idsOf = (elements) => new Set(elements.map((element) => element.dataset.id));

    const isNewer = (one, other) => (one.dataset.time - other.dataset.time || one.dataset.id - other.dataset.id) > 0;

    // Hides unpublished articles; their space stays so that the layout does not jump.
    const hideUnpublished = (items, areAll) => {
        const ids = idsOf(items);
        const isMissing = (card) => !ids.has(card.dataset.id) && (areAll || isNewer(card, items.at(-1)));
        document.querySelectorAll("main [data-time]").forEach((card) => card.classList.toggle("gone", isMissing(card)));
    };

    const announce = (items) => {
        const news = items.filter((item) => !announced.has(item.dataset.id));
        news.forEach((item) => announced.add(item.dataset.id));
        if (!news.length) return;
        news.forEach((item) => item.classList.add("fresh"));
        const titles = news.slice(0, 3).map((item) => item.querySelector("a").textContent);
        announcer.textContent = `${strip.dataset.announced} ${titles.join(" · ")}`;
    };

    const show = (html) => {
        const latest = new DOMParser().parseFromString(html, "text/html");
        const list = latest.querySelector("ol");
        const items = [...list.children];
        old ??= idsOf(items);
        announced ??= new Set(old);
        hideUnpublished(items, "whole" in list.dataset);
        const shown = idsOf([...document.querySelectorAll("main [data-id]")]);
        const isWanted = (item, index) => !shown.has(item.dataset.id) && (index < INITIAL_SIZE || !old.has(item.dataset.id));
        items.filter((item, index) => !isWanted(item, index)).forEach((item) => item.remove());
        strip.classList.toggle("busy", list.children.length > 0);
        strip.querySelector("ol").replaceWith(list);
        announce([...list.children]);
        document.dispatchEvent(new CustomEvent("latest", { detail: latest }));
    };

    const poll = async () => {
        const mine = ++asked;
        const headers = version ? { "If-None-Match": version } : {};
        const response = await fetch(strip.dataset.latest, { headers, cache: "no-store", signal: AbortSignal.timeout(TIMEOUT) });
        if (response.status === 304) return;
        if (!response.ok) throw new Error(response.status);
        const html = await response.text();
        if (mine < answered) return; // answers may overtake each other
        if (window.isPressed()) return; // the next answer says it, too
        answered = mine;
        show(html);
        version = response.headers.get("ETag");
    };

    const run = async () => {
        clearTimeout(timer);
        if (document.hidden) return;
        try {
            await poll();
            wait = INTERVAL;
        } catch {
            wait = Math.min(wait * 2, MAX_INTERVAL);
        }
        clearTimeout(timer);
        timer = setTimeout(run, wait);
    };

    document.addEventListener("visibilitychange", run);
    run();
})();
