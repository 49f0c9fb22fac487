"""Every response and file dates an article with the instant from which readers could see it, noted by a worker or not.

Formats without fractions of a second round up: nothing is dated before it was visible.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from html import unescape
from pathlib import Path

import pytest
from django.db import transaction
from django.test import Client

from articles import publishing
from articles.models import Article
from tests.articles.factories import APPROVED, EARLY, approve, make_article, make_editor, soon
from tests.articles.import_files import run_command

pytestmark = pytest.mark.django_db(transaction=True)

Status = Article.Status


def seconds(text: str) -> datetime:
    return datetime.fromtimestamp(int(text.split(".")[0]), UTC).replace(microsecond=int(text.split(".")[1]))


def iso(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


API = r'"published_at":"([^"]+)"'
SHOWN: Mapping[str, list[tuple[str, Callable[[str], datetime], bool]]] = {
    "/": [(r'data-time="([\d.]+)"', seconds, True), (r'<time datetime="([^"]+)"', iso, False)],
    "/latest/": [(r'data-time="([\d.]+)"', seconds, True), (r'<time datetime="([^"]+)"', iso, False)],
    "{article}": [
        (r'published_time" content="([^"]+)"', iso, True),
        (r'"datePublished": "([^"]+)"', iso, True),
        (r'class="meta"[^>]*>.*?<time datetime="([^"]+)"', iso, False),
    ],
    "/feed/": [(r"<pubDate>([^<]+)<", parsedate_to_datetime, False)],
    "/feed/atom/": [(r"<published>([^<]+)<", iso, True)],
    "/feed/json/": [(r'"date_published": "([^"]+)"', iso, True)],
    "/api/v1/articles/": [(API, iso, True)],
    "/api/v1/articles/{pk}/": [(API, iso, True)],
    "/api/v1/articles/?updated_since=2000-01-01T00:00:00Z": [(API, iso, True)],
    "/news-sitemap.xml": [(r"<news:publication_date>([^<]+)<", iso, True)],
}
"""Where a response has the date, how to read it, and whether it is exact."""

FILES: Mapping[str, tuple[str, Callable[[str], datetime], bool]] = {
    "out.jsonl": (r'"published_at": "([^"]+)"', iso, True),
    "out.xml": (r"</wp:post_id>\s*<pubDate><!\[CDATA\[([^\]]+)\]", parsedate_to_datetime, False),
}


def wrong_dates(article: Article, directory: Path) -> dict[str, list[datetime]]:
    """The dates of responses and files that differ from `goes_live_at`."""
    article.refresh_from_db()
    exact = article.out_since
    rounded = (exact + timedelta(microseconds=999_999)).replace(microsecond=0)
    wrong = {}
    for path, patterns in SHOWN.items():
        address = path.format(article=article.get_absolute_url(), pk=article.pk)
        text = unescape(Client().get(address).text)
        for pattern, read, is_exact in patterns:
            dates = [read(found) for found in re.findall(pattern, text, re.DOTALL)]
            if set(dates) != {exact if is_exact else rounded}:
                wrong[f"{address} {pattern}"] = dates
    for name, (pattern, read, is_exact) in FILES.items():
        run_command("export_articles", directory / name)
        dates = [read(found) for found in re.findall(pattern, (directory / name).read_text(encoding="utf-8"))]
        if set(dates) != {exact if is_exact else rounded}:
            wrong[name] = dates
    return wrong


def at_its_time(article: Article) -> None:
    Article.objects.filter(pk=article.pk).update(publish_at=soon(seconds=-1), embargo_until=None, cleared_at=EARLY)


def embargo_over(article: Article) -> None:
    Article.objects.filter(pk=article.pk).update(embargo_until=soon(seconds=-1), cleared_at=EARLY)


def embargo_lifted(article: Article) -> None:
    publishing.set_embargo(article, until=None, by=make_editor())


@pytest.mark.cases(2)
@pytest.mark.parametrize("go_live", [at_its_time, embargo_over, embargo_lifted, approve])
def test_every_date_is_the_instant_from_which_readers_saw_it(
    go_live: Callable[[Article], None], tmp_path: Path
) -> None:
    held = {"status": APPROVED, "embargo_until": soon(days=1), "cleared_at": EARLY}
    state = {"status": Status.MANUAL_REVIEW} if go_live is approve else held
    article = make_article(publish_at=soon(hours=-2), **state)
    go_live(article)
    assert wrong_dates(article, tmp_path) == {}
    with transaction.atomic():  # the worker is late
        assert publishing.publish_due([article.pk]).done
    assert wrong_dates(article, tmp_path) == {}
    assert article.published_at == article.goes_live_at
