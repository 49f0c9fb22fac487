"""A page at two instants side by side: what appears, goes and changes, as text."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from articles.models import Article, Update
from tests.articles.factories import APPROVED, EARLY, make_article, soon
from tests.articles.releases.test_by_clock import Newsroom
from tests.articles.site.test_reading import at, desk_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def newsroom() -> Newsroom:
    return Newsroom()


def rows(text: str) -> set[tuple[str, str, str]]:
    """What happens, and the line on both sides."""
    return set(re.findall(r'<th scope="row">(.*?)</th><td>(.*?)</td><td>(.*?)</td>', text))


def test_what_appears_goes_and_changes_is_shown_side_by_side_as_text(newsroom: Newsroom) -> None:
    moment = soon(hours=1)
    make_article("Coming headline", status=APPROVED, publish_at=moment, cleared_at=EARLY)
    Article.objects.filter(pk=newsroom.linking.pk).update(unpublish_at=moment)
    newsroom.update(newsroom.old, "It was <wrong>.", title="New headline", body="<p>Meadow</p><p>Valley</p>")
    Update.objects.update(publish_at=moment, updated_at=EARLY)
    desk, later = desk_of(newsroom), soon(hours=2)
    page = desk.get(f"{at('/latest/', later)}&with=now")
    assert "no-store" in page.headers["Cache-Control"] and "noindex" in page.headers["X-Robots-Tag"]
    shown = " ".join(f"{what}: {old}|{new}" for what, old, new in sorted(rows(page.text)))
    assert "Appears: |Coming headline" in shown and "Goes: Linking" in shown and "Changes: Old headline" in shown
    assert "Harbour opens" not in shown, "what stays is left out"
    assert "&lt;" not in shown, "texts alone, without elements and their attributes"
    article = rows(desk.get(f"{at(newsroom.old.get_absolute_url(), later)}&with=now").text)
    assert any("It was &lt;wrong&gt;." in new for _what, _old, new in article)
    for address in ("/feed/", "/sitemap.xml", "/api/v1/articles/", "/search/?q=coming", "/article/1000000/x/"):
        compared = desk.get(f"{at(address, later)}&with={soon(hours=3).isoformat().replace('+', '%2B')}")
        assert compared.status_code == 200 and "Readers see the same text" in compared.text, address
    assert any("Coming headline" in new for _what, _old, new in rows(desk.get(f"{at('/feed/', later)}&with=now").text))


def test_bad_instants_are_refused_and_strangers_get_the_live_page(newsroom: Newsroom) -> None:
    make_article("Coming headline", status=APPROVED, publish_at=soon(hours=1), cleared_at=EARLY)
    desk = desk_of(newsroom)
    for nonsense in ("nonsense", "", "0001-01-01T00:00", "2020-01-01T00:00:00Z"):
        assert desk.get(f"{at('/', soon(hours=2))}&with={nonsense}").status_code == 400
    page = Client().get(f"{at('/en/', soon(hours=2))}&with=now")
    assert "Coming headline" not in page.text and "compared" not in page.text
