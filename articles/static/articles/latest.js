// Shows a newly live article on an open page by itself: asks for the list every second while the page is looked at.
// The answer is "304 Not Modified" and costs the server one small query as long as nothing has changed.
(() => {
    const INTERVAL = 1000;
    const LONGEST = 30000;
    const list = document.querySelector("[data-latest]");
    const announcer = document.querySelector("[data-announcer]");
    let version = null;
    let wait = INTERVAL;
    let timer = null;

    const known = () => new Set([...list.querySelectorAll("[data-id]")].map((card) => card.dataset.id));

    const show = (html) => {
        const before = known();
        list.innerHTML = html;
        const fresh = [...list.querySelectorAll("[data-id]")].filter((card) => !before.has(card.dataset.id));
        if (!fresh.length) return;
        fresh.forEach((card) => card.classList.add("fresh"));
        announcer.textContent = `${announcer.dataset.text} ${fresh[0].querySelector("h2").textContent}`;
    };

    const look = async () => {
        const headers = version ? { "If-None-Match": version } : {};
        const answer = await fetch(list.dataset.latest, { headers, cache: "no-store" });
        if (answer.status === 304) return;
        if (!answer.ok) throw new Error(answer.status);
        version = answer.headers.get("ETag");
        show(await answer.text());
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
