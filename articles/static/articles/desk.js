// Accessibility fixes for unfold: keyboard access for click-only elements, names for icon-only buttons. Applied again
// whenever the page changes.
(() => {
    // Start of the click handler → label.
    const ACTIONS = {
        sidebarDesktopOpen: "menu",
        sidebarMobileOpen: "menu",
        openUserLinks: "account",
        openRelatedWidgetWrapper: "more",
        showActions: "more",
        openTheme: "theme",
        "filterOpen = false": "close",
    };
    const NATIVE = "a[href], button, input, select, textarea, label, summary, [role]";
    const ICON = ".material-symbols-outlined";
    let texts = null;

    const press = (event) => {
        if (event.target !== event.currentTarget || !["Enter", " "].includes(event.key)) return;
        event.preventDefault();
        event.currentTarget.click();
    };

    const makeButton = (element) => {
        if (element.matches(NATIVE)) return;
        element.dataset.deskKey = "";
        element.tabIndex = 0;
        element.setAttribute("role", "button");
        element.addEventListener("keydown", press);
    };

    const textOf = (element) => {
        if (element.matches(ICON)) return "";
        const copy = element.cloneNode(true);
        copy.querySelectorAll(ICON).forEach((icon) => icon.remove());
        return copy.textContent.replace(/\s+/g, " ").trim();
    };

    const name = (element, words) => {
        if (words && !element.hasAttribute("aria-label")) element.setAttribute("aria-label", words);
    };

    const nameAction = (element) => {
        const action = element.getAttribute("x-on:click");
        const found = Object.keys(ACTIONS).find((start) => action.startsWith(start));
        if (found) name(element, [textOf(element), texts[ACTIONS[found]]].filter(Boolean).join(" · "));
    };

    const nameCell = (input) => {
        const row = input.closest("tr").querySelector("th");
        name(input, [input.closest("[data-label]").dataset.label, row?.textContent.trim()].filter(Boolean).join(" · "));
    };

    const nameSearch = (input) => {
        const select = input.closest(".select2-container")?.previousElementSibling;
        name(input, select?.labels?.[0]?.textContent.trim() || texts.search);
    };

    // The selected option may change, so the name is set each time.
    const nameChoice = (box) => {
        const select = box.closest(".select2-container")?.previousElementSibling;
        const words = [select?.labels?.[0], select?.selectedOptions?.[0]].map((element) => element?.textContent.trim());
        const label = words.filter(Boolean).join(" · ");
        if (label && box.getAttribute("aria-label") !== label) box.setAttribute("aria-label", label);
    };

    const each = (selector, act) => document.querySelectorAll(selector).forEach(act);

    const apply = () => {
        each("[x-on\\:click]", (element) => {
            makeButton(element);
            nameAction(element);
        });
        each("#content:not([role])", (content) => content.setAttribute("role", "main"));
        each("#searchbar-submit", (element) => name(element, texts.search));
        each("a[href], button", (element) => element.querySelector(ICON) && !textOf(element) && name(element, element.title || texts.start));
        each(".result-list td[data-label] input:not([type=hidden])", nameCell);
        each(".select2-search__field", nameSearch);
        each(".select2-selection--single .select2-selection__rendered", nameChoice);
        each("ul.select2-selection__rendered, ul.select2-selection__rendered > li", (element) => element.setAttribute("role", "presentation"));
        each(".result-list [data-label]", ({ dataset }) => (dataset.label = dataset.label.replace(/^./, (letter) => letter.toUpperCase())));
        each(".help-tooltip[aria-label]:not([role])", (element) => element.setAttribute("role", "img"));
        each(`${ICON}:not([role], [aria-hidden])`, (icon) => icon.setAttribute("aria-hidden", "true"));
    };

    // Unfold shows the page only after its scripts have run, too late for `autofocus`.
    const focus = () => document.activeElement === document.body && document.querySelector("[autofocus]")?.focus();

    document.addEventListener("DOMContentLoaded", () => {
        focus();
        texts = document.querySelector("meta[name=desk-texts]").dataset;
        // SimpleBar, whose listener runs after this one, names what it makes scrollable in English.
        if (window.SimpleBar) window.SimpleBar.defaultOptions.ariaLabel = texts.scrollable;
        apply();
        let isPlanned = false;
        new MutationObserver(() => {
            if (isPlanned) return;
            isPlanned = true;
            requestAnimationFrame(() => {
                isPlanned = false;
                apply();
            });
        }).observe(document.body, { childList: true, subtree: true });
    });
})();

