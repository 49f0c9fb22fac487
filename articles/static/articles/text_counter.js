// Counts the characters of a text field with a limit.
for (const counter of document.querySelectorAll("[data-counts]")) {
    const field = document.getElementById(counter.dataset.counts);
    const show = () => {
        counter.textContent = `${field.value.length} / ${field.maxLength}`;
        counter.hidden = !field.value.length;
    };
    field.addEventListener("input", show);
    show();
}
