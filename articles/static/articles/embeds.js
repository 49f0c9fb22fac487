// Players of other sites, which are loaded once the reader asks for one.
for (const ask of document.querySelectorAll(".embed-ask")) {
    const { player, site } = ask.querySelector("button").dataset;
    ask.hidden = false;
    ask.querySelector("button").addEventListener("click", () => {
        const frame = document.createElement("iframe");
        frame.src = player;
        frame.title = site;
        frame.allow = "fullscreen; picture-in-picture";
        // Players do not start without "allow-same-origin", which gives them their own origin, not ours.
        frame.setAttribute("sandbox", "allow-scripts allow-same-origin allow-popups allow-presentation");
        frame.referrerPolicy = "strict-origin-when-cross-origin";
        ask.replaceWith(frame);
        frame.focus(); // the button that had the focus is gone
    });
}
