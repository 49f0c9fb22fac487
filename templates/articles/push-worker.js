{% load i18n %}// Shows pushed alerts, also while no page is open. A later one about the same article takes the place of the earlier.
const TITLE = "{% filter escapejs %}{% translate "Breaking news" %}{% endfilter %}";

self.addEventListener("push", (event) => {
    const { text, url, tag } = event.data.json();
    event.waitUntil(self.registration.showNotification(TITLE, { body: text, tag, data: url }));
});

self.addEventListener("notificationclick", (event) => {
    event.notification.close();
    event.waitUntil(self.clients.openWindow(event.notification.data));
});
