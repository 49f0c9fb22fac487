// Does a step with many articles chunk after chunk while the page is open, and shows how far it got.
(() => {
    const root = document.getElementById("bulk-action");
    const PAUSE = 150; // milliseconds between two chunks, for others who write
    const AFTER_ERROR = 2000;
    const LABEL = ".desk-progress";

    const isFinished = () => root.firstElementChild.hasAttribute("data-finished");

    const step = async () => {
        let pause = PAUSE;
        try {
            const headers = { "X-CSRFToken": root.dataset.token, "X-Requested-With": "fetch" };
            const answer = await fetch(root.dataset.address, { method: "POST", headers, redirect: "error" });
            if (!answer.ok) throw new Error(answer.status);
            root.innerHTML = await answer.text();
        } catch {
            pause = AFTER_ERROR;
        }
        if (isFinished()) {
            document.getElementById("bulk-action-news").textContent = root.querySelector(LABEL).textContent;
        } else {
            setTimeout(step, pause);
        }
    };

    if (!isFinished()) step();
})();
