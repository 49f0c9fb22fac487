// Rescheduling calendar entries by mouse, pen and touch (handle) and by keyboard (M, arrows, Enter, Escape). The server
// confirms each change before it is shown; then the days are fetched again, by follow.js. Wall times are stored as dates
// in UTC, so the time zone of this device does not matter.
(() => {
    const MINUTE = 60_000;
    const DAY = 24 * 60 * MINUTE;
    const STEP = 15 * MINUTE;
    const EDGE = 48; // pixels from the window's edge within which dragging scrolls

    const root = document.getElementById("calendar");
    const said = root.querySelector("[data-said]");
    const ghost = document.querySelector("[data-ghost]");
    const question = document.querySelector("[data-question]");
    const texts = document.querySelector("[data-texts]").dataset;
    const language = document.documentElement.lang;
    const parts = { weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone: "UTC" };
    const [toMinute, toSecond] = [{}, { second: "2-digit" }].map((more) => new Intl.DateTimeFormat(language, { ...parts, ...more }));
    const timeText = (moment) => (moment % MINUTE ? toSecond : toMinute).format(moment); // what is stored

    let picked = null; // { key, seen, title, from, to } of the entry that is being rescheduled
    let pointer = null; // { id, x, y, entry, isDragging } of the pointer that is down

    const read = (wall) => Date.parse(`${wall}Z`);
    const write = (moment) => new Date(moment).toISOString().slice(0, 19);
    const fill = (text, values) => text.replace(/\{(\w+)\}/g, (_all, name) => values[name]);
    const slot = (wall) => root.querySelector(`[data-wall="${wall}"]`);
    const entryOf = (key) => root.querySelector(`[data-key="${key}"]`);

    const say = (text, kind = "") => {
        said.className = kind;
        said.textContent = text;
    };

    // Select, move, drop

    const pick = (entry) => {
        if (!entry.dataset.seen) return say(texts.fixed, "refused");
        const from = read(entry.dataset.wallTime);
        const title = entry.querySelector(".title").textContent;
        picked = { key: entry.dataset.key, seen: entry.dataset.seen, title, from, to: from };
        entry.classList.add("picked");
        root.classList.add("moving");
        say(fill(texts.picked, { title, time: timeText(from) }));
    };

    const letGo = () => {
        root.classList.remove("moving");
        root.querySelectorAll(".picked, .aimed").forEach((part) => part.classList.remove("picked", "aimed"));
        ghost.hidden = true;
        const what = picked;
        picked = null;
        return what;
    };

    const giveUp = () => {
        const what = letGo();
        if (what) say(fill(texts.left, what));
    };

    const slotAt = (moment) => {
        const wall = write(moment);
        return slot(`${wall.slice(0, 13)}:00`) ?? slot(wall.slice(0, 10));
    };

    const aim = (moment, slot = slotAt(moment)) => {
        picked.to = moment;
        root.querySelectorAll(".aimed").forEach((part) => part.classList.remove("aimed"));
        slot?.classList.add("aimed");
        return `${timeText(moment)} · ${picked.title}`;
    };

    const drop = async () => {
        const { key, seen, from, to, title } = letGo();
        if (to === from) return say(fill(texts.left, { title }));
        await ask({ key, seen, at: write(to), at_zone: root.querySelector("[data-shown-zone]").value });
    };

    // Server requests

    const ask = async (fields) => {
        const body = new FormData(question.querySelector("form"));
        Object.entries(fields).forEach(([name, value]) => body.set(name, value));
        let answer;
        try {
            const response = await fetch(root.dataset.reschedule, { method: "POST", body, headers: { Accept: "application/json" } });
            answer = await response.json();
        } catch {
            return say(texts.lost, "refused");
        }
        if (answer.choices.length) return choose(answer, fields);
        await refresh(fields.key);
        say(answer.message, answer.done ? "done" : "refused");
    };

    const choose = (answer, fields) => {
        say(answer.message);
        question.querySelector("p").textContent = answer.message;
        const buttons = answer.choices.map(({ label, name, value }) => {
            const button = Object.assign(document.createElement("button"), { className: "button", textContent: label, type: "button" });
            button.addEventListener("click", () => {
                question.close("chosen");
                ask({ ...fields, [name]: value });
            });
            return button;
        });
        question.querySelector("[data-answers]").replaceChildren(...buttons);
        question.returnValue = "";
        question.showModal();
    };

    question.addEventListener("close", () => {
        if (question.returnValue !== "chosen") say(question.querySelector("p").textContent, "refused");
    });

    // Resolves when the days are as on the server, unless there is no connection.
    const refresh = async (key) => {
        await new Promise((resolve) => {
            document.addEventListener("follow:looked", resolve, { once: true });
            document.dispatchEvent(new Event("follow:look"));
        });
        if (document.activeElement === document.body) entryOf(key)?.querySelector(".entry-link").focus({ preventScroll: true });
    };

    // By keyboard

    const steps = () =>
        root.querySelector(".month")
            ? { ArrowLeft: -DAY, ArrowRight: DAY, ArrowUp: -7 * DAY, ArrowDown: 7 * DAY }
            : { ArrowLeft: -DAY, ArrowRight: DAY, ArrowUp: -STEP, ArrowDown: STEP };

    const pressed = (event) => {
        if (question.open || event.ctrlKey || event.metaKey || event.altKey) return false;
        const entry = event.target.closest?.(".entry");
        if (!picked) return event.key.toLowerCase() === "m" && entry ? (pick(entry), true) : false;
        if (event.key === "Escape") return giveUp(), true;
        if (event.key === "Enter") return drop(), true;
        const step = steps()[event.key];
        if (step === undefined) return false;
        say(aim(picked.to + step));
        return true;
    };

    document.addEventListener("keydown", (event) => pressed(event) && event.preventDefault());

    // By pointer: a mouse drags an entry anywhere, touch needs the handle

    const aimAt = (event) => {
        const slot = document.elementFromPoint(event.clientX, event.clientY)?.closest("[data-wall]");
        if (!slot) return;
        const box = slot.getBoundingClientRect();
        const quarter = Math.min(3, Math.max(0, Math.floor((4 * (event.clientY - box.top)) / box.height)));
        const isDay = slot.dataset.wall.length === 10;
        const moment = isDay ? read(`${slot.dataset.wall}T00:00:00`) + (picked.from % DAY) : read(`${slot.dataset.wall}:00`) + quarter * STEP;
        ghost.textContent = aim(moment, slot);
    };

    const follow = (event) => {
        ghost.hidden = false;
        ghost.style.left = `${Math.min(event.clientX + 12, innerWidth - ghost.offsetWidth - 4)}px`;
        ghost.style.top = `${Math.max(event.clientY - ghost.offsetHeight - 8, 4)}px`;
        if (event.clientY < EDGE) scrollBy(0, -EDGE / 4);
        if (event.clientY > innerHeight - EDGE) scrollBy(0, EDGE / 4);
    };

    document.addEventListener("pointerdown", (event) => {
        const entry = event.target.closest?.("#calendar .entry");
        const isOnGrip = event.target.closest?.(".grip");
        if (!entry || event.button || picked || (event.pointerType !== "mouse" && !isOnGrip)) return;
        pointer = { id: event.pointerId, x: event.clientX, y: event.clientY, entry, isDragging: false };
    });

    document.addEventListener("pointermove", (event) => {
        if (event.pointerId !== pointer?.id) return;
        if (!pointer.isDragging && Math.hypot(event.clientX - pointer.x, event.clientY - pointer.y) < 6) return;
        if (!pointer.isDragging) {
            pointer.isDragging = true;
            pick(pointer.entry);
        }
        if (!picked) return;
        aimAt(event);
        follow(event);
    });

    // A drag that ends where it began would open the entry's link.
    const ignoreClick = () => {
        const ignore = (click) => click.preventDefault();
        addEventListener("click", ignore, { capture: true, once: true });
        setTimeout(() => removeEventListener("click", ignore, true));
    };

    const released = (event, isDrop) => {
        if (event.pointerId !== pointer?.id) return;
        const { isDragging } = pointer;
        pointer = null;
        if (!isDragging) return;
        ignoreClick();
        if (!picked) return;
        if (isDrop && document.elementFromPoint(event.clientX, event.clientY)?.closest("[data-wall]")) drop();
        else giveUp();
    };

    document.addEventListener("pointerup", (event) => released(event, true));
    document.addEventListener("pointercancel", (event) => released(event, false));
    document.addEventListener("contextmenu", (event) => pointer?.isDragging && event.preventDefault());
    document.addEventListener("dragstart", (event) => event.target.closest?.("#calendar .entry") && event.preventDefault());

    // A page opens at the present time; when one returns to it, the browser restores its place

    const openAtNow = () => {
        const now = document.getElementById("now") ?? root.querySelector(".month .today");
        const isVisit = performance.getEntriesByType("navigation")[0]?.type === "navigate";
        if (!now || location.hash || !isVisit) return;
        const isGrid = getComputedStyle(root.querySelector(".grid")).display === "grid";
        now.scrollIntoView({ block: isGrid && now.id !== "now" ? "nearest" : "start", behavior: "instant" });
    };

    openAtNow();

    // Filters, and changes by the clock and other users

    document.addEventListener("change", (event) => event.target.closest(".filters")?.requestSubmit());
    document.addEventListener("follow:hold", (event) => (picked || pointer || question.open) && event.preventDefault());
})();
