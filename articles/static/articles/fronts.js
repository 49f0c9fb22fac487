// The editor of a front: buttons, drag and drop and forms work without leaving the page. Each sends the operation that the
// button has as its value; articles/desk/fronts/buttons.py reads it. follow.js then shows the front as it is stored.
(() => {
    const form = document.getElementById("front-form");
    if (!form?.action) return;
    const paper = () => document.querySelector(".fronts-paper");
    const notice = () => document.querySelector("[data-part=notice]");
    const parsed = (html) => new DOMParser().parseFromString(html, "text/html");
    const NONE = "-";
    const TIMEOUT = 30_000; // milliseconds, of a request: one without an answer holds up the queue
    let queue = Promise.resolve(); // one after the other: each is made for what the one before has stored

    const look = () =>
        new Promise((resolve) => {
            document.addEventListener("follow:looked", resolve, { once: true });
            setTimeout(resolve, 3_000);
            document.dispatchEvent(new CustomEvent("follow:look"));
        });

    const complain = (text) => {
        const [box, sentence] = [document.createElement("div"), document.createElement("p")];
        Object.assign(box, { className: "fronts-notice" });
        box.setAttribute("role", "alert");
        sentence.textContent = text;
        box.append(sentence);
        notice().replaceChildren(box);
        box.scrollIntoView({ block: "nearest" });
    };

    const show = (answer) => {
        const found = answer.querySelector("[data-part=notice]");
        if (!found) return complain(paper().dataset.lost);
        notice().replaceChildren(...found.childNodes);
        notice().scrollIntoView({ block: "nearest" });
    };

    // A redirect says that it is stored; any other answer is the page with the reason why not.
    const post = async (address, body) => {
        const response = await fetch(address, { method: "POST", body, redirect: "manual", signal: AbortSignal.timeout(TIMEOUT) });
        return response.type === "opaqueredirect" ? null : parsed(await response.text());
    };

    const send = (...operations) => {
        queue = queue
            .then(async () => {
                const body = new FormData(form); // with the base as it is now
                for (const operation of operations) body.append("op", operation);
                const refused = await post(form.action, body);
                if (refused) show(refused);
                else notice().replaceChildren();
                await look();
            })
            .catch(() => complain(paper().dataset.lost));
    };

    document.addEventListener("submit", (event) => {
        const { target, submitter } = event;
        if (target === form) {
            event.preventDefault();
            submitter.closest("details[open]")?.removeAttribute("open");
            send(submitter.value);
        } else if (target.matches(".front-editor form")) {
            event.preventDefault();
            save(target);
        }
    });

    // Forms of cards and blocks, in their place
    const editorOf = (element) => element.closest(".front-editor");

    const open = (editor, fragment) => {
        editor.replaceChildren(fragment);
        prepare(editor);
        const first = editor.querySelector("[aria-invalid], .errors input, [role=alert], textarea, input:not([type=hidden])");
        if (first?.matches("[role=alert]")) first.tabIndex = -1;
        first?.focus();
    };

    const close = (editor) => {
        editor.replaceChildren();
        document.querySelector(`[data-open="${editor.id}"]`)?.focus();
    };

    const load = async (link) => {
        const editor = document.getElementById(link.dataset.open);
        if (editor.firstChild) return close(editor);
        const response = await fetch(link.href, { redirect: "error" });
        const fragment = response.ok && parsed(await response.text()).querySelector("[data-fragment]");
        return fragment ? open(editor, fragment) : location.assign(link.href);
    };

    const save = async (target) => {
        const editor = editorOf(target);
        const refused = await post(target.action, new FormData(target)).catch(() => parsed(""));
        if (!refused) {
            close(editor);
            return look();
        }
        const fragment = refused.querySelector("[data-fragment]");
        return fragment ? open(editor, fragment) : show(refused);
    };

    // The choice of an image
    const prepare = (editor) => {
        const [choice, image, button, shown] = [
            "[name=image_choice]", "[name=image]", "[data-pick-image]", "[data-chosen]",
        ].map((selector) => editor.querySelector(selector));
        if (!choice) return;
        const update = () => {
            button.hidden = choice.value !== "own";
            shown.hidden = choice.value !== "own" || !image.value;
        };
        const pick = async () => {
            const images = await document.querySelector("[data-picker]").pick({ most: 1 });
            button.focus();
            if (!images) return;
            image.value = images[0].id;
            shown.src = images[0].thumbnail;
            update();
        };
        choice.addEventListener("change", () => {
            update();
            if (choice.value === "own" && !image.value) pick();
        });
        button.addEventListener("click", pick);
        update();
    };

    document.addEventListener("click", (event) => {
        const [link, cancel] = ["[data-open]", ".front-editor [data-cancel]"].map((selector) => event.target.closest(selector));
        if (event.ctrlKey || event.metaKey || event.shiftKey || !(link || cancel)) return;
        event.preventDefault();
        if (cancel) return close(editorOf(cancel));
        link.closest("details[open]")?.removeAttribute("open");
        load(link).catch(() => location.assign(link.href));
    });
    document.addEventListener("keydown", (event) => {
        if (event.key !== "Escape" || event.defaultPrevented) return;
        const editor = editorOf(event.target);
        const menu = event.target.closest(".desk-menu[open]");
        if (menu) {
            menu.open = false;
            menu.querySelector("summary").focus();
        } else if (editor) close(editor);
    });
    document.addEventListener("click", ({ target }) => {
        for (const menu of document.querySelectorAll(".desk-menu[open]")) if (!menu.contains(target)) menu.open = false;
    });

    // Drag and drop: a card before another, at the end of a block, or an article from the lists
    let dragged = null;
    const clear = () => {
        for (const name of ["front-drop-before", "front-drop-in"]) {
            for (const element of document.querySelectorAll(`.${name}`)) element.classList.remove(name);
        }
    };
    const cardsOf = (block) => [...block.querySelectorAll("[data-card]")].filter((card) => card !== dragged);
    const placeAt = (target) => {
        const block = target.closest?.("[data-block]");
        if (!block) return null;
        const card = target.closest("[data-card]");
        const cards = cardsOf(block);
        const before = card && card !== dragged ? cards.indexOf(card) : cards.length;
        return { block, card: cards[before], after: cards[before - 1]?.dataset.card ?? NONE };
    };

    document.addEventListener("dragstart", (event) => {
        dragged = event.target.closest?.("[data-card], [data-add]");
        if (!dragged || editorOf(event.target)) return;
        event.dataTransfer.setData("text/plain", dragged.dataset.card ?? dragged.dataset.add);
        event.dataTransfer.effectAllowed = "move";
        dragged.classList.add("front-dragged");
    });
    document.addEventListener("dragover", (event) => {
        const place = dragged && placeAt(event.target);
        if (!place) return;
        event.preventDefault();
        clear();
        if (place.card) place.card.classList.add("front-drop-before");
        else place.block.classList.add("front-drop-in");
    });
    document.addEventListener("drop", (event) => {
        const place = dragged && placeAt(event.target);
        if (!place) return;
        event.preventDefault();
        const where = [place.block.dataset.block, place.after].join(" ");
        if (dragged.dataset.card) return send(`move_card ${dragged.dataset.card} ${where}`);
        const [operation, uuid, , , article] = dragged.dataset.add.split(" ");
        send(`${operation} ${uuid} ${where} ${article}`);
    });
    document.addEventListener("dragend", () => {
        dragged?.classList.remove("front-dragged");
        dragged = null;
        clear();
    });
    document.addEventListener("follow:hold", (event) => dragged && event.preventDefault());
})();
