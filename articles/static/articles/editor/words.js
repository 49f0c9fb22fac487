// The editor's package asks `gettext` for its texts, once, when it loads: it gets those that the form brings along.
(() => {
    const fallback = window.gettext || ((text) => text);
    let words = null;

    const find = () => {
        const textarea = document.querySelector("[data-editor]");
        return textarea ? JSON.parse(textarea.dataset.editor).words : {};
    };

    window.gettext = (text) => {
        words ||= find();
        return words[text] || fallback(text);
    };
})();
