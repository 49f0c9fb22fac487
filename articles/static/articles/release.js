// Counts down to a release on the server clock and reloads the page once, just after it was due.
(() => {
    const AFTER_DUE = 1500;
    const language = document.documentElement.lang || "en";
    const loaded = Date.now();

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

    for (const clock of document.querySelectorAll("[data-due]")) {
        const offset = Number(clock.dataset.now) * 1000 - loaded;
        const due = Date.parse(clock.dataset.due);
        if (due <= loaded + offset) continue;
        const count = () => {
            const left = due - Date.now() - offset;
            if (left > 0) {
                clock.textContent = clock.dataset.text.replace("%s", span(Math.ceil(left / 1000)));
                setTimeout(count, left % 1000 || 1000);
            } else {
                clock.textContent = "";
                setTimeout(() => location.reload(), AFTER_DUE);
            }
        };
        count();
    }
})();
