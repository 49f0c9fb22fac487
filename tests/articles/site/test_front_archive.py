"""Fronts of past instants: for the newsroom always, for readers where the site allows it."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.core.cache import caches
from django.test import Client
from django.utils import timezone

from articles.models import Article, Card, FrontVersion
from articles.publishing import unpublish
from tests.articles.factories import make_editor, make_front, soon
from tests.articles.fronts.test_composing import live, shown
from tests.articles.image_files import make_image

pytestmark = pytest.mark.django_db


def address(at: datetime) -> str:
    return f"{timezone.localtime(at, timezone.get_default_timezone()):/front/%Y/%m/%d/%H:%M}"


def test_readers_get_a_past_front_where_the_site_allows_it(settings: Any) -> None:
    editor, story = make_editor(), live("Story", hours=50)
    gone = live("Gone", hours=50)
    ended = Card(article=story, headline="Morning lead", shows_until=soon(hours=-20))
    make_front(ended, Card(article=gone), size=3, live_from=soon(hours=-48), backfill="newest")
    make_front(Card(article=story, headline="Today"), size=1, live_from=soon(hours=-2))
    live("Newer")
    unpublish(gone, by=editor)
    then, staff = address(soon(hours=-30)), Client()
    assert Client().get(then).status_code == 404
    staff.force_login(editor)
    assert "Morning lead" in staff.get(then).text
    settings.FRONT_ARCHIVE = True
    page = Client().get(then)
    assert shown(then) == ["Morning lead"], "neither what is unpublished nor what is newer"
    assert "no-store" in page["Cache-Control"] and page["X-Robots-Tag"] == "noindex"
    assert shown(address(soon(hours=-1))) == ["Today"]


@pytest.mark.parametrize(
    "bad", ["/front/2026/2/30/07:00", "/front/2026/1/1/25:00", "/front/1/1/1/x", "/front/99999/1/1/07:00"]
)
def test_what_is_no_past_instant_is_not_found(settings: Any, bad: str) -> None:
    settings.FRONT_ARCHIVE = True
    make_front(live("Story"), size=1)
    assert Client().get(bad).status_code == 404
    assert Client().get(address(soon(hours=-5))).status_code == 404, "nothing was composed yet"
    assert Client().get(address(soon(hours=0) + timedelta(hours=1))).status_code == 404
    assert Article.objects.count() == 1


def test_a_cards_own_image_is_shown_in_the_archive_where_the_site_allows_it_and_never_before(settings: Any) -> None:
    editor, story = make_editor(), live("Story", hours=50)
    shown_once, unseen, planned, hidden = (make_image(editor, alt) for alt in ("past", "unseen", "planned", "hidden"))
    gone = live("Gone", hours=50)
    cards = [Card(article=story, image=shown_once), Card(article=gone, image=hidden)]
    make_front(*cards, Card(url="/latest/", headline="All", image=unseen), size=2, live_from=soon(hours=-48))
    make_front(story, live_from=soon(hours=-2))
    make_front(Card(article=story, image=planned), live_from=soon(hours=2))
    unpublish(gone, by=editor)
    Card.objects.filter(image=unseen).update(shows_from=soon(hours=-1))

    def seen() -> list[str]:
        images = [shown_once, unseen, planned, hidden]
        return [image.alt for image in images if Client().head(f"/media/{image.path('320.webp')}").status_code == 200]

    settings.MEDIA_ACCEL_REDIRECT = "/files/"  # the web server sends the files
    assert seen() == []
    settings.FRONT_ARCHIVE = True
    assert seen() == ["past"], "a card that readers never got keeps its image to the newsroom"
    FrontVersion.objects.filter(number=3).update(live_from=soon(hours=-1))
    FrontVersion.objects.filter(number=2).update(live_until=soon(hours=-1))
    assert seen() == ["past", "planned"]
    Article.objects.filter(pk=story.pk).update(status=Article.Status.RETRACTED)
    caches["responses"].clear()
    assert seen() == []


def test_the_history_of_a_front_leads_to_what_readers_got_in_its_language() -> None:
    version = make_front(live("Story", hours=50), live_from=soon(hours=-48))
    make_front(live("Later"), live_from=soon(hours=-2))
    desk = Client(headers={"accept-language": "zh-hans"})
    desk.force_login(make_editor())
    links = re.findall(r'href="(/front/[^"]+)"', desk.get(f"/admin/articles/front/{version.front_id}/change/").text)
    assert len(links) == 2
    assert "Story" in desk.get(links[1]).text and "Later" not in desk.get(links[1]).text
