"""Pushes: who may subscribe, what is sent once an article is published, and that nothing is sent twice."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, time, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connections
from django.db.models import F
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from articles import publishing
from articles.alerts import delete_alert, save_alert
from articles.distribution import catch_up
from articles.exceptions import NotAllowed
from articles.models import (
    Alert,
    Article,
    Event,
    ProposedChange,
    Push,
    PushMessage,
    PushSubscription,
    Revision,
    Text,
    Update,
)
from articles.push import PushRefused, is_quiet, new_key, prune_pushes, public_key, push_now
from articles.push.dispatch import _hosts, _next, _still, serve, take
from articles.push.plan import plan
from articles.review import approve_change, comparisons, version_of_change
from articles.sending import LEASE
from articles.webhooks.send import PinnedConnection
from scheduling.registry import Ending
from tests.articles.factories import APPROVED, make_article, make_channel, make_editor, make_user, soon
from tests.articles.fronts.composing import client_of
from tests.articles.import_files import run_import, write_lines
from tests.articles.push.services import Browser, PushService, claims_of, push_due, serving
from tests.conftest import StartManage
from tests.harness import eventually

pytestmark = pytest.mark.django_db(transaction=True)

TEXT = "Harbour bridge closed"
KEY = new_key()
State, Reason = Push.State, Push.Reason


@pytest.fixture
def service(settings: Any) -> Iterator[PushService]:
    settings.PUSH_KEY = KEY
    settings.PUSH_QUIET_HOURS = None
    with serving(settings) as one:
        yield one


def ask(browser: Browser, topics: Any = None, **headers: Any) -> Any:
    body = json.dumps({"subscription": browser.subscription, "topics": topics})
    return Client().post(reverse("push"), body, content_type="application/json", **headers)


def subscribed(service: PushService, name: str, *topics: str) -> Browser:
    browser = service.browser(name)
    assert ask(browser, [*(topics or ["breaking"])]).status_code == 200
    return browser


def armed(by: User, **values: Any) -> Alert:
    """An alert with a push about an article that waits to be published."""
    article = make_article("Bridge closed after collision", status=APPROVED, publish_at=soon(hours=1))
    return save_alert(article.pk, {"text": TEXT, "push": True, **values}, by=by)


def shown_alert(by: User) -> Alert:
    """An alert about an article that is live."""
    article = make_article("Bridge", status=Article.Status.PUBLISHED, publish_at=soon(minutes=-5))
    return save_alert(article.pk, {"text": TEXT, "push": True, "starts_at": soon(seconds=-1)}, by=by)


def publish(alert: Alert, by: User) -> None:
    publishing.publish_now(Article.objects.get(pk=alert.article_id), by=by)


def later() -> None:
    """As if all pauses had passed."""
    hour = timedelta(minutes=50)
    PushMessage.objects.update(due_at=F("due_at") - hour)
    Push.objects.update(due_at=F("due_at") - hour)


def test_readers_who_want_it_get_one_message_once_the_article_is_published(service: PushService) -> None:
    alice = make_editor()
    channel, other = make_channel("Harbour"), make_channel("Sport")
    browsers = {
        f"/{name}": subscribed(service, name, *topics)
        for name, topics in (("all", ["breaking"]), ("harbour", [str(channel.pk)]), ("sport", [str(other.pk)]))
    }
    alert = armed(alice)
    Article.objects.filter(pk=alert.article_id).update(channel=channel)
    push_due()
    assert service.requests == []  # not on save, and not before its time
    publish(alert, alice)
    assert service.requests == []  # a worker sends it, after the answer
    push_due()
    push_due()
    assert sorted(service.paths) == ["/all", "/harbour"]
    for path, headers, body in service.requests:
        said = browsers[path].read(body)
        assert (said["text"], said["tag"]) == (TEXT, f"article-{alert.article_id}")
        assert said["url"].endswith(Article.objects.get(pk=alert.article_id).get_absolute_url())
        assert (headers["ttl"], headers["topic"], headers["content-encoding"]) == ("3600", said["tag"], "aes128gcm")
        claims, key = claims_of(headers["authorization"])
        assert (claims["aud"], key) == (service.url, public_key())
        assert 0 < claims["exp"] - timezone.now().timestamp() < 86400
    push = Push.objects.get()
    assert (push.state, push.accepted) == (State.SENT, 2)
    publishing.unpublish(Article.objects.get(pk=alert.article_id), by=alice)
    publishing.republish(Article.objects.get(pk=alert.article_id), by=alice)
    push_due()
    assert len(service.requests) == 2


def test_an_article_that_is_live_already_is_pushed_by_a_person_alone_and_once(service: PushService) -> None:
    alice = make_editor()
    subscribed(service, "a")
    article = make_article("Bridge", status=Article.Status.PUBLISHED, publish_at=soon(minutes=-5))
    alert = save_alert(article.pk, {"text": TEXT, "push": True}, by=alice)
    save_alert(article.pk, {"starts_at": soon()}, by=alice, pk=alert.pk)
    push_due()
    assert (service.requests, Push.objects.count()) == ([], 0)
    page = Client()
    page.force_login(alice)
    address = reverse("admin:articles_alert_push", args=[alert.pk])
    shown = page.get(reverse("admin:articles_alert_change", args=[alert.pk])).text
    assert "Push now to 1 reader" in shown and address in shown
    for _click in range(2):
        assert page.post(address, {"after": "0"}).status_code == 302
    push_due()
    assert service.paths == ["/a"]
    push_now(alert, after=Push.objects.get().pk, by=alice)  # a follow-up
    push_due()
    assert service.paths == ["/a", "/a"]
    with pytest.raises(NotAllowed):
        push_now(alert, after=7, by=make_user("bob"))
    save_alert(article.pk, {"enabled": False}, by=alice, pk=alert.pk)
    with pytest.raises(PushRefused):
        push_now(alert, after=7, by=alice)


def test_an_import_that_publishes_an_article_pushes_nothing(service: PushService, tmp_path: Path) -> None:
    subscribed(service, "a")
    file, record = tmp_path / "articles.jsonl", {"external_id": "1", "title": "Bridge"}
    write_lines(file, record)
    run_import(file)
    alert = save_alert(Article.objects.get().pk, {"text": TEXT, "push": True}, by=make_editor())
    write_lines(file, record | {"status": "approved", "publish_at": soon(hours=-2).isoformat()})
    run_import(file, "--past-due", "publish")
    catch_up()
    assert Event.objects.get(kind=Event.Kind.PUBLISHED).object_id == alert.article_id
    push_due()
    assert (service.requests, Push.objects.count()) == ([], 0)


def test_a_page_from_before_a_push_wakes_no_reader_again(service: PushService) -> None:
    """It was opened once the article was live, and before a worker pushed the alert."""
    alice = make_editor()
    subscribed(service, "a")
    alert = armed(alice)
    publish(alert, alice)
    push_due()
    assert push_now(alert, after=0, by=alice) == Push.objects.get()
    push_due()
    assert service.paths == ["/a"]


def test_a_push_that_was_cancelled_is_not_taken_for_the_new_one(service: PushService) -> None:
    alice = make_editor()
    subscribed(service, "a")
    alert = shown_alert(alice)
    push_now(alert, after=0, by=alice)
    Push.objects.update(state=State.CANCELLED, reason=Reason.NOT_LIVE)
    push_now(alert, after=0, by=alice)  # from the same page
    push_due()
    assert service.paths == ["/a"]


def retract(alert: Alert, by: User) -> None:
    publishing.retract(Article.objects.get(pk=alert.article_id), by=by, notice="Wrong")


def unpublish(alert: Alert, by: User) -> None:
    publishing.unpublish(Article.objects.get(pk=alert.article_id), by=by)


def embargo(alert: Alert, by: User) -> None:
    Article.objects.filter(pk=alert.article_id).update(status=APPROVED, embargo_until=soon(hours=3))


def end(alert: Alert, by: User) -> None:
    Alert.objects.filter(pk=alert.pk).update(lasts=timedelta(0))


@pytest.mark.parametrize(
    ("change", "reason"),
    [(retract, Reason.NOT_LIVE), (unpublish, Reason.NOT_LIVE), (embargo, Reason.NOT_LIVE), (end, Reason.OVER)],
)
def test_what_is_not_true_when_it_would_be_sent_is_cancelled_and_the_alert_says_so(
    service: PushService, change: Any, reason: str
) -> None:
    alice = make_editor()
    subscribed(service, "a")
    alert = armed(alice)
    publish(alert, alice)
    change(alert, alice)
    push_due()
    push = Push.objects.get()
    assert (service.requests, push.state, push.reason) == ([], State.CANCELLED, reason)
    page = Client()
    page.force_login(alice)
    assert "Push cancelled" in page.get(reverse("admin:articles_alert_change", args=[alert.pk])).text


def test_state_is_read_again_before_each_chunk_and_an_alert_that_was_deleted_is_not_sent(
    service: PushService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("articles.push.dispatch._SMALLEST_CHUNK", 1)
    alice = make_editor()
    for name in "abc":
        subscribed(service, name)
    alert = armed(alice)
    publish(alert, alice)
    post = PinnedConnection.post

    def hide_and_post(*args: Any, **options: Any) -> Any:
        """While the first message is on its way."""
        Article.objects.filter(pk=alert.article_id).update(status=Article.Status.UNPUBLISHED)
        return post(*args, **options)

    monkeypatch.setattr(PinnedConnection, "post", hide_and_post)
    push_due()
    assert service.paths == ["/a"]
    push = Push.objects.get()
    assert (push.state, push.reason, push.accepted) == (State.CANCELLED, Reason.NOT_LIVE, 1)
    second = armed(alice)
    publish(second, alice)
    delete_alert(second, by=alice)
    push_due()
    assert service.paths == ["/a"]


@pytest.mark.thorough
def test_many_readers_take_few_statements_and_no_chunk_reads_all_before_again(
    service: PushService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("articles.push.dispatch._SMALLEST_CHUNK", 2)
    monkeypatch.setattr("articles.push.dispatch._QUICK", 1000)
    subscribed(service, "n0")
    first = PushSubscription.objects.get()
    for number in range(1, 30):
        name = f"{service.url}/n{number}"
        PushSubscription.objects.create(
            endpoint=name, digest=name, host=first.host, p256dh=first.p256dh, auth=first.auth, breaking=True
        )
    alice = make_editor()
    alert = armed(alice)
    publish(alert, alice)
    cuts: list[int] = []

    def note_and_read(push: Push, host: str, size: int, after: int) -> Any:
        cuts.append(after)
        return _next(push, host, size, after)

    monkeypatch.setattr("articles.push.dispatch._next", note_and_read)
    push_due()
    assert len({*service.paths}) == len(service.paths) == 30
    known = list(PushSubscription.objects.order_by("pk").values_list("pk", flat=True))
    assert cuts == [0, *(known[end - 1] for end in (2, 6, 14, 30))]


def test_its_address_has_no_word_of_a_text_that_readers_never_saw(service: PushService) -> None:
    """Another headline is approved for the same moment, and no worker has stored it yet."""
    alice = make_editor()
    browser = subscribed(service, "a")
    alert = armed(alice)
    text = replace(Text.of(alert.article), title="Bridge open", slug="bridge-open")
    revision = Revision.objects.add(alert.article, text)
    publish(alert, alice)
    Update.objects.create(article=alert.article, approved=revision, publish_at=soon(seconds=-1))
    push_due()
    ((_path, _headers, body),) = service.requests
    assert browser.read(body)["url"].endswith("/bridge-open/")


def test_a_service_that_is_no_longer_allowed_gets_nothing(service: PushService, settings: Any) -> None:
    alice = make_editor()
    subscribed(service, "a")
    settings.PUSH_HOSTS = []
    publish(armed(alice), alice)
    push_due()
    assert service.requests == []
    push = Push.objects.get()
    assert (push.state, push.failed) == (State.SENT, 1)


def test_services_are_obeyed(service: PushService) -> None:
    """Who is gone is deleted, and what fails is tried a few times."""
    alice = make_editor()
    for name in ("ok", "gone", "missing", "bad", "down"):
        subscribed(service, name)
    service.answers = {"/gone": 410, "/missing": 404, "/bad": 413, "/down": 500}
    alert = armed(alice)
    publish(alert, alice)
    push_due()
    assert sorted(service.paths) == ["/bad", "/down", "/gone", "/missing", "/ok"]
    left = PushSubscription.objects.values_list("endpoint", flat=True)
    assert {endpoint.rpartition("/")[2] for endpoint in left} == {"ok", "bad", "down"}
    for _attempt in range(6):
        later()
        push_due()
    assert service.paths.count("/down") == 4
    assert len(service.paths) == 8
    push = Push.objects.get()
    assert (push.state, push.accepted, push.failed, push.gone, push.doubtful) == (State.SENT, 1, 2, 2, 0)


def test_a_service_that_asks_for_a_pause_amid_a_chunk_gets_it_at_once(
    service: PushService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("articles.push.dispatch._CONNECTIONS", 1)
    monkeypatch.setattr("articles.push.dispatch._SMALLEST_CHUNK", 1)
    monkeypatch.setattr("articles.push.dispatch._QUICK", 1000)
    alice = make_editor()
    for name in "abcd":
        subscribed(service, name)
    service.answers, service.headers = {"/b": 429}, {"Retry-After": "1200"}
    publish(armed(alice, lasts=timedelta(hours=1)), alice)
    push_due()
    assert service.paths == ["/a", "/b"]
    push = Push.objects.get()
    assert push.due_at - push.created_at >= timedelta(minutes=20)
    service.answers = {}
    later()
    push_due()
    assert service.paths == ["/a", "/b", "/b", "/c", "/d"]


def test_a_service_that_asks_for_a_pause_gets_it_whole(service: PushService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("articles.push.dispatch._SMALLEST_CHUNK", 1)
    alice = make_editor()
    for name in "ab":
        subscribed(service, name)
    service.answer, service.headers = 429, {"Retry-After": "1200"}
    alert = armed(alice, lasts=timedelta(hours=1))
    publish(alert, alice)
    push_due()
    assert service.paths == ["/a"]  # the other one waits, too
    push = Push.objects.get()
    assert push.due_at - push.created_at >= timedelta(minutes=20)
    push_due()
    assert service.paths == ["/a"]
    service.answer = 201
    later()
    push_due()
    assert service.paths == ["/a", "/a", "/b"]
    assert Push.objects.get().accepted == 2


class SlowService:
    """A service whose requests take no time until it is slow, by a clock of its own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        self.is_slow = False
        self.requests: list[int] = [0]  #: in each chunk
        self._now = 0.0
        post, following = PinnedConnection.post, _next

        def post_slowly(line: PinnedConnection, *args: Any, **options: Any) -> Any:
            if line._target.host_header in name:
                self.requests[-1] += 1
                self._now += 13 if self.is_slow else 0
            return post(line, *args, **options)

        def note_and_read(push: Push, host: str, *args: Any) -> Any:
            if host in name:
                self.requests.append(0)
            return following(push, host, *args)

        def monotonic() -> float:
            self._now += 0.001
            return self._now

        monkeypatch.setattr(PinnedConnection, "post", post_slowly)
        monkeypatch.setattr("articles.push.dispatch._next", note_and_read)
        monkeypatch.setattr("articles.push.dispatch.time", SimpleNamespace(monotonic=monotonic))


