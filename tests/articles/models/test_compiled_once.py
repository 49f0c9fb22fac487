"""Statements that are compiled once give present rows, in each thread."""

from __future__ import annotations

from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from articles.models import Article, ArticleQuerySet, Channel, ChannelQuerySet
from scheduling.database import among, at_instant, compiled_for, compiled_once, database_now, first_rows
from tests.articles.factories import APPROVED, make_article, make_channel, soon

pytestmark = pytest.mark.django_db(transaction=True)


def after(pk: int, limit: int) -> ChannelQuerySet:
    """The names of some channels."""
    return Channel.objects.filter(pk__gt=pk).order_by("pk")[:limit]


def names(pk: int, limit: int) -> list[str]:
    return [channel.name for channel in compiled_once(after, pk, limit)]


def names_elsewhere(pk: int, limit: int) -> list[str]:
    found = names(pk, limit)
    connection.close()
    return found


def test_the_rows_are_read_at_each_use_and_in_each_thread() -> None:
    first = make_channel("Politics")
    assert names(0, 2) == ["Politics"]
    make_channel("Sport")
    make_channel("Town")
    assert (names(0, 2), names(0, 1), names(first.pk, 2)) == (["Politics", "Sport"], ["Politics"], ["Sport", "Town"])
    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(names_elsewhere, 0, 2).result() == ["Politics", "Sport"]
    with CaptureQueriesContext(connection) as queries:
        assert names(0, 2) == ["Politics", "Sport"]
    assert len(queries) == 1


def having(ids: Collection[Any]) -> ChannelQuerySet:
    """The channels with these ids."""
    return Channel.objects.filter(pk__in=among(ids)).order_by("pk")


def test_ids_become_part_of_a_statement_only_as_numbers() -> None:
    first, second = make_channel("Politics"), make_channel("Sport")
    assert compiled_for(having, [second.pk, first.pk]) == [first, second]
    assert compiled_for(having, {second.pk}) == [second]
    assert compiled_for(having, []) == []
    injected: list[Any] = ["0) OR (1 = 1"]
    with pytest.raises((TypeError, ValueError)):
        compiled_for(having, injected)


def begun(*, by: Any) -> ArticleQuerySet:
    """The articles that go live until a time, at the latest now."""
    return Article.objects.live(database_now()).filter(goes_live_at__lte=by).order_by("pk")


def lists(limit: int, *, by: Any) -> list[Any]:
    """The same in two lists: as numbers, and none."""
    return [begun(by=by).values_list("pk")[:limit], Article.objects.none().values_list("pk")]


def test_times_are_those_of_each_use() -> None:
    published: dict[str, Any] = {"status": Article.Status.PUBLISHED}
    first, second = (make_article(publish_at=soon(hours=-hours), **published) for hours in (3, 1))
    coming = make_article(status=APPROVED, publish_at=soon(hours=2))
    for by, at, found in (
        (soon(hours=-2), soon(), [first]),
        (soon(), soon(), [first, second]),
        (soon(hours=9), soon(), [first, second]),
        (soon(hours=9), soon(hours=3), [first, second, coming]),
        (soon(hours=9), soon(hours=-2), [first]),
    ):
        with at_instant(at):
            assert compiled_once(begun, by=by) == found
            assert first_rows(lists, 9, by=by) == [(article.pk,) for article in found]
    assert compiled_once(begun, by=soon(hours=9)) == [first, second]
