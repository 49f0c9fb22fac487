// Buttons that put a text into the clipboard, and say so.
for (const button of document.querySelectorAll("[data-copy]")) {
    button.setAttribute("aria-live", "polite");
    button.addEventListener("click", async () => {
        button.closest("li")?.querySelector("input").select();
        await navigator.clipboard.writeText(button.dataset.copy);
        button.textContent = button.dataset.done;
    });
}
