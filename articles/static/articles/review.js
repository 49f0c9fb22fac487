// The review page: releases the claim that opening it took, when it is left.
const form = document.getElementById("decision");
let isSent = false;

for (const sent of document.querySelectorAll("#decision, #override")) {
    sent.addEventListener("submit", () => (isSent = true)); // the server decides about the claim
}

addEventListener("pagehide", () => {
    if (!form.dataset.opened || isSent) return;
    const data = new FormData();
    data.set("leave", form.dataset.opened);
    data.set("csrfmiddlewaretoken", window.csrfToken());
    navigator.sendBeacon(location.href, data);
});

addEventListener("pageshow", (event) => {
    if (event.persisted) location.reload(); // claims it again
});
