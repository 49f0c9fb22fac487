// `window.isPressed(element)`: whether a pointer or the space bar holds something of an element, or of the page, down. A
// button that is replaced between press and release gets no click, and a tap goes to what stands in its place.
(() => {
    const CLICK = 50; // milliseconds after the release of a tap, within which its click comes
    let [pressed, timer] = [null, null];

    const press = ({ target }) => {
        clearTimeout(timer);
        pressed = target;
    };
    const release = () => {
        clearTimeout(timer);
        timer = setTimeout(() => (pressed = null), CLICK);
    };

    window.isPressed = (element = document) => element.contains(pressed);

    addEventListener("pointerdown", press, true);
    // A page does not hear of the release of a button that has opened a context menu.
    for (const kind of ["pointerup", "pointercancel", "contextmenu"]) addEventListener(kind, release, true);
    addEventListener("keydown", (event) => event.key === " " && press(event), true);
    addEventListener("keyup", (event) => event.key === " " && release(), true);
    addEventListener("blur", release); // of the window, which hears no release then
})();
