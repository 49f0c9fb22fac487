// "Just in": the newest headlines that the page does not show already. They are asked for each second while the page is
// looked at; the answer is "304 Not Modified", the same for all readers, as long as nothing has changed.
(() => {
    const INTERVAL = 1000; // milliseconds
    const LONGEST = 30000;
    const AT_FIRST = 6;
    const strip = document.querySelector("[data-latest]");
    const announcer = strip.querySelector("[role=status]");
    let version = null;
    let old = null; // ids of the first answer: what comes later is news
    let told = null; // ids that were announced, or were there from the start
    let wait = INTERVAL;
    let timer = null;

    const idsOf = (elements) => new Set(elements.map((element) => element.dataset.id));

    const isNewer = (one, other) => (one.dataset.time - other.dataset.time || one.dataset.id - other.dataset.id) > 0;

    // What belongs among the newest and is not there was unpublished. Its room stays, so that nothing jumps.
    const takeAway = (items, areAll) => {
        const ids = idsOf(items);
        const isMissing = (card) => !ids.has(card.dataset.id) && (areAll || isNewer(card, items.at(-1)));
        document.querySelectorAll("main [data-time]").forEach((card) => card.classList.toggle("gone", isMissing(card)));
    };

    const announce = (items) => {
        const news = items.filter((item) => !told.has(item.dataset.id));
        news.forEach((item) => told.add(item.dataset.id));
        if (!news.length) return;
        news.forEach((item) => item.classList.add("fresh"));
        const titles = news.slice(0, 3).map((item) => item.querySelector("a").textContent);
        announcer.textContent = `${strip.dataset.announced} ${titles.join(" · ")}`;
    };

    const show = (html) => {
        const list = new DOMParser().parseFromString(html, "text/html").querySelector("ol");
        const items = [...list.children];
        old ??= idsOf(items);
        told ??= new Set(old);
        takeAway(items, "whole" in list.dataset);
        const shown = idsOf([...document.querySelectorAll("main [data-id]")]);
        const isWanted = (item, place) => !shown.has(item.dataset.id) && (place < AT_FIRST || !old.has(item.dataset.id));
        items.filter((item, place) => !isWanted(item, place)).forEach((item) => item.remove());
        strip.classList.toggle("busy", list.children.length > 0);
        strip.querySelector("ol").replaceWith(list);
        announce([...list.children]);
    };

    const look = async () => {
        const headers = version ? { "If-None-Match": version } : {};
        const answer = await fetch(strip.dataset.latest, { headers, cache: "no-store" });
        if (answer.status === 304) return;
        if (!answer.ok) throw new Error(answer.status);
        show(await answer.text());
        version = answer.headers.get("ETag");
    };

    const run = async () => {
        clearTimeout(timer);
        if (document.hidden) return;
        try {
            await look();
            wait = INTERVAL;
        } catch {
            wait = Math.min(wait * 2, LONGEST);
        }
        clearTimeout(timer);
        timer = setTimeout(run, wait);
    };

    document.addEventListener("visibilitychange", run);
    run();
})();
