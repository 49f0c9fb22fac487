"""Webhooks under attack: by receivers, by users with some of the rights, and by collisions."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, OperationalError, connection, connections
from django.test import Client
from django.urls import reverse
from rest_framework.test import APIClient

from articles import publishing, releases
from articles.distribution import catch_up
from articles.models import (
    AuditEntry,
    Channel,
    Delivery,
    Endpoint,
    Event,
    Release,
    ReleaseMember,
    Revision,
    Text,
    Update,
)
from articles.sending import LEASE
from articles.webhooks import delete_endpoint, dispatch, failures, replay, send, send_events, set_enabled
from articles.webhooks.send import PinnedConnection
from articles.webhooks.target import parse
from scheduling.registry import Ending
from tests.articles.factories import (
    APPROVED,
    make_article,
    make_channel,
    make_editor,
    make_front,
    make_release,
    make_user,
    soon,
)
from tests.articles.webhooks.receivers import Receiver, drain, make_endpoint, receiving
from tests.articles.webhooks.test_dispatch import let_pass, published
from tests.harness import eventually

pytestmark = pytest.mark.django_db(transaction=True)

Kind, State = Event.Kind, Delivery.State


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    with receiving(settings) as one:
        yield one


@pytest.fixture
def olga() -> User:
    return make_user("olga", "manage_webhooks")


def test_events_whose_transaction_collides_are_given_again(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    make_endpoint(receiver.url)
    published()
    attempts: list[Any] = []

    class Colliding(type(Endpoint.objects.all())):  # type: ignore[misc]
        def update(self, **values: Any) -> Any:
            if "position" in values and not attempts:
                attempts.append(values)
                raise OperationalError(1213, "Deadlock found when trying to get lock; try restarting transaction")
            return super().update(**values)

    monkeypatch.setattr(Endpoint.objects, "_queryset_class", Colliding)
    monkeypatch.setattr("scheduling.database.transactions.is_collision", lambda _error: True)
    drain()
    assert len(attempts) == 1
    assert receiver.kinds == [Kind.PUBLISHED]


@pytest.mark.parametrize(
    "asked", ["Fri, 31 Dec 9999 23:59:59 -1200", "Mon, 01 Jan 2030 00:00:00 +99999999999999999999", "²", "9" * 5000]
)
def test_no_retry_after_stops_a_webhook(receiver: Receiver, asked: str) -> None:
    make_endpoint(receiver.url)
    receiver.answer, receiver.headers = 503, {"Retry-After": asked}
    published()
    drain()
    assert (Delivery.objects.get().code, Delivery.objects.get().attempts) == (503, 1)


def test_who_may_not_let_webhooks_hear_of_what_is_not_out_does_not_lead_it_elsewhere(
    receiver: Receiver, olga: User
) -> None:
    endpoint = make_endpoint("https://example.org/", hears_newsroom=True)
    client, api = Client(), APIClient()
    client.force_login(olga)
    api.force_authenticate(olga)
    page = client.post(
        reverse("admin:articles_endpoint_change", args=[endpoint.pk]), {"url": receiver.url, "enabled": "on"}
    )
    assert page.status_code == 200
    answer = api.patch(f"/api/v1/desk/webhooks/{endpoint.pk}/", {"url": receiver.url}, format="json")
    assert answer.status_code == 403
    assert Endpoint.objects.get().url == "https://example.org/"


@pytest.mark.parametrize(
    ("had", "given"),
    [
        ({"kinds": [Kind.RELEASE_FAILED]}, {"kinds": [Kind.SCHEDULED]}),
        ({"kinds": [Kind.RELEASE_FAILED]}, {"kinds": []}),
        ({"languages": ["en"]}, {"languages": ["en", "zh"]}),
        ({"channels": ["politics"]}, {"channels": []}),
        ({"channels": ["politics"]}, {"channels": ["politics", "sport"]}),
    ],
)
def test_who_may_not_let_webhooks_hear_of_what_is_not_out_lets_none_hear_more(
    receiver: Receiver, olga: User, had: dict[str, Any], given: dict[str, Any]
) -> None:
    make_channel("Sport", slug="sport")
    politics = make_channel()
    endpoint = make_endpoint(receiver.url, hears_newsroom=True, **{k: v for k, v in had.items() if k != "channels"})
    endpoint.channels.set([politics] if "channels" in had else [])
    api = APIClient()
    api.force_authenticate(olga)
    address = f"/api/v1/desk/webhooks/{endpoint.pk}/"
    assert api.patch(address, given, format="json").status_code == 403
    stored = api.get(address).json()
    assert {name: stored[name] for name in had} == had
    assert api.patch(address, {"kinds": [Kind.PUBLISHED], "description": "Search"}, format="json").status_code == 200
    assert AuditEntry.objects.latest("pk").details["changed"] == ["description", "kinds"]


def test_that_a_new_webhook_hears_of_what_is_not_out_and_of_which_channels_is_recorded(receiver: Receiver) -> None:
    api = APIClient()
    api.force_authenticate(make_user("chief", "manage_webhooks", "send_schedules"))
    given = {"url": receiver.url, "hears_newsroom": True, "channels": [make_channel().slug]}
    assert api.post("/api/v1/desk/webhooks/", given, format="json").status_code == 201
    assert AuditEntry.objects.latest("pk").details["changed"] == ["url", "hears_newsroom", "channels"]


def test_what_waits_is_not_sent_once_a_webhook_may_not_hear_of_it(receiver: Receiver, olga: User) -> None:
    endpoint = make_endpoint(receiver.url, hears_newsroom=True)
    make_article("Secret merger", status=APPROVED, publish_at=soon(hours=1))
    receiver.answer = 500
    drain()
    assert receiver.kinds == [Kind.SCHEDULED]
    Endpoint.objects.update(hears_newsroom=False)
    receiver.answer = 200
    endpoint.refresh_from_db()
    replay(endpoint, [Delivery.objects.get().pk], by=olga)
    drain()
    assert receiver.kinds == [Kind.SCHEDULED]
    assert Delivery.objects.get().state == State.DROPPED


def test_a_changed_url_holds_for_what_already_waits(receiver: Receiver, settings: Any) -> None:
    make_endpoint(receiver.url)
    for number in range(20):
        published(f"No. {number}")
    with receiving(settings) as other:
        settings.WEBHOOK_ALLOWED_HOSTS = ["127.0.0.1"]

        def move(handler: Any) -> None:
            Endpoint.objects.update(url=other.url)
            handler.send_response(200)
            handler.send_header("Content-Length", "0")
            handler.end_headers()

        receiver.answer = move
        drain()
        assert len(receiver.requests) == dispatch.AT_ONCE
        assert len(other.requests) == 20 - dispatch.AT_ONCE


def test_a_receiver_that_says_it_is_gone_pauses_no_other_that_has_taken_its_place(
    receiver: Receiver, settings: Any
) -> None:
    make_endpoint(receiver.url)
    with receiving(settings) as other:
        settings.WEBHOOK_ALLOWED_HOSTS = ["127.0.0.1"]

        def move(handler: Any) -> None:
            Endpoint.objects.update(url=other.url)
            sending("HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n")(handler)

        receiver.answer = move
        published()
        drain()
        assert Endpoint.objects.get().enabled


def test_an_answer_from_before_a_person_resumed_a_webhook_does_not_pause_it(receiver: Receiver, olga: User) -> None:
    make_endpoint(receiver.url)
    receiver.answer = 500
    for _time in range(2):
        published()
        drain()
        let_pass(failures.DISABLE_AFTER / 2)
    published()

    def resume(handler: Any) -> None:
        for is_enabled in (False, True):
            set_enabled(Endpoint.objects.get(), is_enabled, by=olga)
        sending("HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n")(handler)

    receiver.answer = resume
    drain()
    assert Endpoint.objects.get().enabled


def test_a_name_with_many_addresses_takes_no_longer_than_others(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (f"1.1.1.{number}", 443)) for number in range(1, 200)]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    tried: list[Any] = []

    def time_out(_self: Any, address: Any) -> None:
        tried.append(address)
        raise TimeoutError

    monkeypatch.setattr(socket.socket, "connect", time_out)
    answer = PinnedConnection(parse("https://hooks.example/")).post("{}", {})
    assert answer.error == "timeout"
    # The last message of a chunk: a connection that was open fails, and another is made.
    attempt = len(tried) * send.CONNECT + 2 * send.CONNECT + send.ANSWER
    assert dispatch._LONGEST_CHUNK + attempt < LEASE.total_seconds()


def test_a_publication_that_was_undone_does_not_disclose_its_new_plan(receiver: Receiver) -> None:
    make_endpoint(receiver.url)
    alice = make_editor()
    later = soon(hours=5)
    article = make_article(status=APPROVED, publish_at=later)
    publishing.publish_now(article, by=alice)
    drain()
    publishing.unpublish(article, by=alice)
    drain()
    assert receiver.kinds == [Kind.PUBLISHED, Kind.UNPUBLISHED]
    for body in receiver.bodies:
        assert body["data"]["planned_at"] is None or body["data"]["planned_at"] < f"{soon(minutes=1):%Y-%m-%dT%H:%M}"


def test_a_plan_that_is_left_from_before_is_not_sent(receiver: Receiver) -> None:
    """An article that waited for a second publication, and was retracted."""
    endpoint = make_endpoint(receiver.url)
    published()
    catch_up()
    Event.objects.update(planned_at=soon(hours=5))
    drain()
    assert [body["data"]["planned_at"] for body in receiver.bodies] == [None]
    assert endpoint.deliveries.get().state == State.DELIVERED


def test_a_text_that_readers_never_saw_is_not_sent(receiver: Receiver) -> None:
    """Another headline is approved for the same moment, and no worker has stored it yet."""
    make_endpoint(receiver.url, is_full=True)
    article = published("Minister resigns")
    text = replace(Text.of(article), title="Minister stays", slug="minister-stays")
    Update.objects.create(article=article, approved=Revision.objects.add(article, text), publish_at=soon(seconds=-1))
    assert "resigns" not in Client().get(f"/article/{article.pk}/", follow=True).text
    drain()
    ((_headers, body),) = receiver.requests
    assert "Minister stays" in body and "/minister-stays/" in body
    assert "resigns" not in body


def test_what_a_due_release_has_taken_off_the_site_is_not_sent(receiver: Receiver) -> None:
    make_endpoint(receiver.url, is_full=True)
    alice, article = make_editor(), published("Minister resigns")
    publishing.unpublish(article, by=alice)
    publishing.republish(article, by=alice)
    release = releases.create_release(name="Recall", by=alice)
    releases.add_member(release, article=article, action=ReleaseMember.Action.UNPUBLISH, by=alice)
    Release.objects.filter(pk=release.pk).update(status=Release.Status.SCHEDULED, publish_at=soon(seconds=-1))
    assert "resigns" not in Client().get("/").text
    drain()
    assert set(receiver.kinds) == {Kind.UNPUBLISHED}
    assert not any("resigns" in body for _headers, body in receiver.requests)


def test_a_webhook_is_deleted_while_it_gets_deliveries(olga: User) -> None:
    endpoint = make_endpoint("https://example.org/")

    def add() -> None:
        with suppress(IntegrityError):  # it is deleted
            Delivery.objects.create(endpoint=endpoint, due_at=soon())
        connections.close_all()

    adding = threading.Thread(target=add)

    def between(execute: Any, sql: str, *rest: Any) -> Any:
        result = execute(sql, *rest)
        if sql.startswith("DELETE") and "articles_delivery" in sql and connection.vendor != "sqlite":
            adding.start()
            adding.join(0.5)
        return result

    with connection.execute_wrapper(between):
        delete_endpoint(endpoint, by=olga)
    if adding.ident:
        adding.join()
    assert not (Endpoint.objects.exists() or Delivery.objects.exists())


def test_a_front_that_readers_no_longer_see_is_not_sent(receiver: Receiver) -> None:
    make_endpoint(receiver.url, kinds=[Kind.FRONT_LIVE])
    harbour, sport = make_channel("Harbour", slug="harbour"), make_channel("Sport", slug="sport")
    for channel in (harbour, sport):
        sport_front = make_front(published(), live_from=soon(seconds=-2), channel=channel).front
    receiver.answer = 503
    drain()
    Channel.objects.filter(pk=harbour.pk).update(enabled=False)
    Event.objects.filter(kind=Kind.FRONT_LIVE).update(revision=0)  # the automatic front, after a roll-back
    receiver.answer = 200
    receiver.requests.clear()
    let_pass(failures.PAUSES[0] * 2)
    drain()
    assert {body["data"]["front"] for body in receiver.bodies} == {sport_front.slug}


def test_a_release_that_was_rolled_back_is_not_said_to_be_published(receiver: Receiver) -> None:
    make_endpoint(receiver.url, kinds=[Kind.RELEASE_PUBLISHED, Kind.RELEASE_ROLLED_BACK])
    alice = make_editor()
    release = make_release(make_article(status=APPROVED), by=alice)
    releases.publish_release_now(release, by=alice)
    receiver.answer = 500
    drain()
    receiver.answer = 200
    receiver.requests.clear()
    releases.roll_back_release(Release.objects.get(), by=alice)
    let_pass(failures.PAUSES[0] * 2)
    drain()
    assert set(receiver.kinds) == {Kind.RELEASE_ROLLED_BACK}


def test_a_webhook_whose_only_channel_is_deleted_does_not_hear_of_all(receiver: Receiver) -> None:
    sport, politics = make_channel("Sport", slug="sport"), make_channel()
    one, two = make_endpoint(receiver.url), make_endpoint(receiver.url)
    one.channels.add(sport)
    two.channels.add(sport, politics)
    sport.delete()
    published()
    drain()
    assert receiver.requests == []
    states = list(Endpoint.objects.order_by("pk").values_list("enabled", "paused_because"))
    assert states == [(False, "channel"), (True, "")]


def test_a_lease_from_before_the_clock_was_set_back_delays_no_delivery(receiver: Receiver) -> None:
    make_endpoint(receiver.url, leased_until=soon(hours=1), lease_token="of the dead")
    published()
    drain()
    assert receiver.kinds == [Kind.PUBLISHED]


def test_what_was_to_be_sent_before_the_clock_was_set_back_holds_up_nothing(receiver: Receiver) -> None:
    endpoint, article = make_endpoint(receiver.url), published()
    catch_up()
    dispatch.give_events(endpoint)
    Endpoint.objects.update(leased_until=None)  # as when this turn is over
    Delivery.objects.update(due_at=soon(hours=1))
    Event.objects.update(numbered_at=soon(hours=1))
    publishing.retract(article, by=make_editor(), notice="Invented.")
    drain()
    assert receiver.kinds == [Kind.RETRACTED] * 2


def test_no_pause_from_before_the_clock_was_set_back_lasts_longer_than_one_may(receiver: Receiver) -> None:
    endpoint, article = make_endpoint(receiver.url), published()
    receiver.answer, receiver.headers = 503, {"Retry-After": "60"}
    drain()
    later = soon(days=300)
    Endpoint.objects.update(resumes_at=later)
    endpoint.deliveries.update(due_at=later)
    publishing.retract(article, by=make_editor(), notice="Invented.")
    receiver.answer = 200
    drain()
    assert receiver.kinds == [Kind.PUBLISHED, Kind.RETRACTED, Kind.RETRACTED]


def test_an_endpoint_with_much_to_be_sent_takes_the_place_of_no_other(
    receiver: Receiver, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "_MOST_RUNNING", 1)
    monkeypatch.setattr(dispatch, "_TURN", 0.01)
    count, before = 5 * dispatch.AT_ONCE, []
    with receiving(settings) as other:
        settings.WEBHOOK_ALLOWED_HOSTS = ["127.0.0.1"]
        make_endpoint(receiver.url)
        make_endpoint(other.url)
        for number in range(count):
            published(f"No. {number}")

        def answer(handler: Any) -> None:
            before.append(len(receiver.requests))
            handler.send_response(200)
            handler.send_header("Content-Length", "0")
            handler.end_headers()

        other.answer = answer
        stopping = Ending()
        thread = threading.Thread(target=send_events, args=[stopping], daemon=True)
        thread.start()
        try:
            eventually(lambda: len(receiver.requests) == len(other.requests) == count)
            assert min(before) < count
        finally:
            stopping.set()
            thread.join()
            eventually(lambda: not Endpoint.objects.filter(leased_until__isnull=False).exists())


def test_what_was_prepared_some_time_ago_is_prepared_again(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    """A quick receiver gets much at once; it turns slow, and an article is retracted before its message is sent."""
    assert dispatch._LONGEST_CHUNK <= 1
    monkeypatch.setattr(dispatch, "_QUICK", 100)
    monkeypatch.setattr(dispatch, "_LONGEST_CHUNK", 0.2)
    make_endpoint(receiver.url, is_full=True)
    articles = [published(f"No. {number}") for number in range(4 * dispatch.AT_ONCE)]
    alice, turned = make_editor(), threading.Event()

    def answer(handler: Any) -> None:
        if len(receiver.requests) > dispatch.AT_ONCE:  # the second chunk, which is larger
            turned.wait(10)
        handler.send_response(200)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    receiver.answer = answer
    thread = threading.Thread(target=drain)
    thread.start()
    eventually(lambda: len(receiver.requests) == 2 * dispatch.AT_ONCE)
    last = articles[3 * dispatch.AT_ONCE - 1]
    publishing.retract(last, by=alice, notice="Invented.")
    since = time.monotonic()
    eventually(lambda: time.monotonic() - since > 0.2)
    turned.set()
    thread.join()
    drain()
    sent = [body for body in receiver.bodies if body["data"]["object"] == last.pk]
    assert {body["data"]["state"] for body in sent} == {"retracted"}
    assert not any("article" in body["data"] for body in sent)


def test_who_loses_the_lease_while_it_is_given_many_events_sends_none_of_them(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "_PAGE", 1)
    make_endpoint(receiver.url)
    for number in range(4):
        published(f"No. {number}")
    catch_up()
    endpoint = dispatch.take(Endpoint.objects.get().pk)
    assert endpoint
    give = dispatch.give_events
    others: list[Endpoint | None] = []

    def stand_still(one: Endpoint, most: int) -> int:
        """For longer than the lease, while another process begins."""
        if one is endpoint and not others:
            Endpoint.objects.update(leased_until=soon(seconds=-1))
            others.append(dispatch.take(one.pk))
        return give(one, most)

    monkeypatch.setattr(dispatch, "give_events", stand_still)
    dispatch.serve(endpoint, Ending())
    assert receiver.requests == []
    (other,) = others
    assert other
    dispatch.serve(other, Ending())
    assert len(receiver.ids) == len({*receiver.ids}) == 4


def posted(receiver: Receiver, number: int) -> list[tuple[int | None, str]]:
    """The answers to some messages over one connection, as they are noted."""
    line, answers = PinnedConnection(parse(receiver.url)), []
    for _message in range(number):
        reply = line.post("{}", {})
        answers.append((reply.code, reply.error))
        time.sleep(0.05)  # what follows an answer comes before the next request
    line.close()
    return answers


def sending(*parts: str) -> Any:
    """An answer that comes in these parts."""

    def answer(handler: Any) -> None:
        for part in parts:
            handler.wfile.write(part.encode())
            time.sleep(0.01)

    return answer


@pytest.mark.parametrize("code", [100, 102, 103])
def test_the_answer_after_an_interim_one_is_not_taken_for_that_to_the_next_message(
    receiver: Receiver, code: int
) -> None:
    def answer(handler: Any) -> None:
        final = 500 if len(receiver.requests) == 2 else 200
        sending(f"HTTP/1.1 {code} X\r\n\r\n", f"HTTP/1.1 {final} X\r\nContent-Length: 0\r\n\r\n")(handler)

    receiver.answer = answer
    assert posted(receiver, 3) == [(200, ""), (500, ""), (200, "")]


@pytest.mark.parametrize("more", ["ok", "HTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n"])
def test_what_follows_an_answer_is_neither_that_to_the_next_message_nor_repeats_it(
    receiver: Receiver, more: str
) -> None:
    receiver.answer = sending("HTTP/1.1 204 No Content\r\n\r\n", more)
    assert posted(receiver, 3) == [(204, "")] * 3
    assert len(receiver.requests) == 3


@pytest.mark.parametrize(
    ("begin", "more"),
    [
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", "a\n"),
        ("HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\n"),
        ("HTTP/1.1 103 Early Hints\r\n\r\n", "HTTP/1.1 103 Early Hints\r\n\r\n"),
    ],
)
def test_a_receiver_that_sends_headers_for_ever_takes_no_processor_from_a_worker(
    receiver: Receiver, begin: str, more: str
) -> None:
    """Read as fast as they come, they made other threads of the worker wait seven times as long."""

    def answer(handler: Any) -> None:
        handler.wfile.write(begin.encode())
        with suppress(ConnectionError):
            while True:
                handler.wfile.write(more.encode() * 1000)

    receiver.answer = answer
    began = time.monotonic()
    assert posted(receiver, 1) == [(None, "AnswerTooLong")]
    assert time.monotonic() - began < send.ANSWER / 2
