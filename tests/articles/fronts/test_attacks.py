"""What a hurried editor, two at once, or the clock could do to fronts."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.core.cache import caches
from django.db import connections
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from articles import releases
from articles.distribution import catch_up, catch_up_completely
from articles.models import Article, Card, ChangeKind, Event, FrontVersion, Release, coming_changes, stops
from scheduling.database import read_database_clock
from tests.articles.factories import add_block, make_article, make_channel, make_editor, make_front, make_release, soon
from tests.articles.fronts.composing import client_of
from tests.articles.fronts.test_composing import live, shown
from tests.articles.fronts.test_in_releases import Evening, draft_of
from tests.articles.site.test_front_archive import address

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_lead_shows_nothing_of_other_channels_than_those_it_was_made_for() -> None:
    deleted, own = make_channel("Gone"), make_channel("Own")
    version = make_front(size=3, backfill="channel", channel=None)
    version.blocks.update(channel=deleted)
    add_block(version, Card(url="https://example.com/", headline="A link"), backfill="none", position=1)
    make_front(Card(article=make_article("Not out", channel=own)), channel=own, size=1, backfill="none")
    live("Own news", channel=own, hours=3)
    live("Other news")
    assert shown("/channel/own/") == ["Own news"]
    deleted.delete()
    assert shown() == ["A link"], "nothing unrelated, though a lead is not empty otherwise"


def test_a_past_front_shows_nothing_that_a_release_has_unpublished_by_the_clock(settings: Any) -> None:
    settings.FRONT_ARCHIVE = True
    editor, story = make_editor(), live("Story", hours=50)
    make_front(Card(article=story, headline="Lead"), size=1, live_from=soon(hours=-48))
    release = make_release(by=editor)
    releases.add_member(release, article=story, action="unpublish", by=editor)
    releases.schedule_release(release, publish_at=soon(hours=1), by=editor)
    assert shown(address(soon(hours=-1))) == ["Lead"]
    Release.objects.update(publish_at=soon(seconds=-1), updated_at=soon(seconds=-1))
    caches["responses"].clear()
    assert shown() == shown(address(soon(hours=-1))) == []


def test_cards_of_a_version_that_was_rolled_back_or_that_no_reader_gets_are_no_coming_changes() -> None:
    evening, channel = Evening(), make_channel("Closed", enabled=False)
    evening.add()
    hidden = {"shows_until": soon(hours=5)}
    Card.objects.filter(block__version=evening.draft).update(**hidden)
    make_front(Card(article=live("Closed news"), **hidden), channel=channel, size=1)
    make_front(Card(article=live("Later")), channel=channel, size=1, live_from=soon(hours=2))
    evening.client.post(f"{evening.address}publish/")
    assert [change.kind for change in coming_changes(timezone.now(), limit=9)] == [ChangeKind.CARD_HIDDEN]
    evening.client.post(f"{evening.address}rollback/")
    assert coming_changes(timezone.now(), limit=9) == []


def test_no_event_names_the_front_of_a_channel_that_readers_do_not_get() -> None:
    channel = make_channel("Secret plans", enabled=False)
    make_front(live("Story"), channel=channel, size=1)
    fronts = Event.objects.filter(kind=Event.Kind.FRONT_LIVE)
    catch_up()
    assert not fronts.exists()
    channel.enabled = True
    channel.save()
    catch_up()
    assert fronts.get().payload["url"] == "/channel/secret-plans/"


def test_a_front_in_a_language_that_the_site_has_no_more_is_no_change_and_stops_no_event() -> None:
    story = make_article("Live", status=Article.Status.PUBLISHED, publish_at=soon(hours=-9))
    for hours in (-1, 1):
        make_front(story, live_from=soon(hours=hours), language="fr")
    assert catch_up_completely() == 0
    assert not Event.objects.filter(kind=Event.Kind.FRONT_LIVE).exists()
    assert Client().get("/api/v1/fronts/fr/").status_code == 404
    assert not stops(read_database_clock(), limit=9)
    make_front(story, live_from=soon(minutes=-1))
    catch_up_completely()
    assert Event.objects.filter(kind=Event.Kind.FRONT_LIVE).count() == 1


def test_no_version_gets_the_instant_of_one_in_a_release_which_could_not_be_published_then() -> None:
    evening, at = Evening(), soon(hours=1).isoformat()
    evening.add()
    evening.client.post(f"{evening.address}schedule/", {"publish_at": at})
    other = draft_of(evening.old.front, Card(article=evening.news))
    answer = evening.client.post(
        f"/api/v1/desk/fronts/{other.front_id}/versions/{other.pk}/schedule/", {"live_from": at}
    )
    assert (answer.status_code, answer.json()["code"]) == (409, "front_instant_taken")
    second = make_release(by=evening.editor, name="Later")
    releases.add_front(second, version=other, by=evening.editor)
    client = client_of(evening.editor)
    client.post(f"/api/v1/desk/releases/{second.pk}/schedule/", {"publish_at": at})
    problems = {
        pk: [one.code for one in releases.preflight(Release.objects.get(pk=pk))]
        for pk in (evening.release.pk, second.pk)
    }
    assert problems == {evening.release.pk: [], second.pk: ["front_instant_taken"]}


def test_an_article_that_is_put_on_the_front_twice_at_once_is_there_once() -> None:
    editor, article = make_editor(), make_article("Not out")
    live("Story")
    address, start = f"{reverse('admin:articles_front_put')}?article={article.pk}", threading.Barrier(3)

    def put() -> None:
        client = Client()
        client.force_login(editor)
        start.wait()
        client.post(address, {"front": "en", "place": "lead"})
        connections.close_all()

    clicks = [threading.Thread(target=put) for _click in range(3)]
    for click in clicks:
        click.start()
    for click in clicks:
        click.join()
    assert Card.objects.filter(article=article, block__version=FrontVersion.objects.get()).count() == 1


def test_a_second_click_starts_no_second_draft_and_an_empty_front_says_so() -> None:
    editor, article, client = make_editor(), live("Story"), Client()
    client.force_login(editor)
    version = make_front(article, size=1)
    for like in ("", str(version.number)):
        for _click in range(2):
            client.post(reverse("admin:articles_front_start", args=[version.front_id]), {"like": like})
    draft = FrontVersion.objects.get(status=FrontVersion.Status.DRAFT)
    FrontVersion.objects.filter(pk=draft.pk).update(edits=1)
    client.post(reverse("admin:articles_front_start", args=[version.front_id]))
    assert FrontVersion.objects.count() == 3
    for each in FrontVersion.objects.filter(status=FrontVersion.Status.DRAFT):
        each.blocks.all().delete()
    address = f"{reverse('admin:articles_front_put')}?article={article.pk}"
    page = client.post(address, {"front": "en", "place": "lead"}, follow=True).text
    assert "The front has no blocks yet." in page and "is on the draft" not in page
    assert Article.objects.count() == 1


def test_an_event_says_that_readers_get_an_earlier_front_again_after_a_roll_back() -> None:
    evening = Evening()
    evening.add()
    catch_up()
    for action in ("publish", "rollback"):
        evening.client.post(f"{evening.address}{action}/")
        catch_up()
    numbers = Event.objects.filter(kind=Event.Kind.FRONT_LIVE).order_by("seq").values_list("revision", flat=True)
    assert list(numbers) == [1, 2, 1]
