// Supplies `gettext` for django-prose-editor from the texts in the form's data attribute.
(() => {
    const fallback = window.gettext || ((text) => text);
    let texts = null;

    const load = () => {
        const textarea = document.querySelector("[data-editor]");
        return textarea ? JSON.parse(textarea.dataset.editor).texts : {};
    };

    window.gettext = (text) => {
        texts ||= load();
        return texts[text] || fallback(text);
    };
})();
