// Focal point of an image: set by click or arrow keys, shown in the sample crops. On the image's page, and in the dialog
// of an article's cover, which sends the event `image:crop`.
const setFocalPoint = (root) => {
    const frame = root.querySelector("[data-focus]");
    const point = frame?.querySelector(".focus-point");
    const inputs = { x: root.querySelector("[name=focus_x]"), y: root.querySelector("[name=focus_y]") };
    if (!point || !inputs.x || !inputs.y) return;
    const liveRegion = root.querySelector("[data-focus-status]");
    const crops = root.querySelectorAll(".focus-crops img");
    const STEPS = { ArrowLeft: ["x", -1], ArrowRight: ["x", 1], ArrowUp: ["y", -1], ArrowDown: ["y", 1] };

    const within = (value) => Math.min(Math.max(Math.round(value) || 0, 0), 100);

    const show = () => {
        const [x, y] = [within(inputs.x.value), within(inputs.y.value)];
        point.style.left = `${x}%`;
        point.style.top = `${y}%`;
        point.setAttribute("aria-label", frame.dataset.label.replace("{x}", x).replace("{y}", y));
        for (const crop of crops) crop.style.objectPosition = `${x}% ${y}%`;
    };

    const set = (values) => {
        for (const [name, value] of Object.entries(values)) {
            inputs[name].value = within(value);
            inputs[name].dispatchEvent(new Event("change", { bubbles: true }));
        }
        show();
        liveRegion.textContent = point.getAttribute("aria-label");
    };

    frame.addEventListener("click", (event) => {
        if (event.target === point) return;
        const box = frame.querySelector("img").getBoundingClientRect();
        set({ x: (100 * (event.clientX - box.left)) / box.width, y: (100 * (event.clientY - box.top)) / box.height });
    });
    point.addEventListener("keydown", (event) => {
        const [name, direction] = STEPS[event.key] || [];
        if (!name) return;
        event.preventDefault();
        set({ [name]: Number(inputs[name].value) + direction * (event.shiftKey ? 10 : 1) });
    });
    inputs.x.addEventListener("input", show);
    inputs.y.addEventListener("input", show);
    show();
};

document.addEventListener("DOMContentLoaded", () => setFocalPoint(document));
document.addEventListener("image:crop", ({ target }) => setFocalPoint(target));
