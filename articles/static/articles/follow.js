// Keeps an open page true: at the next change, and when another user has changed something, it fetches the parts of the
// page (elements with `data-part`) and replaces those that differ. articles/desk/following.py answers. What was typed, the
// focus and open menus stay. Other scripts take part by events of the document: they send `follow:look` (with the
// `version` of which they have heard, if any), cancel `follow:hold` while nothing may be replaced, and hear `follow:shown`
// after a replacement and `follow:looked` after each answer.
(() => {
    const hiddenRegion = () => {
        const region = document.createElement("p");
        region.setAttribute("role", "status");
        Object.assign(region.style, { position: "absolute", width: "1px", height: "1px", overflow: "hidden", clipPath: "inset(50%)" });
        return document.body.appendChild(region);
    };

    const HOUR = 3_600_000; // timers end within days; a page that is open for longer asks once an hour
    const HELD = 500;
    const TIMEOUT = 30_000; // of a request
    const RETRY = [2_000, 60_000]; // milliseconds, first and longest, while the server does not answer
    const page = document.getElementById("follow");
    let shown = JSON.parse(page.textContent);
    const heard = new Set(Object.keys(shown.happened)); // what has happened before is not announced
    const markups = new Map(); // of the parts, as they came from the server
    let deadline = Infinity; // of the next change, on the clock of `performance`
    let timer = null;
    let isAsking = false;
    let failures = 0;
    let isLate = false; // the answer came while nothing may be replaced, or there is news since it was asked for

    const parts = (root) => [...root.querySelectorAll("[data-part]")];
    const markup = (part) => part.outerHTML.replace(/<input[^>]*csrfmiddlewaretoken[^>]*>/g, "");
    const region = document.querySelector("[data-said]") ?? hiddenRegion(); // one live region a page: two interrupt each other

    // A script has to hold on while a user is within something.
    const isHeld = () => window.isPressed() || !document.dispatchEvent(new CustomEvent("follow:hold", { cancelable: true }));

    const isChanged = (field) => {
        if (!field.options) return field.value !== field.defaultValue || field.checked !== field.defaultChecked;
        const chosen = [...field.options].filter((option) => option.defaultSelected);
        return field.value !== (chosen[0] || field.options[0])?.value;
    };
    const typed = (part, selector) => [...part.querySelectorAll(selector)].filter((field) => !field.closest("[data-keep]")); // what is kept stays anyway
    const isTyped = (part) => typed(part, ".errorlist").length > 0 || typed(part, "input, textarea, select").some(isChanged);

    const identity = (element) => {
        const name = element.getAttribute("href") || element.getAttribute("aria-label") || element.name || element.textContent;
        return [element.tagName, element.closest("[data-key]")?.dataset.key, name.trim()].join("\n");
    };
    const same = (root, wanted, selector) => [...root.querySelectorAll(selector)].find((one) => identity(one) === wanted);

    const replace = (part, next) => {
        const focused = part.contains(document.activeElement) ? document.activeElement : null;
        for (const kept of part.querySelectorAll("[data-keep]")) next.querySelector(`#${kept.id}`)?.replaceWith(kept);
        for (const opened of part.querySelectorAll("details[open] > summary")) {
            const summary = same(next, identity(opened), "details > summary");
            if (summary) summary.parentElement.open = true;
        }
        const wanted = focused && identity(focused);
        for (const { name, value } of next.attributes) part.setAttribute(name, value);
        part.replaceChildren(...next.childNodes);
        if (!focused || document.activeElement === focused) return;
        if (part !== focused) part.tabIndex = -1;
        const place = focused.isConnected ? focused : same(part, wanted, focused.tagName) || part;
        place.focus({ preventScroll: true });
    };

    const announce = (happened) => {
        const fresh = Object.entries(happened).filter(([key, sentence]) => sentence && !heard.has(key));
        Object.keys(happened).forEach((key) => heard.add(key));
        if (fresh.length) region.textContent = fresh.map(([, sentence]) => sentence).join(" ");
    };

    const show = (fresh, now) => {
        const changed = [];
        for (const next of parts(fresh)) {
            const name = next.dataset.part;
            const part = parts(document).find((one) => one.dataset.part === name);
            const found = markup(next);
            if (!part || markups.get(name) === found || isTyped(part)) continue;
            markups.set(name, found);
            replace(part, next);
            changed.push(name);
        }
        receive(JSON.parse(fresh.getElementById("follow").textContent), now);
        announce(shown.happened);
        document.dispatchEvent(new CustomEvent("follow:shown", { detail: { changed, since: now } }));
    };

    const receive = (answer, now) => {
        shown = answer;
        deadline = answer.next === null ? Infinity : now + answer.next;
    };

    const ask = async () => {
        const address = new URL(shown.url, location.href);
        address.searchParams.set("follow", shown.version);
        const response = await fetch(address, { cache: "no-store", redirect: "error", signal: AbortSignal.timeout(TIMEOUT) });
        if (!response.ok) throw new Error(response.status);
        const now = performance.now();
        if (response.status === 204) {
            const next = response.headers.get("Follow-Next");
            return receive({ ...shown, next: next ? Number(next) : null }, now);
        }
        const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
        isLate ||= isHeld();
        if (!isLate) show(fresh, now);
        return null;
    };

    const schedule = (wait) => {
        clearTimeout(timer);
        timer = setTimeout(look, wait);
    };

    // Offline or signed out, it tries again; the page says so elsewhere, where that matters.
    const look = async () => {
        clearTimeout(timer);
        if (document.hidden) return null; // it looks when it is shown
        if (isAsking || isHeld()) {
            isLate = true;
            return isAsking || schedule(HELD);
        }
        [isAsking, isLate] = [true, false];
        await ask().then(() => (failures = 0), () => (failures += 1));
        isAsking = false;
        if (isLate) return isHeld() ? schedule(HELD) : look();
        document.dispatchEvent(new Event("follow:looked"));
        return schedule(failures ? Math.min(RETRY[0] * 2 ** (failures - 1), RETRY[1]) : left());
    };

    const left = () => Math.min(Math.max(deadline - performance.now(), 0), shown.poll || HOUR);

    for (const part of parts(document)) markups.set(part.dataset.part, markup(part));
    document.addEventListener("follow:look", ({ detail }) => (detail?.version === shown.version ? null : look()));
    document.addEventListener("visibilitychange", look);
    for (const kind of ["online", "focus"]) addEventListener(kind, look);
    addEventListener("pageshow", (event) => event.persisted && look());

    // What the page says is as old as its first byte.
    receive(shown, performance.getEntriesByType("navigation")[0]?.responseStart || 0);
    schedule(left());
})();
