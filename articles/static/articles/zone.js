// Offers the zone of the device, if it is another than the one chosen.
(() => {
    const place = document.querySelector("[data-zone-for]");
    const select = document.getElementById(place.dataset.zoneFor);
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    const offered = [...select.options].some((option) => option.value === zone);
    if (!offered || select.value === zone) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "cursor-pointer font-medium text-primary-600 underline dark:text-primary-500";
    button.textContent = `${place.dataset.text} ${zone}`;
    button.addEventListener("click", () => {
        select.value = zone;
        place.hidden = true;
        select.focus();
    });
    place.append(button);
    place.hidden = false;
})();
