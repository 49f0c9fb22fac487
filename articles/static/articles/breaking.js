// The breaking alert of an open page: shown when its time comes, gone when it ends, closed for good by its button.
// Screen readers hear of a new one once: it comes into a live region, which is not touched while the alert stays.
(() => {
    const CLOSED = "closed-alerts";
    const REMEMBERED = 20;
    const place = document.querySelector(".breaking");
    if (!place) return;

    // The last ones that were closed: when a newer one ends, an older one may be shown again.
    const closed = () => {
        try {
            const ids = JSON.parse(localStorage.getItem(CLOSED));
            return Array.isArray(ids) ? ids : [];
        } catch {
            return []; // A browser that stores nothing shows it again on the next page.
        }
    };

    const isClosed = (alert) => closed().includes(alert.dataset.alert);

    const close = (alert) => {
        try {
            const ids = [...closed(), alert.dataset.alert].slice(-REMEMBERED);
            localStorage.setItem(CLOSED, JSON.stringify(ids));
        } catch {
            // As above.
        }
        alert.remove();
    };

    const offer = (alert) => {
        if (isClosed(alert)) return alert.remove();
        const button = alert.querySelector("button");
        button.hidden = false;
        button.addEventListener("click", () => close(alert));
    };

    // `latest` is what just_in.js has received: the headlines, and the alert that is shown now.
    document.addEventListener("latest", ({ detail: latest }) => {
        const found = latest.querySelector("[data-alert]");
        const wanted = found && found.dataset.about !== place.dataset.article && !isClosed(found) ? found : null;
        const shown = place.querySelector("[data-alert]");
        if (wanted?.dataset.alert === shown?.dataset.alert && wanted?.textContent === shown?.textContent) return;
        place.replaceChildren(...(wanted ? [wanted] : []));
        if (wanted) offer(wanted);
    });

    place.querySelectorAll("[data-alert]").forEach(offer);
})();
