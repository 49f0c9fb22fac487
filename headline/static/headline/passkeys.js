// Connects the buttons of a page with django-allauth's passkey functions, and shows their errors.
for (const button of document.querySelectorAll("[data-passkey]")) {
    const form = button.form;
    const ids = { [button.dataset.passkey]: button.id, credential: form.elements.credential.id };
    if (form.elements.passwordless) ids.passwordless = form.elements.passwordless.id;
    if (button.dataset.options) ids.data = button.dataset.options;
    allauth.webauthn.forms[`${button.dataset.passkey}Form`]({ ids });
}
document.addEventListener("allauth.error", (event) => {
    event.preventDefault();
    document.querySelector("[data-passkey-error]").hidden = false;
});
