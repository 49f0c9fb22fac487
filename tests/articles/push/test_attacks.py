"""Pushes under attack: by hurried editors, by clocks, and by services that fail while others ask for a pause."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.db.models import F
from django.test import Client
from django.urls import reverse

from articles.alerts import save_alert
from articles.models import Alert, Push, PushMessage, PushSubscription
from articles.push.dispatch import _next, take
from articles.push.plan import plan
from tests.articles.factories import make_editor, soon
from tests.articles.open_forms import sent_by
from tests.articles.push.services import PushService, push_due, serving
from tests.articles.push.test_push import KEY, armed, publish, shown_alert, subscribed
from tests.articles.site.test_query_counts import counted

pytestmark = pytest.mark.django_db(transaction=True)

State = Push.State


@pytest.fixture
def service(settings: Any) -> Iterator[PushService]:
    settings.PUSH_KEY, settings.PUSH_QUIET_HOURS = KEY, None
    with serving(settings) as one:
        yield one


def test_an_alert_that_gets_a_later_time_is_not_pushed_before_it(service: PushService) -> None:
    alice = make_editor()
    subscribed(service, "a")
    alert = armed(alice)
    publish(alert, alice)
    plan()
    save_alert(alert.article_id, {"starts_at": soon(minutes=30)}, by=alice, pk=alert.pk)
    push_due()
    assert (service.requests, Push.objects.get().state) == ([], State.SENDING)
    Alert.objects.update(starts_at=soon(seconds=-1))
    Push.objects.update(due_at=soon(seconds=-1))
    push_due()
    assert service.paths == ["/a"]


def test_an_error_at_one_service_delays_it_no_longer_because_another_asks_for_a_pause(
    service: PushService, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice = make_editor()
    subscribed(service, "a")
    service.answer, service.headers = 429, {"Retry-After": "1200"}
    with serving(settings) as other:
        settings.PUSH_HOSTS = [one.removeprefix("http://") for one in (service.url, other.url)]
        subscribed(other, "b")
        publish(armed(alice, lasts=timedelta(hours=1)), alice)

        def fail(push: Push, host: str, *args: Any) -> Any:
            if host in other.url:
                raise OperationalError(2013, "Lost connection to server during query")
            return _next(push, host, *args)

        with monkeypatch.context() as patch:
            patch.setattr("articles.push.dispatch._next", fail)
            push_due()
        assert (service.paths, other.paths) == (["/a"], [])
        push = Push.objects.get()
        assert push.due_at - push.created_at < timedelta(minutes=2)


def test_a_form_leaves_what_another_has_changed_since_it_was_opened(service: PushService) -> None:
    alice = make_editor()
    alert = armed(alice, text="Three dead")
    client = Client()
    client.force_login(alice)
    address = reverse("admin:articles_alert_change", args=[alert.pk])
    opened = sent_by(client.get(address).text, "alert_form")
    save_alert(alert.article_id, {"text": "Two dead", "push": False}, by=make_editor("bob"), pk=alert.pk)
    client.post(address, {**opened, "lasts": "60"})
    stored = Alert.objects.get()
    assert (stored.text, stored.push, stored.lasts) == ("Two dead", False, timedelta(hours=1))
    client.post(address, {**opened, "text": "One dead"})
    assert Alert.objects.get().text == "One dead"


def test_what_is_pushed_is_what_the_editor_saw(service: PushService) -> None:
    alice = make_editor()
    subscribed(service, "a")
    alert = shown_alert(alice)
    client = Client()
    client.force_login(alice)
    page = client.get(reverse("admin:articles_alert_change", args=[alert.pk])).text
    form = re.search(r'<form method="post" action="[^"]*/push/">.*?</form>', page, re.DOTALL)
    assert form
    sent = dict(re.findall(r'name="(\w+)" value="([^"]*)"', form[0]))
    save_alert(alert.article_id, {"text": "Harbour bridge open"}, by=make_editor("bob"), pk=alert.pk)
    address = reverse("admin:articles_alert_push", args=[alert.pk])
    client.post(address, sent)
    push_due()
    assert service.requests == []
    client.post(address, {**sent, "text": "Harbour bridge open"})
    push_due()
    assert service.paths == ["/a"]


def test_what_was_pushed_before_the_clock_was_set_back_fills_no_later_day(service: PushService, settings: Any) -> None:
    settings.PUSH_PER_DAY = 1
    alice = make_editor()
    subscribed(service, "a")
    publish(armed(alice), alice)
    push_due()
    PushMessage.objects.update(sent_at=F("sent_at") + timedelta(days=300))
    publish(armed(alice), alice)
    push_due()
    assert service.paths == ["/a", "/a"]


@pytest.mark.thorough
@pytest.mark.skipif(connection.vendor == "sqlite", reason="counts the rows that MariaDB reads")
def test_the_next_messages_are_found_without_reading_what_others_got(service: PushService) -> None:
    alice = make_editor()
    subscribed(service, "a")
    publish(armed(alice), alice)
    push_due()
    first = PushSubscription.objects.get()
    names = [f"{service.url}/n{number}" for number in range(5000)]
    given = {"host": first.host, "p256dh": first.p256dh, "auth": first.auth, "breaking": True}
    PushSubscription.objects.bulk_create(PushSubscription(endpoint=one, digest=one, **given) for one in names)
    old, known = Push.objects.get(), PushSubscription.objects.exclude(pk=first.pk)
    PushMessage.objects.bulk_create(
        PushMessage(push=old, subscription=one, state=PushMessage.State.ACCEPTED, attempts=1, sent_at=soon())
        for one in known
    )
    publish(armed(alice), alice)
    plan()
    push = take(Push.objects.latest("pk").pk)
    assert push
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE TABLE articles_push, articles_pushmessage, articles_pushsubscription")
    with counted() as cost:
        chunk, _after = _next(push, first.host, 16, 0)
        assert len(chunk) == 16
        assert cost() < 1000
