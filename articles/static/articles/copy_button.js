// Buttons that copy a text to the clipboard and confirm it.
for (const button of document.querySelectorAll("[data-copy]")) {
    button.setAttribute("aria-live", "polite");
    button.addEventListener("click", async () => {
        button.closest("li")?.querySelector("input").select();
        await navigator.clipboard.writeText(button.dataset.copy);
        button.textContent = button.dataset.done;
    });
}
