"""Composed fronts: which version readers get, which cards, and what fills the places of those that are not visible."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from articles.cache.next_change import next_change
from articles.fronts import shows_image
from articles.models import Article, Block, Card, FrontVersion, Image, Release, Tag
from scheduling.database import database_now, read_database_clock
from tests.articles.factories import (
    APPROVED,
    add_block,
    make_article,
    make_channel,
    make_editor,
    make_front,
    make_release,
    soon,
)
from tests.articles.image_files import make_image

pytestmark = pytest.mark.django_db

Status = Article.Status
Backfill = Block.Backfill


def live(title: str, *, hours: float = 1, **values: Any) -> Article:
    """An article that went live so many hours ago."""
    return make_article(title, **{"status": Status.PUBLISHED, "publish_at": soon(hours=-hours), **values})


def shown(address: str = "/en/", **headers: str) -> list[str]:
    """The headlines of the cards of a page, in order."""
    text = Client().get(address, headers=headers).text
    return re.findall(r'<h[23]><a href="[^"]*">(.*?)</a></h[23]>', text)


def test_the_version_with_the_latest_time_that_has_come_is_live() -> None:
    first, second, third = (live(title) for title in ("First", "Second", "Third"))
    make_front(first, live_from=soon(hours=-2), size=1)
    make_front(second, live_from=soon(seconds=-1), size=1)
    make_front(third, live_from=soon(minutes=10), size=1)
    draft = make_front(third, live_from=soon(minutes=-30), size=1)
    FrontVersion.objects.filter(pk=draft.pk).update(status=FrontVersion.Status.DRAFT)
    assert shown() == ["Second"]


def hidden_articles() -> list[Article]:
    """One of each kind that readers must not see."""
    past, future = soon(minutes=-1), soon(minutes=1)
    return [
        make_article("MARKER draft", publish_at=past),
        make_article("MARKER waiting", status=APPROVED, publish_at=future),
        make_article("MARKER embargoed", status=APPROVED, publish_at=past, embargo_until=future),
        make_article("MARKER over", status=Status.PUBLISHED, publish_at=soon(hours=-2), unpublish_at=past),
        make_article("MARKER unpublished", status=Status.UNPUBLISHED, publish_at=past),
        make_article("MARKER retracted", status=Status.RETRACTED, publish_at=past, published_at=past),
    ]


def test_cards_of_articles_that_are_not_visible_are_left_out_with_their_own_texts() -> None:
    out, cover = live("Harbour bridge reopens"), make_image(make_editor())
    cards = [
        Card(
            article=article,
            headline=f"MARKER {article.pk}",
            kicker="MARKER",
            summary="MARKER",
            image=cover,
            sublinks=[{"article": out.pk, "headline": "MARKER"}],
        )
        for article in hidden_articles()
    ]
    below = Card(article=out, sublinks=[{"article": card.article_id, "headline": "MARKER"} for card in cards])
    make_front(*cards, below, size=4)
    for address in ("/", "/en/", "/api/v1/fronts/en/"):
        text = Client().get(address).text
        assert "Harbour bridge reopens" in text
        assert "MARKER" not in text and str(cover.pk) not in text
    assert Client().get(cover.preview).status_code == 404


def test_the_next_card_moves_up_and_the_newest_fill_the_rest() -> None:
    gone, second, third = make_article("Gone"), live("Second", hours=9), live("Third", hours=8)
    for number in range(4):
        live(f"Newest {number}", hours=1 + number)
    version = make_front(gone, second, size=2)
    add_block(version, third, size=3, backfill=Backfill.NEWEST, title="More")
    assert shown() == ["Second", "Third", "Newest 0", "Newest 1"]


def test_a_lead_is_never_empty() -> None:
    newest = live("Newest")
    make_front(make_article("Gone"), size=3)
    assert shown() == [newest.title]
    assert "Nothing has been published yet" not in Client().get("/en/").text


def test_an_article_is_on_a_front_once() -> None:
    story, other = live("Story"), live("Other", hours=2)
    version = make_front(story, size=2, backfill=Backfill.NEWEST)
    add_block(version, Card(article=story, headline="Again"), size=2, backfill=Backfill.NEWEST)
    assert shown() == [story.title, other.title]


def test_blocks_are_filled_from_their_channel_tag_or_release() -> None:
    town, tag, by = make_channel("Town"), Tag.objects.create(name="Rain"), make_editor()
    lead, of_tag = live("Lead"), live("Of the tag", hours=6)
    live("Of the channel", hours=5, channel=town)
    of_tag.tags.add(tag)
    member = make_article("Of the release", status=APPROVED)
    release = make_release(member, by=by)
    Release.objects.filter(pk=release.pk).update(status=Release.Status.PUBLISHED, published_at=soon(hours=-7))
    Article.objects.filter(pk=member.pk).update(publish_at=soon(hours=-7), status=Status.PUBLISHED)
    version = make_front(lead, size=1)
    add_block(version, size=2, backfill=Backfill.CHANNEL, channel=town, title="Town")
    add_block(version, size=2, backfill=Backfill.TAG, tag=tag, title="Rain")
    add_block(version, size=2, backfill=Backfill.RELEASE, title="Together")
    assert shown() == ["Lead", "Of the channel", "Of the tag", "Of the release"]


def test_cards_have_windows_and_links_have_no_article() -> None:
    one, two, three = (live(title) for title in ("One", "Two", "Three"))
    link = Card(url="https://example.org/count", headline="Watch the count")
    early, late = Card(article=two, shows_from=soon(minutes=5)), Card(article=three, shows_until=soon(minutes=-5))
    make_front(early, late, link, one, size=4)
    assert shown() == ["Watch the count", "One"]
    assert 'href="https://example.org/count"' in Client().get("/en/").text


def test_a_card_shows_its_own_texts_and_image_instead_of_the_articles() -> None:
    cover, own = make_image(make_editor()), make_image(make_editor("bob"))
    story, other = live("Title", summary="Of the article"), live("Other", hours=2)
    Article.objects.update(cover=[str(cover.pk)])
    card = Card(article=story, headline="Headline", kicker="Election", summary="Of the card", image=own)
    make_front(card, Card(article=other, no_image=True), size=2)
    text = Client().get("/en/").text
    assert all(part in text for part in (">Headline</a>", '<p class="kicker">Election</p>', "Of the card", str(own.pk)))
    assert "Of the article" not in text and str(cover.pk) not in text
    file = Client().get(own.preview)
    file.close()
    assert file.status_code == 200


def test_every_language_has_its_front_at_its_own_address() -> None:
    make_front(live("English"), size=1)
    make_front(live("中文"), size=1, language="zh-hans")
    assert shown("/en/", accept_language="zh-hans") == shown("/", accept_language="en") == ["English"]
    assert shown("/zh-hans/", accept_language="en") == shown("/", accept_language="zh-hans") == ["中文"]
    response = Client().get("/zh-hans/", headers={"accept-language": "en"})
    assert response.headers["Content-Language"] == "zh-hans"
    assert "Vary" not in response.headers
    assert '<link rel="canonical" href="http' in response.text and '/zh-hans/">' in response.text
    for code, path in (("en", "/en/"), ("zh-hans", "/zh-hans/"), ("x-default", "/")):
        assert re.search(f'hreflang="{code}" href="http[^"]*{path}"', response.text)
    assert Client().get("/fr/").status_code == 404


def test_an_automatic_front_has_the_articles_of_its_language_and_all_while_there_are_none() -> None:
    town = make_channel("Town")
    live("Bridge reopens", channel=town)
    assert shown("/en/") == shown("/zh-hans/") == ["Bridge reopens"]
    live("大桥重新开放 Bridge", channel=town, hours=2)
    assert (shown("/en/"), shown("/zh-hans/")) == (["Bridge reopens"], ["大桥重新开放 Bridge"])
    make_front(live("Lead", hours=3), size=2, backfill=Backfill.NEWEST)
    make_front(live("头条", hours=3), size=3, backfill=Backfill.NEWEST, language="zh-hans")
    assert (shown("/en/"), shown("/zh-hans/")) == (["Lead", "Bridge reopens"], ["头条", "大桥重新开放 Bridge"])
    assert [found.language for found in Article.objects.order_by("pk")] == ["en", "zh", "en", "zh"]


def test_a_channel_may_have_a_front() -> None:
    town = make_channel("Town")
    old, new = live("Old", hours=5, channel=town), live("New", channel=town)
    assert shown(town.get_absolute_url(), accept_language="en") == [new.title, old.title]
    make_front(old, size=1, channel=town)
    assert shown(town.get_absolute_url(), accept_language="en") == [old.title]
    assert shown(town.get_absolute_url(), accept_language="zh-hans") == [new.title, old.title]


def test_the_page_expires_when_a_version_or_a_card_changes_what_is_shown() -> None:
    at = read_database_clock() + timedelta(seconds=20)
    version = make_front(live("Soon"), live_from=at, size=1)
    assert abs(next_change().at - at) < timedelta(milliseconds=1)
    FrontVersion.objects.filter(pk=version.pk).update(live_from=soon(hours=-1))
    for window in ({"shows_from": at}, {"shows_until": at}):
        Card.objects.update(**{"shows_from": None, "shows_until": None, **window})
        assert abs(next_change().at - at) < timedelta(milliseconds=1)


def test_a_composed_front_costs_at_most_eight_statements_and_the_automatic_one_five(client: Client) -> None:
    town, tag = make_channel("Town"), Tag.objects.create(name="Rain")
    articles = [live(f"No. {number}", hours=number, channel=town) for number in range(20)]
    with CaptureQueriesContext(connection) as automatic:
        client.get("/en/")
    version = make_front(*articles[10:13], size=5, backfill=Backfill.NEWEST)
    add_block(version, articles[14], size=4, backfill=Backfill.CHANNEL, channel=town)
    add_block(version, size=4, backfill=Backfill.TAG, tag=tag)
    with CaptureQueriesContext(connection) as composed:
        client.get("/en/")
    assert (len(automatic) <= 5, len(composed) <= 8) == (True, True)


def test_the_page_names_its_front_and_version_for_purges(client: Client) -> None:
    automatic = client.get("/en/").headers["Surrogate-Key"].split()
    version = make_front(live("Story"), size=1)
    composed = client.get("/en/").headers["Surrogate-Key"].split()
    assert {"news", "front:en"} <= set(automatic)
    assert {"news", "front:en", f"version:{version.pk}"} <= set(composed)


def test_all_articles_follow_a_composed_front(client: Client) -> None:
    articles = [live(f"No. {number}", hours=number) for number in range(3)]
    make_front(articles[2], size=1)
    (older,) = re.findall(r'href="(\?before=[^"]+)"', client.get("/en/").text)
    found = client.get(f"/en/{older}").context["page"].articles
    assert [article.title for article in found] == ["No. 0", "No. 1", "No. 2"]


def front_of(slug: str) -> Any:
    return Client().get(f"/api/v1/fronts/{slug}/")


def test_the_api_takes_exactly_the_slug_and_names_only_fronts_that_exist() -> None:
    zurich = make_channel("Zürich", slug="zurich")
    make_front(live("Story"), size=1, channel=zurich)
    make_front(live("Lead", hours=2), size=1)
    found = front_of("en-zurich")
    assert (found.status_code, f"front:en:{zurich.pk}" in found.headers["Surrogate-Key"].split()) == (200, True)
    for slug in ("en-Zurich", "en-zürich", "EN", "ën", "en-zurich ", "en%0Ax", "nowhere"):
        missing = front_of(slug)
        assert (missing.status_code, "front:" in missing.headers.get("Surrogate-Key", "")) == (404, False)


def test_the_front_of_a_disabled_channel_is_not_found_and_shows_no_image() -> None:
    town, cover = make_channel("Town"), make_image(make_editor())
    make_front(Card(article=live("Story"), image=cover), size=1, channel=town)
    shown_on = shows_image(cover.pk, database_now())
    assert (front_of("en-town").status_code, str(shown_on and shown_on.slug)) == (200, "en-town")
    town.enabled = False
    town.save()
    assert (front_of("en-town").status_code, Client().get(cover.preview).status_code) == (404, 404)


@pytest.mark.parametrize("reason", ["no room", "shown above", "no image", "window", "version"])
def test_an_image_of_a_card_that_the_composed_front_leaves_out_is_not_shown(reason: str) -> None:
    first, second, cover = live("First"), live("Second", hours=2), make_image(make_editor())
    card = Card(article=second, image=cover)
    if reason == "shown above":
        card.article = first
    if reason == "no image":
        card.no_image = True
    if reason == "window":
        card.shows_until = soon(minutes=-1)
    make_front(first, card, size=1 if reason == "no room" else 2)
    if reason == "version":
        make_front(first, live_from=soon(minutes=-1), size=1)
    assert str(cover.pk) not in Client().get("/en/").text
    assert Client().get(cover.preview).status_code == 404


def test_a_card_is_an_article_or_a_link() -> None:
    version, story = make_front(live("Other"), size=3), live("Story", hours=2)
    with pytest.raises(IntegrityError), transaction.atomic():
        add_block(version, Card(article=story, url="https://example.org/", headline="Both"), size=1)
    add_block(version, Card(article=story, headline="Own headline"), size=1)
    story.delete()
    assert shown() == ["Other"]


def test_an_image_on_a_card_is_used_until_its_version_is_replaced(client: Client) -> None:
    editor = make_editor()
    cover, story = make_image(editor), live("Story")
    make_front(Card(article=story, image=cover), size=1)
    client.force_login(editor)
    address = f"/admin/articles/image/{cover.pk}/"
    form = client.get(f"{address}change/").text
    assert "Front page · English" in form and "It can be deleted" not in form
    refused = client.post(f"{address}delete/", {"post": "yes"}, follow=True)
    assert "The image is used in “Front page · English”; remove it there first." in refused.text
    assert not Image.objects.unused().exists()
    make_front(story, live_from=soon(minutes=-1), size=1)
    assert Image.objects.unused().get() == cover
    client.post(f"{address}delete/", {"post": "yes"})
    assert not Image.objects.exists()
