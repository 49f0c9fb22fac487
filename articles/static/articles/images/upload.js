// Image uploads: files dropped or chosen, several at a time, each with progress, result and an alt text field.
// Dispatches "image:uploaded" on the section for each image.
(() => {
    const AT_ONCE = 2; // as many as the server works on for one client
    const BUSY = [429, 503];
    const LONGEST_PAUSE = 10; // seconds: a busy server is asked again without the user if it wants so few
    const MOST_PAUSES = 30;

    const post = (address, body, { onprogress } = {}) => new Promise((resolve, reject) => {
        // Not `fetch`, which reports no progress of uploads.
        const request = new XMLHttpRequest();
        request.open("POST", address);
        request.setRequestHeader("X-CSRFToken", window.csrfToken());
        request.responseType = "json";
        request.upload.onprogress = onprogress;
        request.onload = () => {
            const image = request.response || {};
            if (request.status >= 200 && request.status < 300) resolve(image);
            else {
                const mayRepeat = BUSY.includes(request.status);
                const pause = mayRepeat ? Number(request.getResponseHeader("Retry-After")) : 0;
                reject(Object.assign(new Error(image.error || request.statusText || String(request.status)), { mayRepeat, pause }));
            }
        };
        request.onerror = () => reject(Object.assign(new TypeError("network"), { mayRepeat: true }));
        request.send(body);
    });

    const form = (values) => {
        const data = new FormData();
        for (const [name, value] of Object.entries(values)) data.append(name, value);
        return data;
    };

    const label = (row, name) => {
        row.querySelector("strong").textContent = name;
        row.querySelector("progress").setAttribute("aria-label", name);
    };

    const setState = (row, text, kind = "") => {
        row.querySelector(".upload-state").textContent = text;
        row.dataset.state = kind;
    };

    const askForAltText = (section, row, image) => {
        const box = row.querySelector(".upload-describe");
        const [input, button] = [box.querySelector("input"), box.querySelector("button")];
        const describe = async () => {
            if (!input.reportValidity()) return;
            try {
                const described = await post(section.dataset.upload.replace(/upload\/$/, `${image.id}/describe/`), form({ alt: input.value }));
                box.hidden = true;
                setState(row, row.dataset.described, "done");
                dispatch(section, described);
            } catch (error) {
                setState(row, error.message, "refused");
            }
        };
        input.setAttribute("aria-label", `${box.querySelector("span").textContent} ${image.title}`);
        button.onclick = describe;
        input.onkeydown = (event) => {
            if (event.key !== "Enter") return;
            event.preventDefault();
            describe();
        };
        box.hidden = false;
    };

    const dispatch = (section, image) => section.dispatchEvent(new CustomEvent("image:uploaded", { bubbles: true, detail: image }));

    const send = async (section, { file, row }, pauses = 0) => {
        const bar = row.querySelector("progress");
        bar.hidden = false;
        setState(row, row.dataset.sending, "sending");
        const onprogress = ({ loaded, total }) => {
            bar.value = (100 * loaded) / total;
            if (loaded === total) setState(row, row.dataset.working, "sending");
        };
        try {
            const image = await post(section.dataset.upload, form({ file }), { onprogress });
            row.querySelector("img").src = image.thumbnail;
            setState(row, image.remark || row.dataset.done, "done");
            if (!image.alt) askForAltText(section, row, image);
            dispatch(section, image);
            return true;
        } catch (error) {
            if (error.pause && error.pause <= LONGEST_PAUSE && pauses < MOST_PAUSES) {
                bar.hidden = true;
                setState(row, row.dataset.waiting, "waiting");
                await new Promise((resolve) => { setTimeout(resolve, error.pause * 1000); });
                return await send(section, { file, row }, pauses + 1);
            }
            setState(row, error instanceof TypeError ? row.dataset.lost : error.message, "refused");
            row.querySelector("[data-again]").hidden = !error.mayRepeat;
            return false;
        } finally {
            bar.hidden = true;
        }
    };

    const prepare = (section) => {
        const [list, template] = [section.querySelector(".upload-list"), section.querySelector("template")];
        const [sum, zone] = [section.querySelector(".upload-sum"), section.querySelector(".upload-zone")];
        const count = { all: 0, done: 0, refused: 0 };
        const waiting = [];
        let running = 0;

        const report = () => {
            sum.textContent = sum.dataset.sum.replace(/{(\w+)}/g, (_text, name) => count[name]);
        };

        const work = async () => {
            if (running >= AT_ONCE || !waiting.length) return;
            running += 1;
            const item = waiting.shift();
            const isStored = await send(section, item);
            count[isStored ? "done" : "refused"] += 1;
            running -= 1;
            report();
            work();
        };

        const enqueue = (item) => {
            setState(item.row, item.row.dataset.waiting, "waiting");
            waiting.push(item);
            work();
        };

        const take = (files) => {
            for (const file of files) {
                const row = template.content.firstElementChild.cloneNode(true);
                label(row, file.name);
                row.querySelector("[data-again]").onclick = (event) => {
                    event.target.hidden = true;
                    count.refused -= 1;
                    enqueue({ file, row });
                };
                list.append(row);
                count.all += 1;
                enqueue({ file, row });
            }
            report();
        };

        const takeChosen = (event) => {
            if (event.target.type !== "file") return;
            event.stopPropagation(); // unfold's own listener expects a text field beside the input
            take([...event.target.files]);
            event.target.value = "";
        };
        section.addEventListener("change", takeChosen, { capture: true });
        for (const kind of ["dragenter", "dragover"]) {
            section.addEventListener(kind, (event) => {
                event.preventDefault();
                zone.classList.add("is-over");
            });
        }
        section.addEventListener("dragleave", (event) => {
            if (!section.contains(event.relatedTarget)) zone.classList.remove("is-over");
        });
        section.addEventListener("drop", (event) => {
            event.preventDefault();
            zone.classList.remove("is-over");
            take([...event.dataTransfer.files]);
        });
        window.addEventListener("beforeunload", (event) => {
            if (running || waiting.length) event.preventDefault();
        });
    };

    // Refreshes the library below without losing scroll position or input above.
    const renew = async () => {
        const library = document.querySelector("[data-library]");
        if (!library) return;
        const answer = await fetch(location.href);
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        library.replaceWith(page.querySelector("[data-library]"));
    };

    let timer = null;
    document.addEventListener("image:uploaded", () => {
        clearTimeout(timer);
        timer = setTimeout(renew, 300);
    });
    document.addEventListener("DOMContentLoaded", () => document.querySelectorAll("[data-upload]").forEach(prepare));
})();