@pytest.mark.thorough
def test_a_service_that_has_become_slow_gets_one_request_a_line_before_the_state_is_read_again(
    service: PushService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So the lease, and what is known of the article, are never older than one request."""
    monkeypatch.setattr("articles.push.dispatch._CONNECTIONS", 2)
    monkeypatch.setattr("articles.push.dispatch._SMALLEST_CHUNK", 2)
    alice = make_editor()
    for number in range(20):
        subscribed(service, f"n{number}")
    slow = SlowService(monkeypatch, service.url)

    def answer(handler: Any) -> None:
        slow.is_slow = len(service.requests) > 6
        handler.send_response(201)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    service.answer = answer
    publish(armed(alice), alice)
    while Push.objects.filter(state=State.SENDING).exists() or not Push.objects.exists():
        push_due()
    assert slow.requests[:3] == [0, 2, 4]
    assert slow.requests[3] < 8, "what is left of the chunk waits"
    assert max(slow.requests[4:]) <= 2
    assert len(service.paths) == len({*service.paths}) == 20
    push = Push.objects.get()
    assert (push.accepted, push.doubtful, push.failed) == (20, 0, 0)
    assert set(PushMessage.objects.values_list("attempts", flat=True)) == {1}


@pytest.mark.thorough
def test_a_slow_service_does_not_delay_what_another_one_is_to_get_again(
    service: PushService, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("articles.push.dispatch._SMALLEST_CHUNK", 1)
    alice = make_editor()
    subscribed(service, "a")
    service.answer = 500
    with serving(settings) as other:
        settings.PUSH_HOSTS = [one.removeprefix("http://") for one in (service.url, other.url)]
        for number in range(10):
            subscribed(other, f"n{number}")
        SlowService(monkeypatch, other.url).is_slow = True
        publish(armed(alice), alice)
        push_due()
        service.answer = 201
        PushMessage.objects.update(due_at=F("due_at") - timedelta(seconds=10))
        push_due()
        assert service.paths == ["/a", "/a"]
        assert 0 < len(other.requests) < 10
        while Push.objects.get().state == State.SENDING:
            push_due()
        assert len({*other.paths}) == len(other.requests) == 10


def test_who_has_lost_the_lease_sends_nothing_more(service: PushService, monkeypatch: pytest.MonkeyPatch) -> None:
    alice = make_editor()
    subscribed(service, "a")
    publish(armed(alice), alice)
    plan()
    others: list[Push | None] = []

    def stand_still(push: Push) -> Alert | None:
        """For longer than the lease."""
        alert = _still(push)
        Push.objects.update(leased_until=F("leased_until") - LEASE)
        others.append(take(push.pk))
        return alert

    with monkeypatch.context() as patch:
        patch.setattr("articles.push.dispatch._still", stand_still)
        push_due()
    assert service.requests == []
    (other,) = others
    assert other
    serve(other, Ending())
    assert service.paths == ["/a"]


def test_what_may_have_arrived_is_not_sent_again(service: PushService) -> None:
    alice = make_editor()
    subscribed(service, "a")

    def hang_up(handler: Any) -> None:
        handler.close_connection = True

    service.answer = hang_up
    alert = armed(alice)
    publish(alert, alice)
    push_due()
    later()
    push_due()
    assert service.paths == ["/a"]
    push = Push.objects.get()
    assert (push.state, push.doubtful) == (State.SENT, 1)


def test_a_worker_that_is_killed_between_ledger_and_note_sends_nothing_twice(
    service: PushService, start_manage: StartManage
) -> None:
    alice = make_editor()
    for number in range(20):
        subscribed(service, f"n{number}")
    env = {"PUSH_KEY": KEY, "PUSH_HOSTS": service.url.removeprefix("http://"), "PUSH_QUIET_HOURS": "never"}
    workers = [start_manage("poll", "--forever", env=env)]

    def die(handler: Any) -> None:
        if workers:
            worker = workers.pop()
            with suppress(AssertionError, ProcessLookupError):
                worker.kill_children()
            worker.kill()
        handler.close_connection = True

    service.answer = die
    alert = armed(alice)
    publish(alert, alice)
    eventually(lambda: bool(service.requests) and not workers)
    service.answer = 201
    Push.objects.update(leased_until=F("leased_until") - LEASE)
    start_manage("poll", "--forever", env=env)
    eventually(lambda: Push.objects.get().state == State.SENT)
    assert len(service.paths) == len({*service.paths})
    push = Push.objects.get()
    assert (push.accepted + push.doubtful, push.accepted >= 4) == (20, True)


def test_who_turned_it_off_gets_nothing_and_who_had_enough_today_neither(service: PushService, settings: Any) -> None:
    settings.PUSH_PER_DAY = 1
    alice = make_editor()
    gone, _full = subscribed(service, "gone"), subscribed(service, "full")
    first, second = armed(alice), armed(alice)
    publish(first, alice)
    assert ask(gone, []).json() == {"topics": []}
    assert PushSubscription.objects.count() == 1
    push_due()
    publish(second, alice)
    subscribed(service, "new")
    push_due()
    assert service.paths == ["/full", "/new"]
    assert {push.state for push in Push.objects.all()} == {State.SENT}


def test_who_turned_a_topic_off_does_not_get_what_was_refused_before(service: PushService) -> None:
    alice, sport = make_editor(), make_channel("Sport")
    off, on = subscribed(service, "off"), subscribed(service, "on")
    service.answer = 500
    publish(armed(alice), alice)
    push_due()
    assert sorted(service.paths) == ["/off", "/on"]
    assert ask(off, [str(sport.pk)]).json() == {"topics": [str(sport.pk)]}
    assert ask(on, ["breaking", str(sport.pk)]).status_code == 200
    service.answer = 201
    later()
    push_due()
    assert service.paths[2:] == ["/on"]
    push = Push.objects.get()
    assert (push.state, push.accepted, push.failed) == (State.SENT, 1, 1)


@pytest.mark.thorough
def test_a_browser_to_which_nothing_could_be_sent_for_long_is_forgotten(service: PushService) -> None:
    alice = make_editor()
    for name in ("dead", "alive", "back", "new"):
        subscribed(service, name)
    service.answers = {"/dead": 403, "/back": 403}

    def push(days_ago: int) -> None:
        alert = armed(alice)
        publish(alert, alice)
        push_due()
        of_it = PushMessage.objects.filter(push__alert=alert)
        of_it.update(sent_at=F("sent_at") - timedelta(days=days_ago))

    def left() -> set[str]:
        return {one.endpoint.rpartition("/")[2] for one in PushSubscription.objects.all()}

    push(days_ago=31)
    PushMessage.objects.filter(subscription__endpoint__endswith="new").delete()
    push(days_ago=20)
    prune_pushes()
    assert left() == {"dead", "alive", "back", "new"}, "one later failure says little"
    assert PushMessage.objects.count() == 4, "what is old"
    push(days_ago=10)
    service.answers["/back"] = 201
    push(days_ago=1)
    prune_pushes()
    assert left() == {"dead", "alive", "back", "new"}, "nothing is old enough"
    PushMessage.objects.update(sent_at=F("sent_at") - timedelta(days=15))
    prune_pushes()
    assert left() == {"alive", "back", "new"}


def test_no_browser_is_forgotten_while_nothing_is_taken_or_a_push_is_on_its_way(service: PushService) -> None:
    alice = make_editor()
    subscribed(service, "a")
    service.answers = {"/a": 403}  # of the key
    for days_ago in (31, 20, 10):
        alert = armed(alice)
        publish(alert, alice)
        push_due()
        PushMessage.objects.filter(push__alert=alert).update(sent_at=F("sent_at") - timedelta(days=days_ago))
    old = PushMessage.objects.earliest("sent_at")
    prune_pushes()
    assert PushSubscription.objects.count() == 1 and PushMessage.objects.count() == 2, "all failed"
    Push.objects.update(accepted=1)  # by another browser
    last = PushMessage.objects.latest("pk").pk
    for state, left in ((PushMessage.State.SENDING, 1), (PushMessage.State.FAILED, 0)):
        old.save(force_insert=True)
        PushMessage.objects.filter(pk=last).update(state=state)
        prune_pushes()
        assert PushSubscription.objects.count() == left


def test_in_quiet_hours_nothing_is_pushed_unless_the_chief_allows_it(service: PushService, settings: Any) -> None:
    settings.PUSH_QUIET_HOURS = (time(0), time(23, 59, 59, 999999))
    alice, chief = make_user("alice", "view_article", "publish_article"), make_editor("chief")
    permission = Permission.objects.get(codename="push_in_quiet_hours")
    chief.user_permissions.add(permission)
    subscribed(service, "a")
    quiet = armed(alice)
    publish(quiet, alice)
    push_due()
    assert (service.requests, Push.objects.get().reason) == ([], Reason.QUIET)
    with pytest.raises(NotAllowed):
        armed(alice, in_quiet_hours=True)
    with pytest.raises(NotAllowed):
        push_now(quiet, after=0, by=alice)
    allowed, changed = armed(chief, in_quiet_hours=True), armed(chief, in_quiet_hours=True)
    changed = save_alert(changed.article_id, {"text": "Another text", "in_quiet_hours": True}, by=alice, pk=changed.pk)
    assert not changed.in_quiet_hours
    for alert in (allowed, changed):
        publish(alert, chief)
    push_due()
    assert service.paths == ["/a"]
    settings.PUSH_QUIET_HOURS = (time(23), time(7))
    night, noon = datetime(2026, 1, 1, 2), datetime(2026, 1, 1, 12)
    assert [is_quiet(timezone.make_aware(moment)) for moment in (night, noon)] == [True, False]


def test_what_a_service_refused_before_quiet_hours_is_not_pushed_within_them(
    service: PushService, settings: Any
) -> None:
    alice, chief = make_editor(), make_editor("chief")
    chief.user_permissions.add(Permission.objects.get(codename="push_in_quiet_hours"))
    subscribed(service, "a")
    service.answer = 500
    for by, values in ((alice, {}), (chief, {"in_quiet_hours": True})):
        publish(armed(by, lasts=timedelta(hours=1), **values), by)
    push_due()
    assert service.paths == ["/a", "/a"]
    now = timezone.localtime(timezone.now(), timezone.get_default_timezone())
    settings.PUSH_QUIET_HOURS = (now.time(), (now + timedelta(hours=2)).time())
    service.answer = 201
    PushMessage.objects.update(due_at=F("due_at") - timedelta(seconds=10))
    Push.objects.update(due_at=F("due_at") - timedelta(seconds=10))
    push_due()
    assert service.paths == ["/a", "/a", "/a"]
    pushes = Push.objects.order_by("alert_id").values_list("state", "reason")
    assert list(pushes) == [(State.CANCELLED, Reason.QUIET), (State.SENT, "")]


def test_two_pushes_at_once_do_not_wake_a_reader_more_often_than_allowed(service: PushService, settings: Any) -> None:
    settings.PUSH_PER_DAY = 1
    alice = make_editor()
    for number in range(12):
        subscribed(service, f"n{number}")
    for alert in (armed(alice), armed(alice)):
        publish(alert, alice)
    plan()
    start = threading.Barrier(2)

    def send(pk: int) -> None:
        push = take(pk)
        assert push
        start.wait()
        serve(push, Ending())
        connections.close_all()

    both = [threading.Thread(target=send, args=[push.pk]) for push in Push.objects.all()]
    for each in both:
        each.start()
    for each in both:
        each.join()
    assert len(service.paths) == len({*service.paths}) == 12
    assert {push.state for push in Push.objects.all()} == {State.SENT}


def test_under_the_two_person_rule_another_person_approves_what_is_pushed(service: PushService, settings: Any) -> None:
    settings.ARTICLES_TWO_PERSON_RULE = True
    alice, bob = make_editor("alice"), make_editor("bob")
    subscribed(service, "a")
    alert, waiting = armed(alice), armed(alice)
    change = ProposedChange.objects.get(subject_id=str(alert.pk))
    approve_change(change.pk, version=version_of_change(comparisons(change)), by=bob)
    for one in (alert, waiting):
        publish(one, bob)
    push_due()
    assert len(service.requests) == 1
    assert Push.objects.get().alert_id == alert.pk


@pytest.mark.cases(6)
@pytest.mark.parametrize(
    "wrong",
    [
        {"endpoint": "https://push.example.org/a"},
        {"endpoint": "http://fcm.googleapis.com/a"},
        {"endpoint": "https://fcm.googleapis.com:8443/a"},
        {"endpoint": "https://fcm.googleapis.com.example.org/a"},
        {"endpoint": "https://fcm.googleapis.com@10.0.0.1/a"},
        {"endpoint": "https://fcm.googleapis.com/" + "a" * 1000},
        {"endpoint": f"https://{'a.' * 400}push.apple.com/a"},
        {"endpoint": ["x"]},
        {"p256dh": "BA" + "A" * 85},
        {"p256dh": "\ud800"},
        {"auth": "AAAA"},
        {"auth": "c2l4dGVlbiBieXRlcyBvaw" + 60 * "="},
        {"auth": None},
    ],
)
def test_subscriptions_are_checked(service: PushService, wrong: dict[str, Any]) -> None:
    given = service.browser("a").subscription
    keys = {name: wrong.get(name, value) for name, value in given["keys"].items()}
    given = {"endpoint": wrong.get("endpoint", given["endpoint"]), "keys": keys}
    body = {"subscription": given, "topics": ["breaking"]}
    answer = Client().post(reverse("push"), json.dumps(body), content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (400, "subscription_refused")
    assert not PushSubscription.objects.exists()


def test_the_address_takes_small_json_of_one_client_at_a_moderate_rate(service: PushService) -> None:
    assert ask(Browser("https://updates.push.services.mozilla.com/wpush/v2/gA"), ["breaking"]).status_code == 200
    browser = subscribed(service, "a")
    stranger = service.browser("a")
    assert ask(browser).json() == {"topics": ["breaking"]}
    answer = ask(browser, ["breaking"])
    assert not answer.cookies
    assert "no-store" in answer.headers["Cache-Control"]
    stolen = {**stranger.subscription, "keys": {**stranger.subscription["keys"], "auth": "A" * 22}}
    body = json.dumps({"subscription": stolen, "topics": []})
    assert Client().post(reverse("push"), body, content_type="application/json").status_code == 400
    assert PushSubscription.objects.count() == 2
    assert Client().post(reverse("push"), {"topics": "x"}).status_code == 415
    assert Client().post(reverse("push"), "x" * 9000, content_type="application/json").status_code == 413
    # Nothing is read of a body without a length.
    assert ask(browser, ["breaking"], CONTENT_LENGTH="").status_code == 400
    for _request in range(30):
        answer = ask(browser)
    assert (answer.status_code, "Retry-After" in answer.headers) == (429, True)


def test_without_a_key_there_is_no_button_and_no_address(settings: Any) -> None:
    settings.PUSH_KEY = ""
    assert "data-key" not in Client().get("/").text
    statuses = (Client().post(reverse("push")).status_code, Client().get(reverse("push-worker")).status_code)
    assert statuses == (404, 404)
    settings.PUSH_KEY = KEY
    page = Client().get(make_channel("Harbour").get_absolute_url()).text
    assert f'data-key="{public_key()}"' in page
    assert page.count("aria-pressed") == 2
    worker = Client().get(reverse("push-worker"))
    assert worker.headers["Content-Type"].startswith("text/javascript")
    assert "showNotification" in worker.text


def test_a_made_up_scheme_does_not_turn_away_the_pushes_of_others(service: PushService) -> None:
    """Each service gets what is for it over one kind of connection, that of its first reader."""
    alice = make_editor()
    first = service.browser("x")
    first.endpoint = first.endpoint.replace("http:", "https:")
    assert ask(first, ["breaking"]).status_code == 200
    subscribed(service, "a")
    push_now(shown_alert(alice), after=0, by=alice)
    push_due()
    assert service.paths == ["/a"]


def test_made_up_hosts_do_not_delay_the_services_that_readers_use(service: PushService) -> None:
    editor = make_editor()
    for name in ("a.push.apple.com", "b.push.apple.com", "z.push.apple.com", "z.push.apple.com"):
        number = PushSubscription.objects.count()
        PushSubscription.objects.create(endpoint=f"https://{name}/{number}", digest=number, host=name, breaking=True)
    push = push_now(shown_alert(editor), after=0, by=editor)
    assert _hosts(push) == ["z.push.apple.com", "a.push.apple.com", "b.push.apple.com"]


def test_a_request_that_a_program_repeats_is_pushed_once(service: PushService) -> None:
    editor = make_editor()
    subscribed(service, "a")
    address = f"/api/v1/desk/alerts/{shown_alert(editor).pk}/push/"
    answers = [client_of(editor).post(address) for _time in range(2)]
    assert [answer.status_code for answer in answers] == [202, 202]
    assert answers[0].json() == answers[1].json()
    Push.objects.update(created_at=soon(minutes=-2))
    assert client_of(editor).post(address).json()["id"] != answers[0].json()["id"], "a follow-up"


def test_a_button_that_is_clicked_twice_subscribes_once(service: PushService) -> None:
    browser, start = service.browser("a"), threading.Barrier(3)
    codes: list[int] = []

    def click() -> None:
        start.wait()
        codes.append(ask(browser, ["breaking"]).status_code)
        connections.close_all()

    clicks = [threading.Thread(target=click) for _click in range(3)]
    for each in clicks:
        each.start()
    for each in clicks:
        each.join()
    assert (codes, PushSubscription.objects.count()) == ([200] * 3, 1)
