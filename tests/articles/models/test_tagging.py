"""The copy of the article's time in its taggings, which indexes a tag's page."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.db import connection
from django.utils import timezone

from articles.models import Article, Tag, Tagging
from tests.articles.factories import make_article

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 11, 21, 12, tzinfo=timezone.get_default_timezone())


@pytest.fixture
def elections() -> Tag:
    return Tag.objects.create(name="Elections")


def times() -> list[datetime | None]:
    return list(Tagging.objects.order_by("article").values_list("goes_live_at", flat=True))


def test_a_tag_gets_the_time_of_its_article(elections: Tag) -> None:
    make_article(publish_at=NOON).tags.add(elections)
    make_article().tags.add(elections)
    assert times() == [NOON, None]


def test_the_time_follows_whichever_way_the_article_s_is_changed(elections: Tag) -> None:
    article = make_article(publish_at=NOON)
    article.tags.add(elections)
    article.publish_at = NOON + timedelta(hours=1)
    article.save()
    assert times() == [NOON + timedelta(hours=1)]
    Article.objects.update(publish_at=NOON)
    assert times() == [NOON]
    with connection.cursor() as cursor:
        cursor.execute("UPDATE articles_article SET publish_at = NULL")
    assert times() == [None]


def test_it_is_the_time_from_which_readers_see_the_article(elections: Tag) -> None:
    article = make_article(publish_at=NOON, embargo_until=NOON + timedelta(hours=2))
    article.tags.add(elections)
    assert times() == [NOON + timedelta(hours=2)]
    Article.objects.update(embargo_until=None)
    assert times() == [NOON]
    Article.objects.update(cleared_at=NOON + timedelta(hours=3))
    assert times() == [NOON + timedelta(hours=3)]


def test_the_articles_of_a_tag_are_found_by_it(elections: Tag) -> None:
    old, new, other = (make_article(publish_at=NOON + timedelta(days=days)) for days in (-2, -1, 0))
    old.tags.add(elections)
    new.tags.add(elections, Tag.objects.create(name="Roads"))
    other.tags.add(Tag.objects.create(name="Parks"))
    assert list(Article.objects.tagged(elections.pk).newest_first()) == [new, old]
    new.delete()
    assert list(Article.objects.tagged(elections.pk)) == [old]
