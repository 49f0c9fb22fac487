// Places an element beside a passage of the text, inside the window.
const GAP = 8; // pixels

const rectOf = ({ view }, { from, to }) => {
    const [start, end] = [view.coordsAtPos(from), view.coordsAtPos(to, -1)];
    return { left: Math.min(start.left, end.left), top: start.top, bottom: Math.max(start.bottom, end.bottom) };
};

// Below the passage, or above it if there is more room or `isAbove` and there is enough.
export const placeBeside = (element, editor, range, isAbove = false) => {
    const passage = rectOf(editor, range);
    const { offsetWidth: width, offsetHeight: height } = element;
    const above = passage.top - height - GAP;
    const below = passage.bottom + GAP;
    const isLow = below + height > innerHeight - GAP;
    const top = (isAbove || isLow) && above > 0 ? above : below;
    const left = Math.max(GAP, Math.min(passage.left, document.documentElement.clientWidth - width - GAP));
    Object.assign(element.style, { left: `${left}px`, top: `${top}px` });
};
