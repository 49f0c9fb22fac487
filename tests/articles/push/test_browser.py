"""The buttons for pushes, in a browser without a push service."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from articles.models import PushSubscription
from articles.push import new_key
from tests.articles.factories import make_channel
from tests.articles.push.services import Browser
from tests.conftest import Site, serving

pytestmark = pytest.mark.django_db(transaction=True)

SUBSCRIBING = """
const subscription = { toJSON: () => (%s), unsubscribe: async () => true };
let isOn = false;
const pushManager = {
    subscribe: async () => ((isOn = true), subscription),
    getSubscription: async () => (isOn ? subscription : null),
};
const container = navigator.serviceWorker;
container.register = container.getRegistration = async () => ({ pushManager });
Object.defineProperty(container, "ready", { value: Promise.resolve({ pushManager }) });
Notification.requestPermission = async () => "granted";
"""
"""What a push service would do."""


@pytest.fixture
def site(transactional_db: None) -> Iterator[Site]:
    with serving(env={"PUSH_KEY": new_key()}) as started:
        yield started


@pytest.mark.thorough
def test_two_topics_that_are_chosen_at_one_moment_are_both_stored(page: Page, site: Site) -> None:
    channel = make_channel("Harbour")
    browser = Browser("https://updates.push.services.mozilla.com/wpush/v2/gA")
    page.add_init_script(SUBSCRIBING % json.dumps(browser.subscription))
    page.goto(site.url + channel.get_absolute_url())
    both, on = ".push [data-topic]", page.locator(".push [aria-pressed=true]")
    page.locator(both).evaluate_all("buttons => buttons.forEach((button) => button.click())")
    expect(on).to_have_count(2)
    stored = PushSubscription.objects.get()
    assert (stored.breaking, [*stored.channels.all()]) == (True, [channel])
    page.locator(both).evaluate_all("buttons => buttons.forEach((button) => button.click())")
    expect(on).to_have_count(0)
    assert not PushSubscription.objects.exists()
