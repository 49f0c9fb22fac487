// `window.isPressed(element)`: whether a pointer or the space bar holds something of an element, or of the page, down. A
// button that is replaced between press and release gets no click, and a tap goes to what stands in its place.
(() => {
    const CLICK = 50; // milliseconds after the release of a tap, within which its click comes
    const LONGEST = 10_000; // a page does not hear of every release, such as that above a frame
    const PRESSED_BY_SPACE = "button, summary, input[type=button], input[type=submit], input[type=checkbox], input[type=radio]";
    const presses = new Map(); // what is pressed, by the id of the pointer or the space bar

    const end = (by, wait = CLICK) => {
        const press = presses.get(by);
        setTimeout(() => presses.get(by) === press && presses.delete(by), wait);
    };
    const begin = (by, target) => {
        presses.set(by, { target });
        end(by, LONGEST);
    };

    window.isPressed = (element = document) => [...presses.values()].some(({ target }) => element.contains(target));

    // The right button clicks nothing, and its release above the menu that it opens is not heard of.
    addEventListener("pointerdown", ({ pointerId, button, target }) => button !== 2 && begin(pointerId, target), true);
    for (const kind of ["pointerup", "pointercancel"]) addEventListener(kind, ({ pointerId }) => end(pointerId), true);
    addEventListener("pointermove", ({ pointerId, buttons }) => !buttons && presses.has(pointerId) && end(pointerId), true);
    addEventListener("keydown", ({ key, target }) => key === " " && target.matches?.(PRESSED_BY_SPACE) && begin("space", target), true);
    addEventListener("keyup", ({ key, code }) => (key === " " || code === "Space") && end("space"), true);
})();
