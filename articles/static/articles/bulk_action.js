// Advances a bulk action in chunks while the page is open, and shows its progress.
(() => {
    const root = document.getElementById("bulk-action");
    const PAUSE = 150; // milliseconds between chunks, to let other writers through
    const AFTER_ERROR = 2000;
    const TIMEOUT = 30000; // of a request
    const LABEL = ".desk-progress";

    const isFinished = () => root.firstElementChild.hasAttribute("data-finished");

    const advance = async () => {
        let pause = PAUSE;
        try {
            const headers = { "X-CSRFToken": root.dataset.token, "X-Requested-With": "fetch" };
            const response = await fetch(root.dataset.address, { method: "POST", headers, redirect: "error", signal: AbortSignal.timeout(TIMEOUT) });
            if (!response.ok) throw new Error(response.status);
            root.innerHTML = await response.text();
        } catch {
            pause = AFTER_ERROR;
        }
        if (isFinished()) {
            document.getElementById("bulk-action-live-region").textContent = root.querySelector(LABEL).textContent;
        } else {
            setTimeout(advance, pause);
        }
    };

    if (!isFinished()) advance();
})();