// Menus close when the user clicks elsewhere or presses Escape.
(() => {
    const menus = () => document.querySelectorAll(".desk-menu[open]");

    document.addEventListener("click", (event) => {
        for (const menu of menus()) if (!menu.contains(event.target)) menu.open = false;
    });

    document.addEventListener("keydown", (event) => {
        if (event.key !== "Escape") return;
        for (const menu of menus()) {
            menu.open = false;
            menu.querySelector("summary").focus();
        }
    });
})();

// Commands of the palette that are no pages.
(() => {
    const COMMANDS = {
        "#toggle-dark-mode": () => {
            const isDark = document.documentElement.classList.contains("dark");
            window.Alpine.$data(document.documentElement).switchTheme(isDark ? "light" : "dark");
        },
    };

    window.addEventListener("hashchange", () => {
        const command = COMMANDS[location.hash];
        if (!command) return;
        history.replaceState(history.state, "", location.pathname + location.search);
        window.dispatchEvent(new CustomEvent("closecommand"));
        command();
    });
})();

// A form that is pressed twice is sent once.
(() => {
    const SENDING = 10_000; // milliseconds; then it was stopped or has answered with a file
    const sent = new WeakSet();

    document.addEventListener("submit", (event) => {
        const { target, submitter } = event;
        if (event.defaultPrevented || target.method !== "post" || target.target || submitter?.formTarget) return;
        if (sent.has(target)) return event.preventDefault();
        sent.add(target);
        setTimeout(() => sent.delete(target), SENDING);
    });
    window.addEventListener("pageshow", ({ persisted }) => persisted && document.querySelectorAll("form").forEach((form) => sent.delete(form)));
})();

// Time fields, which articles/desk/time_field.py renders: the button opens the picker of the browser, whose choice is
// shown in the newsroom's form, as is a time typed with a T or with seconds that are zero.
(() => {
    const WALL = /^\s*(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(:\d\d(?:\.\d{1,6})?)?\s*$/;
    const shown = (text) => text.replace(WALL, (_text, day, time, seconds = "") => `${day} ${time}${/[1-9]/.test(seconds) ? seconds : ""}`);
    const beside = (element, selector) => element.closest(".desk-time").querySelector(selector);

    document.addEventListener("click", ({ target }) => {
        const button = target.closest("[data-choose-time]");
        if (!button) return;
        const native = beside(button, "[data-native-time]");
        const { value } = beside(button, "[data-wall-time]");
        native.value = WALL.test(value) ? shown(value).replace(" ", "T") : "";
        native.defaultValue = native.value; // to open the picker changes nothing
        native.showPicker();
    });

    // Before the listeners of forms: to them it is the text field that changes.
    const take = (event) => {
        const { target, type } = event;
        if (target.matches("[data-native-time]")) {
            event.stopPropagation();
            const field = beside(target, "[data-wall-time]");
            target.defaultValue = target.value;
            field.value = shown(target.value);
            field.dispatchEvent(new Event(type, { bubbles: true }));
        } else if (type === "change" && target.matches("[data-wall-time]") && target.value !== shown(target.value)) {
            target.value = shown(target.value);
        }
    };
    for (const kind of ["input", "change"]) document.addEventListener(kind, take, true);
})();

// Cells of a list without content, which phones do not show.
document.addEventListener("DOMContentLoaded", () => {
    for (const cell of document.querySelectorAll(".result-list td")) {
        const isEmpty = ["", "—"].includes(cell.textContent.trim()) && !cell.querySelector("a, button, img, input");
        cell.classList.toggle("is-empty", isEmpty);
    }
});
