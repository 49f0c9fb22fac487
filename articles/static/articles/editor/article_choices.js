// Articles to link to, below the field of the link dialog: a list that the field operates (WAI-ARIA combobox).
import { announce, config, element, text as label } from "articles/editor/config";

const DELAY = 200; // milliseconds without a change
const LONGEST = 100; // characters, as on the server
const LIST_ID = "link-choices";

const fetchArticles = async (term) => {
    const response = await fetch(`${config.urls.targets}?${new URLSearchParams({ q: term })}`);
    if (!response.ok || response.redirected) throw new Error(response.status);
    return response.json();
};

// `isSearched` tells whether a text is looked for, `isCertain` whether the first article found is what Enter means.
export class ArticleChoices {
    constructor(input, { isSearched, isCertain, choose, resized }) {
        Object.assign(this, { input, isSearched, isCertain, choose, resized, active: -1, latest: 0 });
        this.list = element("ul", { id: LIST_ID, role: "listbox", ariaLabel: label("linkChoices"), hidden: true });
        this.found = element("p", { className: "link-found", hidden: true });
        Object.assign(input, { role: "combobox", ariaAutoComplete: "list", ariaExpanded: "false" });
        input.setAttribute("aria-controls", LIST_ID);
        input.addEventListener("input", () => this.searchSoon());
        input.addEventListener("keydown", (event) => this.press(event));
        this.list.addEventListener("mousedown", (event) => event.preventDefault()); // the field keeps the focus
    }

    get term() {
        return this.input.value.trim();
    }

    get isOpen() {
        return !this.list.hidden;
    }

    get chosen() {
        return this.list.children[this.active];
    }

    searchSoon() {
        clearTimeout(this.timer);
        this.close();
        this.latest += 1; // what is on its way belongs to another text
        this.timer = setTimeout(() => this.search(), DELAY);
    }

    async search() {
        clearTimeout(this.timer);
        const mine = ++this.latest;
        const { term } = this;
        const isAsked = config.urls.targets && term && term.length <= LONGEST && this.isSearched(term);
        const answer = isAsked ? await fetchArticles(term).catch(() => null) : { results: [], found: "" };
        if (mine === this.latest && this.input.isConnected) this.draw(answer || { results: [], found: label("noConnection") });
    }

    draw({ results, found }) {
        this.list.replaceChildren(...results.map((article, at) => this.row(article, at)));
        this.list.hidden = !results.length;
        this.input.ariaExpanded = String(this.isOpen);
        this.found.textContent = found;
        this.found.hidden = !found;
        if (found) announce(found);
        this.mark(results.length && this.isCertain(this.term) ? 0 : -1);
        this.resized();
    }

    row({ title, about, address }, at) {
        const option = element("li", { id: `${LIST_ID}-${at}`, role: "option" }, element("strong", { textContent: title }), element("span", { textContent: about }));
        option.addEventListener("click", () => this.choose(address));
        return option;
    }

    mark(at) {
        this.active = at;
        for (const [number, option] of [...this.list.children].entries()) option.ariaSelected = String(number === at);
        this.chosen?.scrollIntoView({ block: "nearest" });
        if (this.chosen) this.input.setAttribute("aria-activedescendant", this.chosen.id);
        else this.input.removeAttribute("aria-activedescendant");
    }

    close() {
        if (!this.isOpen && this.found.hidden) return;
        this.list.hidden = this.found.hidden = true;
        this.input.ariaExpanded = "false";
        this.mark(-1);
        this.resized();
    }

    press(event) {
        const count = this.list.children.length;
        const steps = { ArrowDown: this.active + 1, ArrowUp: this.active < 0 ? count - 1 : this.active - 1 };
        if (event.key in steps) {
            event.preventDefault();
            if (this.isOpen) this.mark((steps[event.key] + count) % count);
            else this.search();
        } else if (event.key === "Enter" && this.isOpen && this.chosen) {
            event.preventDefault();
            this.chosen.click();
        } else if (event.key === "Escape" && this.isOpen) {
            event.stopPropagation();
            this.latest += 1;
            this.close();
        }
    }
}
