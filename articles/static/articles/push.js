// The buttons that turn notifications on and off, by topic. Nothing is stored here: the browser has its subscription, and
// the site knows its topics. The last topic that is turned off ends the subscription.
(() => {
    const place = document.querySelector(".push");
    if (!place || !("serviceWorker" in navigator) || !("PushManager" in window)) return;
    const { key, address, worker } = place.dataset;
    const buttons = [...place.querySelectorAll("[data-topic]")];
    const status = place.querySelector("[role=status]");

    const show = (topics) =>
        buttons.forEach((button) => button.setAttribute("aria-pressed", topics.includes(button.dataset.topic)));

    const ask = async (subscription, topics) => {
        const body = JSON.stringify({ subscription, topics });
        const headers = { "Content-Type": "application/json" };
        const response = await fetch(address, { method: "POST", credentials: "omit", headers, body });
        if (!response.ok) throw new Error(response.status);
        return (await response.json()).topics;
    };

    const current = async () => (await navigator.serviceWorker.getRegistration("/"))?.pushManager.getSubscription();

    const subscribed = async () => {
        await navigator.serviceWorker.register(worker, { scope: "/" });
        const { pushManager } = await navigator.serviceWorker.ready;
        return pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
    };

    const toggle = async (button) => {
        const isOn = button.getAttribute("aria-pressed") !== "true";
        if (isOn && (await Notification.requestPermission()) !== "granted") {
            status.textContent = status.dataset.blocked;
            return;
        }
        // One after the other, also of two windows: each sends all topics, and would undo what it has not read.
        await navigator.locks.request("push topics", () => choose(button.dataset.topic, isOn));
    };

    const choose = async (topic, isOn) => {
        const subscription = isOn ? await subscribed() : await current();
        if (!subscription) return show([]);
        const before = await ask(subscription);
        const topics = await ask(subscription, isOn ? [...before, topic] : before.filter((one) => one !== topic));
        if (!topics.length) await subscription.unsubscribe();
        show(topics);
        status.textContent = isOn ? status.dataset.on : status.dataset.off;
    };

    buttons.forEach((button) =>
        button.addEventListener("click", async () => {
            button.disabled = true;
            try {
                await toggle(button);
            } catch {
                status.textContent = status.dataset.failed;
            }
            button.disabled = false;
            button.focus();
        }),
    );

    place.hidden = false;
    current()
        .then((subscription) => subscription && ask(subscription).then(show))
        .catch(() => {}); // The buttons work all the same.
})();
