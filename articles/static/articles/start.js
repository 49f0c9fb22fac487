// Keeps the start page true: counts down on the server's clock, and asks for the page's inside every few seconds and
// when something is due. Replaces only the parts that changed, and leaves focus, scroll and open tables as they are.
(() => {
    const INTERVAL = 5000;
    const AFTER_DUE = 400; // a worker notes within milliseconds; the page then asks once
    const root = document.getElementById("start");
    const text = root.dataset;
    const served = new Map();
    let offset = 0;
    let timer = null;
    let newest = null;

    const setClock = (page) => { offset = Number(page.dataset.now) - Date.now(); };
    const now = () => Date.now() + offset;
    const parts = (page) => [...page.querySelectorAll("[data-part]")];
    const two = (number) => String(number).padStart(2, "0");

    const spoken = (left) => {
        const seconds = Math.ceil(left / 1000);
        const [days, hours, minutes] = [Math.floor(seconds / 86400), Math.floor(seconds / 3600), Math.floor(seconds / 60)];
        if (seconds <= 0) return text.due;
        if (days) return text.days.replace("%d", days).replace("%h", hours % 24);
        if (hours) return text.hours.replace("%h", hours).replace("%m", two(minutes % 60));
        return `${minutes}:${two(seconds % 60)}`;
    };

    const count = () => {
        let isDue = false;
        for (const clock of root.querySelectorAll("[data-due]")) {
            const left = Date.parse(clock.dataset.due) - now();
            const words = spoken(left);
            if (clock.textContent !== words) {
                clock.textContent = words;
                isDue ||= left <= 0;
            }
            clock.classList.toggle("start-soon", left < 60000);
        }
        if (isDue) plan(AFTER_DUE);
    };

    const likeness = (element) => element.getAttribute("href") || element.getAttribute("aria-label") || element.textContent;

    const replace = (old, fresh) => {
        const focused = old.contains(document.activeElement) ? document.activeElement : null;
        for (const details of old.querySelectorAll("details[open]")) {
            const same = fresh.querySelector(`[data-key="${details.dataset.key}"]`);
            if (same) same.open = true;
        }
        old.replaceWith(fresh);
        if (!focused) return;
        const same = [...fresh.querySelectorAll(focused.tagName)].find((element) => likeness(element) === likeness(focused));
        (same || fresh.querySelector("h2"))?.focus({ preventScroll: true });
    };

    const announce = () => {
        const out = root.querySelector("[data-out]");
        if (out && newest !== null && out.dataset.out !== newest) {
            document.getElementById("start-news").textContent = `${text.live} ${out.querySelector("a").textContent}`;
        }
        newest = out ? out.dataset.out : "";
    };

    // A form's token is masked anew each time.
    const markup = (part) => part.outerHTML.replace(/<input[^>]*csrfmiddlewaretoken[^>]*>/g, "");
    const remember = (page) => parts(page).forEach((part) => served.set(part.id, markup(part)));

    const show = (page) => {
        const here = new Map(parts(root).map((part) => [part.id, part]));
        const same = parts(page).map((part) => part.id).join() === [...here.keys()].join();
        const before = new Map(served);
        served.clear();
        remember(page);
        if (!same) {
            replace(root.querySelector(".start"), page);
        } else {
            for (const part of parts(page)) {
                if (markup(part) !== before.get(part.id)) replace(here.get(part.id), part);
            }
        }
    };

    const look = async () => {
        const answer = await fetch(text.source, { cache: "no-store", redirect: "error" });
        if (!answer.ok) throw new Error(answer.status);
        const inside = document.createElement("template");
        inside.innerHTML = await answer.text();
        setClock(inside.content.firstElementChild);
        show(inside.content.firstElementChild);
        count();
        announce();
    };

    const lose = (isLost) => {
        const line = document.getElementById("start-lost");
        line.hidden = !isLost;
        line.textContent = isLost ? text.lost : "";
    };

    const run = async () => {
        clearTimeout(timer);
        if (document.hidden) return;
        try {
            await look();
            lose(false);
        } catch {
            lose(true);
        }
        plan(INTERVAL);
    };

    const plan = (pause) => {
        clearTimeout(timer);
        timer = setTimeout(run, pause);
    };

    setClock(root.querySelector(".start"));
    remember(root);
    count();
    announce();
    setInterval(count, 250);
    document.addEventListener("visibilitychange", run);
    plan(INTERVAL);
})();
