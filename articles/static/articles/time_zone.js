// Offers the time zone of the device if it differs from the chosen one.
(() => {
    const container = document.querySelector("[data-zone-for]");
    const select = document.getElementById(container.dataset.zoneFor);
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    const offered = [...select.options].some((option) => option.value === zone);
    if (!offered || select.value === zone) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "cursor-pointer font-medium text-primary-600 underline dark:text-primary-500";
    button.textContent = `${container.dataset.text} ${zone}`;
    button.addEventListener("click", () => {
        select.value = zone;
        container.hidden = true;
        select.focus();
    });
    container.append(button);
    container.hidden = false;
})();
