// The windows of this browser in which an article form is open: each holds a lock until it is closed. Browsers offer
// locks only over HTTPS; without them every draft of another window counts as left behind.
import { config } from "articles/editor/config";

const PREFIX = "headline.window.";
const RELEASE = 10_000; // milliseconds after which a page that was left has released its lock, however slow the machine

navigator.locks?.request(PREFIX + config.window, () => new Promise(() => {}));

export const openWindows = async () => {
    const { held } = (await navigator.locks?.query()) || { held: [] };
    return new Set(held.map(({ name }) => name).filter((name) => name.startsWith(PREFIX)).map((name) => name.slice(PREFIX.length)));
};

// Resolves to false as soon as the window is closed, and to true if it is still open after a while.
export const staysOpen = (window) =>
    navigator.locks
        .request(PREFIX + window, { mode: "shared", signal: AbortSignal.timeout(RELEASE) }, () => false)
        .catch(() => true);
