// Counts down to a release, by the time that was left when the page or its state came from the server.
(() => {
    const language = document.documentElement.lang || "en";
    let timer = null;

    const span = (seconds) => {
        const units = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];
        const parts = [];
        for (const [unit, size] of units) {
            const number = Math.floor(seconds / size);
            seconds -= number * size;
            if (number || parts.length || unit === "second") {
                parts.push(new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay: "short" }).format(number));
            }
        }
        return parts.slice(0, 2).join(" ");
    };

    const count = (clock, due) => {
        clearTimeout(timer);
        const left = due - performance.now();
        clock.textContent = left > 0 ? clock.dataset.text.replace("%s", span(Math.ceil(left / 1000))) : "";
        if (left > 0) timer = setTimeout(count, left % 1000 || 1000, clock, due);
    };

    const start = (since) => {
        clearTimeout(timer);
        const clock = document.querySelector("[data-left]");
        if (clock) count(clock, since + Number(clock.dataset.left));
    };

    start(performance.getEntriesByType("navigation")[0]?.responseStart || 0);
    document.addEventListener("follow:shown", ({ detail }) => detail.changed.includes("state") && start(detail.since));
})();
