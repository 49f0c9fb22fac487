// `window.isPressed(element)`: whether a pointer or the space bar holds something of an element, or of the page, down. A
// button that is replaced between press and release gets no click, and a tap goes to what stands in its place.
(() => {
    const CLICK = 50; // milliseconds after the release of a tap, within which its click comes
    const PRESSED_BY_SPACE = "button, summary, input[type=button], input[type=submit], input[type=checkbox], input[type=radio]";
    let [pressed, isPointer, timer] = [null, false, null];

    const press = ({ target, type }) => {
        clearTimeout(timer);
        [pressed, isPointer] = [target, type === "pointerdown"];
    };
    const release = () => {
        clearTimeout(timer);
        timer = setTimeout(() => (pressed = null), CLICK);
    };

    window.isPressed = (element = document) => element.contains(pressed);

    addEventListener("pointerdown", press, true);
    // A page does not hear of the release of a button that has opened a context menu, nor of one above a frame.
    for (const kind of ["pointerup", "pointercancel", "contextmenu"]) addEventListener(kind, release, true);
    addEventListener("pointermove", ({ buttons }) => pressed && isPointer && !buttons && release(), true);
    // Nor of that of a key that has opened a list of choices.
    addEventListener("keydown", (event) => event.key === " " && event.target.matches?.(PRESSED_BY_SPACE) && press(event), true);
    addEventListener("keyup", release, true);
    addEventListener("blur", release); // of the window
})();
