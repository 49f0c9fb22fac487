"""Webhooks: each event arrives at least once, in order for each object, signed, and true when it is sent."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.conf import settings
from django.contrib.auth.models import User
from django.core import mail
from django.db import connection, transaction
from django.db.models import F
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import clear_url_caches, get_resolver
from jsonschema import Draft202012Validator, FormatChecker
from standardwebhooks import Webhook, WebhookVerificationError

from articles import publishing, releases
from articles.audit import NewEvent, write_events
from articles.distribution import catch_up
from articles.models import Article, Delivery, Endpoint, Event, FeedHead, PendingChange
from articles.sending import LEASE
from articles.task_types import MAIL
from articles.webhooks import dispatch, send, send_events
from articles.webhooks.dispatch import AT_ONCE, WebhookDispatcher, take
from articles.webhooks.failures import DISABLE_AFTER, MAIL_AFTER, PAUSES
from articles.webhooks.signing import new_secret
from scheduling import registry
from scheduling.database import read_database_clock
from scheduling.models import TaskInfo
from scheduling.registry import Ending
from scheduling.workers.side_effects import run_side_effects
from tests.articles.factories import (
    APPROVED,
    EARLY,
    make_article,
    make_channel,
    make_editor,
    make_front,
    make_release,
    soon,
)
from tests.articles.webhooks.receivers import Receiver, drain, make_endpoint, receiving
from tests.harness import PATIENCE, eventually

pytestmark = pytest.mark.django_db(transaction=True)

Kind = Event.Kind
State = Delivery.State
Status = Article.Status


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    with receiving(settings) as one:
        yield one


@pytest.fixture
def alice() -> User:
    return make_editor()


def published(title: str = "Bridge reopens", **values: Any) -> Article:
    return make_article(title, status=APPROVED, publish_at=soon(seconds=-2), cleared_at=EARLY, **values)


def let_pass(span: timedelta) -> None:
    """Move all times of deliveries and endpoints into the past, as if this time had passed."""
    Delivery.objects.update(due_at=F("due_at") - span)
    for name in ("failing_since", "failed_at", "resumes_at"):
        rows: Any = Endpoint.objects.filter(**{f"{name}__isnull": False})
        rows.update(**{name: F(name) - span})


def test_a_publication_arrives_signed_with_its_lateness(receiver: Receiver, settings: Any) -> None:
    endpoint = make_endpoint(receiver.url)
    article = published()
    PendingChange.objects.update(at=soon(seconds=-2))
    drain()
    ((headers, body),) = receiver.requests
    assert Webhook(endpoint.secret).verify(body, headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(new_secret()).verify(body, headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(endpoint.secret).verify(body.replace("published", "retracted"), headers)
    said = receiver.bodies[0]
    assert (said["type"], said["data"]["object"], said["data"]["state"]) == (Kind.PUBLISHED, article.pk, "live")
    assert said["data"]["url"] == settings.SITE_URL + article.get_absolute_url()
    assert said["data"]["late_ms"] >= 1000
    assert said["data"]["attempt"] == 1
    assert "article" not in said["data"]
    assert headers["webhook-id"] == f"evt_{Event.objects.get().seq}"
    drain()
    assert len(receiver.requests) == 1
    assert Delivery.objects.get().state == State.DELIVERED


@pytest.mark.parametrize("minutes", [-10, 10])
def test_a_worker_whose_clock_is_wrong_signs_with_the_time_of_the_database(receiver: Receiver, minutes: int) -> None:
    if connection.vendor == "sqlite":
        pytest.skip("SQLite has no clock of its own")
    endpoint = make_endpoint(receiver.url)
    with time_machine.travel(datetime.now(UTC) + timedelta(minutes=minutes)):
        published()
        drain()
    ((headers, body),) = receiver.requests
    assert Webhook(endpoint.secret).verify(body, headers)  # which refuses what is five minutes off


def test_what_is_not_out_is_sent_only_to_those_who_may_hear_it_and_without_a_word(receiver: Receiver) -> None:
    public, newsroom = make_endpoint(receiver.url), make_endpoint(receiver.url, hears_newsroom=True, is_full=True)
    make_article("Secret merger", status=APPROVED, publish_at=soon(hours=1))
    drain()
    ((headers, body),) = receiver.requests
    assert Webhook(newsroom.secret).verify(body, headers)
    assert receiver.kinds == [Kind.SCHEDULED]
    assert "merger" not in body.lower()
    assert not public.deliveries.exists()


def test_bodies_are_as_the_openapi_document_says(receiver: Receiver, alice: User) -> None:
    make_endpoint(receiver.url, is_full=True, hears_newsroom=True)
    article = published()
    make_article("Later", status=APPROVED, publish_at=soon(hours=1))
    drain()
    publishing.retract(article, by=alice, notice="Invented.")
    release = make_release(make_article("In release", status=APPROVED), by=alice)
    releases.publish_release_now(release, by=alice)
    drain()
    schema = Client().get("/api/schema/?format=json").json()["webhooks"]["event"]["post"]["requestBody"]
    (content,) = schema["content"].values()
    validator = Draft202012Validator(content["schema"], format_checker=FormatChecker())
    for body in [*receiver.bodies, *(example["value"] for example in content["examples"].values())]:
        validator.validate(body)
        assert body["data"].keys() <= content["schema"]["properties"]["data"]["properties"].keys()
    assert set(receiver.kinds) == {Kind.PUBLISHED, Kind.SCHEDULED, Kind.RETRACTED, Kind.RELEASE_PUBLISHED}


def test_full_bodies_have_what_readers_see(receiver: Receiver) -> None:
    make_endpoint(receiver.url, is_full=True)
    published(summary="After a year", channel=make_channel())
    drain()
    article = receiver.bodies[0]["data"]["article"]
    assert (article["title"], article["summary"], article["channel"]) == ("Bridge reopens", "After a year", "politics")
    assert len(receiver.requests[0][1]) < 20_000


def test_a_publication_that_was_retracted_before_it_is_sent_is_never_said(receiver: Receiver, alice: User) -> None:
    make_endpoint(receiver.url, is_full=True)
    article = published()
    receiver.answer = 500
    drain()
    publishing.retract(article, by=alice, notice="Invented.")
    receiver.answer = 200
    let_pass(PAUSES[0] * 2)
    receiver.requests.clear()
    drain()
    assert set(receiver.kinds) == {Kind.RETRACTED}
    reasons = {body["data"].get("instead_of") for body in receiver.bodies}
    assert reasons == {None, Kind.PUBLISHED}
    assert not any("Bridge" in body or "bridge" in body for _headers, body in receiver.requests)


def test_each_attempt_has_the_same_id_and_its_own_signature_until_the_last(receiver: Receiver) -> None:
    endpoint = make_endpoint(receiver.url)
    receiver.answer = 500
    published()
    drain()
    for number, pause in enumerate(PAUSES, start=1):
        before = Delivery.objects.get()
        assert before.attempts == number
        assert pause <= before.due_at - (before.sent_at or before.due_at) <= pause * 1.2
        drain()
        assert len(receiver.requests) == number  # not yet
        let_pass(pause * 2)
        drain()
        Endpoint.objects.update(failing_since=None)
    assert len(receiver.requests) == len(PAUSES) + 1
    assert len(set(receiver.ids)) == 1
    for headers, body in receiver.requests:
        assert Webhook(endpoint.secret).verify(body, headers)
    assert [body["data"]["attempt"] for body in receiver.bodies] == list(range(1, len(PAUSES) + 2))
    assert Delivery.objects.get().state == State.FAILED


def test_two_secrets_are_valid_for_a_day_after_a_rotation(receiver: Receiver) -> None:
    old, new = new_secret(), new_secret()
    endpoint = make_endpoint(receiver.url, secret=new, old_secret=old, old_secret_until=soon(hours=1))
    published("One")
    drain()
    headers, body = receiver.requests[0]
    assert Webhook(old).verify(body, headers)
    assert Webhook(new).verify(body, headers)
    Endpoint.objects.update(old_secret_until=soon(seconds=-1))
    published("Two")
    drain()
    headers, body = receiver.requests[1]
    assert Webhook(endpoint.secret).verify(body, headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(old).verify(body, headers)


def test_a_receiver_that_is_gone_pauses_the_webhook_and_its_owner_gets_a_mail(receiver: Receiver, alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(email="alice@example.org")
    make_endpoint(receiver.url, owner=alice)
    receiver.answer = 410
    published()
    drain()
    endpoint = Endpoint.objects.get()
    assert (endpoint.enabled, endpoint.paused_because) == (False, "gone")
    run_side_effects([MAIL])
    assert [message.to for message in mail.outbox] == [["alice@example.org"]]


def test_the_owner_gets_a_mail_though_no_mail_server_was_there(
    receiver: Receiver, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    User.objects.filter(pk=alice.pk).update(email="alice@example.org")
    make_endpoint(receiver.url, owner=alice)
    receiver.answer = 410
    published()

    def refuse(*_args: Any) -> None:
        raise ConnectionRefusedError

    with monkeypatch.context() as patch:
        patch.setattr("django.core.mail.backends.locmem.EmailBackend.send_messages", refuse)
        drain()
        run_side_effects([MAIL])
    assert (mail.outbox, Endpoint.objects.get().enabled) == ([], False)
    TaskInfo.objects.update(execute_time=soon())
    run_side_effects([MAIL])
    assert [message.to for message in mail.outbox] == [["alice@example.org"]]


@pytest.mark.parametrize("status", [429, 503])
def test_a_receiver_that_asks_for_a_pause_gets_it_for_all_events(receiver: Receiver, status: int) -> None:
    make_endpoint(receiver.url)
    receiver.answer, receiver.headers = status, {"Retry-After": "3600"}
    published("One")
    drain()
    published("Two")
    drain()
    assert len(receiver.requests) == 1
    receiver.answer = 200
    let_pass(timedelta(minutes=59))
    drain()
    assert len(receiver.requests) == 1
    let_pass(timedelta(minutes=2))
    drain()
    assert sorted(receiver.ids[1:]) == ["evt_1", "evt_2"]


def test_the_owner_gets_two_mails_however_many_deliveries_fail(receiver: Receiver, alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(email="alice@example.org")
    make_endpoint(receiver.url, owner=alice)
    receiver.answer = 500
    for number in range(3):
        published(f"No. {number}")
    drain()
    assert mail.outbox == []
    for _day in range(7):
        let_pass(MAIL_AFTER)
        published("Another")
        drain()
        run_side_effects([MAIL])
    assert len(mail.outbox) == 2
    endpoint = Endpoint.objects.get()
    assert (endpoint.enabled, endpoint.paused_because) == (False, "failing")
    assert DISABLE_AFTER == 5 * MAIL_AFTER


def test_a_success_ends_the_time_of_failures(receiver: Receiver) -> None:
    make_endpoint(receiver.url)
    receiver.answer = 500
    published("One")
    drain()
    assert Endpoint.objects.get().failing_since
    receiver.answer = 204
    let_pass(PAUSES[0] * 2)
    drain()
    assert Endpoint.objects.get().failing_since is None


def test_events_of_one_article_arrive_in_their_order(receiver: Receiver, alice: User) -> None:
    make_endpoint(receiver.url)
    article = make_article(status=APPROVED)
    others = [published(f"No. {number}") for number in range(3 * AT_ONCE)]
    publishing.publish_now(article, by=alice)
    for _round in range(3):
        publishing.unpublish(article, by=alice)
        publishing.republish(article, by=alice)
    drain()
    mine = [headers["webhook-id"] for (headers, _), body in zip(receiver.requests, receiver.bodies, strict=True)
            if body["data"]["object"] == article.pk]  # fmt: skip
    numbers = [int(one.removeprefix("evt_")) for one in mine]
    assert len(numbers) == 7
    assert numbers == sorted(numbers)
    assert len(receiver.requests) == len(others) + 7


@pytest.mark.thorough
def test_many_events_take_few_connections_and_statements(receiver: Receiver) -> None:
    """For each alone, nothing is read, connected to, or started as a thread."""
    make_endpoint(receiver.url)
    for number in range(6 * AT_ONCE):
        published(f"No. {number}")
    catch_up()
    with CaptureQueriesContext(connection) as queries:
        drain()
    assert len(receiver.requests) == 6 * AT_ONCE
    assert len(receiver.connections) <= AT_ONCE
    assert len(queries) < 2 * len(receiver.requests)
    watching = [thread for thread in threading.enumerate() if thread.name == "ends of connections"]
    assert len(watching) == 1


def test_an_endpoint_hears_of_its_channels_languages_and_kinds(receiver: Receiver, alice: User) -> None:
    politics, sport = make_channel(), make_channel("Sport", slug="sport")
    endpoint = make_endpoint(receiver.url, kinds=[Kind.PUBLISHED, Kind.UNPUBLISHED])
    endpoint.channels.add(politics)
    heard, other = published(channel=politics), published(channel=sport)
    drain()
    assert [body["data"]["object"] for body in receiver.bodies] == [heard.pk]
    Article.objects.filter(pk=heard.pk).update(channel=sport)
    with transaction.atomic():
        publishing.publish_due([heard.pk, other.pk])
    for article in (heard, other):
        publishing.unpublish(article, by=alice)
    drain()
    assert receiver.kinds == [Kind.PUBLISHED, Kind.UNPUBLISHED]  # also that it left, though it has moved
    release = make_release(by=alice)
    assert release.pk
    Endpoint.objects.update(languages=["zh-Hans"])
    published("In English", channel=politics)
    drain()
    assert len(receiver.requests) == 2


def test_pages_of_events_for_others_do_not_hide_those_that_follow(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "_PAGE", 2)
    make_endpoint(receiver.url, kinds=[Kind.PUBLISHED])
    write_events([NewEvent(Kind.FRONT_LIVE, number) for number in range(7)])
    published()
    drain()
    assert receiver.kinds == [Kind.PUBLISHED]
    assert Endpoint.objects.get().position == FeedHead.objects.get().sequence


def test_a_front_that_has_gone_live_is_sent_with_its_address(receiver: Receiver) -> None:
    make_endpoint(receiver.url)
    make_front(live_from=soon(seconds=-1))
    drain()
    assert receiver.kinds == [Kind.FRONT_LIVE]
    data = receiver.bodies[0]["data"]
    assert (data["front"], data["url"]) == ("en", f"{settings.SITE_URL}/en/")


def test_a_paused_endpoint_gets_what_it_has_missed(receiver: Receiver) -> None:
    make_endpoint(receiver.url, enabled=False)
    published()
    drain()
    assert receiver.requests == []
    Endpoint.objects.update(enabled=True)
    drain()
    assert receiver.kinds == [Kind.PUBLISHED]


def test_a_redirect_is_a_failure_and_not_followed(receiver: Receiver) -> None:
    make_endpoint(receiver.url)
    receiver.answer, receiver.headers = 301, {"Location": receiver.url}
    published()
    drain()
    assert len(receiver.requests) == 1
    assert (Delivery.objects.get().code, Delivery.objects.get().state) == (301, State.PENDING)


def test_a_receiver_that_hangs_drips_or_floods_is_left_in_time(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(send, "CONNECT", 0.3)
    monkeypatch.setattr(send, "ANSWER", 0.3)
    released = threading.Event()

    def hang(_handler: Any) -> None:
        released.wait(10)

    def drip(handler: Any) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
        while not released.wait(0.05):
            handler.wfile.write(b"x")

    def flood(handler: Any) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n")
        while not released.is_set():
            handler.wfile.write(b"x" * 65536)

    make_endpoint(receiver.url)
    for answer, state in ((hang, State.PENDING), (drip, State.PENDING), (flood, State.DELIVERED)):
        Delivery.objects.all().delete()
        Event.objects.all().delete()
        receiver.answer = answer
        published()
        began = time.monotonic()
        drain()
        assert time.monotonic() - began < 5
        delivery = Delivery.objects.get()
        assert delivery.state == state, answer
        assert delivery.state == State.DELIVERED or delivery.error == "timeout"
        assert len(delivery.response) <= 1000
    released.set()


def test_a_slow_endpoint_delays_no_other(receiver: Receiver, settings: Any) -> None:
    released = threading.Event()

    def hang_up(handler: Any) -> None:
        released.wait(PATIENCE)
        handler.close_connection = True

    with receiving(settings) as slow:
        settings.WEBHOOK_ALLOWED_HOSTS = ["127.0.0.1"]
        slow.answer = hang_up
        make_endpoint(slow.url)
        make_endpoint(receiver.url)
        published()
        stopping = Ending()
        thread = threading.Thread(target=send_events, args=[stopping], daemon=True)
        thread.start()
        try:
            eventually(lambda: bool(receiver.requests) and bool(slow.requests))
            assert not released.is_set()
        finally:
            released.set()
            stopping.set()
            thread.join()
            eventually(lambda: not Endpoint.objects.filter(leased_until__isnull=False).exists())


def test_in_a_burst_the_first_event_is_sent_at_once_and_the_others_make_room(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "_WAITS", PATIENCE)
    make_room = Ending.make_room
    is_busy, waiting = threading.Event(), threading.Event()
    is_busy.set()

    def note_and_make_room(ending: Ending) -> None:
        if threading.current_thread().name == f"webhooks {endpoint.pk}":
            waiting.set()
        make_room(ending)

    monkeypatch.setattr(Ending, "make_room", note_and_make_room)
    endpoint = make_endpoint(receiver.url)
    for number in range(AT_ONCE + 1):
        published(f"No. {number}")
    stopping = Ending(is_busy.is_set)
    thread = threading.Thread(target=send_events, args=[stopping], daemon=True)
    thread.start()
    try:
        assert waiting.wait(PATIENCE)
        assert receiver.kinds == [Kind.PUBLISHED]
        is_busy.clear()
        eventually(lambda: len(receiver.requests) == AT_ONCE + 1)
    finally:
        stopping.set()
        thread.join()


def test_a_worker_that_is_not_busy_loads_all_addresses_before_the_first_event(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_WAITS", 0)
    make_endpoint("https://example.org/")
    clear_url_caches()
    addresses: Any = get_resolver()
    WebhookDispatcher().look(Ending(lambda: True))
    assert not addresses._populated
    WebhookDispatcher().look(Ending(lambda: False))
    assert addresses._populated


def test_what_is_due_is_left_to_a_worker_that_is_busy_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_WAITS", 0)
    make_endpoint("https://example.org/", enabled=True, resumes_at=soon(hours=1))
    published()
    PendingChange.objects.all().delete()  # it was stored long ago
    WebhookDispatcher().look(Ending(lambda: True))
    assert not Event.objects.exists()
    WebhookDispatcher().look(Ending(lambda: False))
    assert Event.objects.get().kind == Kind.PUBLISHED


def test_what_a_dead_process_did_not_note_is_sent_again_with_the_same_id(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process ends between sending and noting; nothing is given back."""
    endpoint = make_endpoint(receiver.url)
    published()

    def die(*_: Any) -> None:
        raise SystemExit

    with monkeypatch.context() as patch, pytest.raises(SystemExit):
        patch.setattr("articles.webhooks.dispatch._note", die)
        drain()
    Endpoint.objects.update(leased_until=read_database_clock() + LEASE, lease_token="of the dead")
    drain()
    assert len(receiver.requests) == 1  # its lease still holds
    assert take(endpoint.pk) is None
    Endpoint.objects.update(leased_until=F("leased_until") - LEASE)
    drain()
    assert len(receiver.requests) == 2
    assert len(set(receiver.ids)) == 1


def test_two_processes_do_not_send_to_an_endpoint_at_once() -> None:
    endpoint = make_endpoint("https://example.org/")
    assert take(endpoint.pk)
    assert take(endpoint.pk) is None


def test_without_endpoints_events_are_not_kept() -> None:
    published()
    assert WebhookDispatcher().look(Ending()) == 1.0
    assert not Event.objects.exists()


def test_a_look_that_finds_nothing_takes_few_statements() -> None:
    make_endpoint("https://example.org/")
    dispatcher, ending = WebhookDispatcher(), Ending()
    dispatcher.look(ending)
    with CaptureQueriesContext(connection) as queries:
        dispatcher.look(ending)
    assert len(queries) <= 6  # ten times a second, in each worker
