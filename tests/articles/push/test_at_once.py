"""A push is written while the subscription, or the article, is being deleted: neither refuses the other."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, connections
from django.test import Client

from articles.alerts import save_alert
from articles.models import Article, Push, PushMessage, PushSubscription
from articles.push import push_now, subscribe
from articles.push.dispatch import _next, _note, take
from articles.push.subscriptions import GivenSubscription
from articles.webhooks import Reply
from tests.articles.factories import make_article, make_editor, make_user, soon
from tests.articles.push.services import PushService, serving
from tests.articles.push.test_push import KEY, shown_alert, subscribed
from tests.articles.releases.test_races import someone_waits
from tests.harness import PATIENCE, eventually

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _row_locks() -> None:
    if not connection.features.has_select_for_update:
        pytest.skip("SQLite has no row locks")


@pytest.fixture
def service(settings: Any) -> Iterator[PushService]:
    settings.PUSH_KEY, settings.PUSH_QUIET_HOURS = KEY, None
    with serving(settings) as one:
        yield one


@pytest.fixture
def alice() -> User:
    return make_editor()


def push(alice: User) -> Push:
    """One that this thread sends."""
    (found,) = [take(push_now(shown_alert(alice), after=0, by=alice).pk)]
    assert found is not None
    return found


def another_push(alice: User) -> Push:
    article = make_article("Second", status=Article.Status.PUBLISHED, publish_at=soon(minutes=-5))
    alert = save_alert(article.pk, {"text": "Second thing", "starts_at": soon(minutes=-1)}, by=alice)
    found = take(push_now(alert, after=0, by=alice).pk)
    assert found is not None
    return found


@contextmanager
def once_messages_are_deleted(act: Callable[[], Any]) -> Iterator[None]:
    """Begin to do this in another thread after the first deletion of messages; it ends, or waits."""
    threads: list[threading.Thread] = []

    def run() -> None:
        try:
            act()
        finally:
            connections.close_all()

    def follow(execute: Callable[..., Any], sql: str, *given: Any) -> Any:
        result = execute(sql, *given)
        if sql.startswith("DELETE") and PushMessage._meta.db_table in sql and not threads:
            threads.append(threading.Thread(target=run))
            threads[0].start()
            eventually(lambda: not threads[0].is_alive() or someone_waits())
        return result

    with connection.execute_wrapper(follow):
        yield
    threads[0].join(PATIENCE)


def test_a_subscription_is_gone_while_another_push_is_written_for_it(service: PushService, alice: User) -> None:
    for number in range(3):
        subscribed(service, f"b{number}")
    host, one, two = PushSubscription.objects.all()[0].host, push(alice), another_push(alice)
    chunk, _after = _next(one, host, 16, 0)
    replies = [Reply(1, 410), Reply(1, 429, retry_after=5), Reply(1, 201)]
    with once_messages_are_deleted(lambda: _next(two, host, 16, 0)):
        _note(one, chunk, replies)
    State = PushMessage.State  # noqa: N806 (a class)
    assert sorted(one.messages.values_list("state", flat=True)) == sorted([State.WAITING, State.ACCEPTED])
    assert two.messages.count() == PushSubscription.objects.count() == 2


def test_a_reader_turns_pushes_off_while_one_is_written(service: PushService, alice: User) -> None:
    subscribed(service, "b0")
    known, one = PushSubscription.objects.get(), push(alice)
    given = GivenSubscription(known.endpoint, known.p256dh, known.auth)
    with once_messages_are_deleted(lambda: _next(one, known.host, 16, 0)):
        assert subscribe(given, []) == []
    assert not PushSubscription.objects.exists()


def test_an_article_is_deleted_while_its_push_is_written(service: PushService, alice: User) -> None:
    subscribed(service, "b0")
    known, one, client = PushSubscription.objects.get(), push(alice), Client()
    client.force_login(make_user("boss", is_superuser=True))
    with once_messages_are_deleted(lambda: _next(one, known.host, 16, 0)):
        answer = client.post(f"/admin/articles/article/{one.article_id}/delete/", {"post": "yes"})
    assert answer.status_code == 302
    assert not Article.objects.filter(pk=one.article_id).exists()
