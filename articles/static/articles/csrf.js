// The CSRF token of what a page sends: after a log-in in another window, the cookie has another one than its forms. Forms
// also send who opened the page, because another user may have logged in; headline/accounts/middleware.py refuses those.
(() => {
    const NAME = "csrfmiddlewaretoken";
    const inCookie = () => document.cookie.match(/(?:^|; )csrftoken=([^;]+)/)?.[1];

    window.csrfToken = () => inCookie() || document.querySelector(`[name=${NAME}]`)?.value || "";

    // Of forms that the browser sends, and of those that scripts read.
    document.addEventListener("formdata", ({ formData }) => {
        if (!formData.has(NAME)) return;
        formData.set(NAME, window.csrfToken());
        const { user } = document.querySelector("meta[name=desk-texts]")?.dataset || {};
        if (user) formData.set("_opened_by", user);
    });
})();
