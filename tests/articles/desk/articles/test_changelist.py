"""The article list: search, filters, sorting and saved views."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from articles import publishing
from articles.desk.articles.search import best_matching
from articles.models import Article, SavedView, Tag
from articles.roles import Role
from tests.articles.factories import (
    APPROVED,
    EARLY,
    make_article,
    make_channel,
    make_editor,
    make_member,
    make_user,
    soon,
)

pytestmark = pytest.mark.django_db

Status = Article.Status
LIST = "/admin/articles/article/"
VIEWS = "/admin/desk/views/"


def logged_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def desk() -> Client:
    return logged_in(make_editor())


def titles(client: Client, query: str) -> set[str]:
    return {str(article) for article in client.get(f"{LIST}?{query}").context["cl"].result_list}


def tabs(client: Client, query: str = "") -> list[Any]:
    return list(client.get(f"{LIST}?{query}").context["tabs"])


def names(client: Client) -> list[str]:
    return [tab.name for tab in tabs(client)][6:]


def save(client: Client, name: str, query: str, **more: str) -> Any:
    return client.post(f"{VIEWS}save/", {"name": name, "query": query, **more}, follow=True)


def test_the_list_filters_by_status_as_editors_speak_of_it(desk: Client) -> None:
    """R5.8"""
    make_article("Draft")
    make_article("Ready", status=APPROVED)
    make_article("Scheduled", status=Status.MANUALLY_APPROVED, publish_at=soon(hours=1))
    make_article("Read", status=Status.MANUAL_REVIEW)
    assert titles(desk, "stage=draft") == {"Draft"}
    assert titles(desk, "stage=ready") == {"Ready"}
    assert titles(desk, "stage=scheduled") == {"Scheduled"}
    assert titles(desk, "stage=review") == {"Read"}
    assert titles(desk, "status__exact=8") == {"Ready"}


def test_the_list_filters_by_channel_author_and_whose(desk: Client) -> None:
    """R5.8"""
    politics, me, bob = make_channel(), User.objects.get(), make_user("bob")
    make_article("Bridge", channel=politics, author=me)
    make_article("Ferry", author=bob)
    assert titles(desk, f"channel={politics.pk}") == {"Bridge"}
    assert titles(desk, f"author={bob.pk}") == {"Ferry"}
    assert titles(desk, "whose=mine") == {"Bridge"}
    assert titles(desk, "author=nobody") == set()


def test_the_list_shows_what_is_at_risk_and_what_is_overdue(desk: Client) -> None:
    make_article("Hurry", publish_at=soon(hours=3))
    make_article("Next week", publish_at=soon(days=7))
    make_article("Too late", publish_at=soon(hours=-3))
    make_article("Not noted", status=APPROVED, publish_at=soon(minutes=-3), cleared_at=EARLY)
    make_article("Held", status=APPROVED, publish_at=soon(minutes=-3), embargo_until=soon(hours=1))
    assert titles(desk, "concern=at_risk") == {"Hurry"}
    assert titles(desk, "concern=overdue") == {"Too late"}
    assert [tab.count for tab in tabs(desk)[4:6]] == ["1", "1"]


def test_days_are_those_of_the_zone_on_the_screen(desk: Client) -> None:
    make_article("Late on the 1st in Berlin", status=APPROVED, publish_at=datetime(2030, 6, 1, 21, 59, tzinfo=UTC))
    make_article("Early on the 2nd in Berlin", status=APPROVED, publish_at=datetime(2030, 6, 1, 22, 0, tzinfo=UTC))
    with timezone.override(ZoneInfo("Europe/Berlin")):
        assert titles(desk, "days_from=2030-06-02") == {"Early on the 2nd in Berlin"}
        assert titles(desk, "days_to=2030-06-01") == {"Late on the 1st in Berlin"}
        assert "Europe/Berlin" in desk.get(LIST).text


@pytest.mark.cases(2)
@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("days_from=yesterday", "Enter a valid date."),
        ("days_from=2030-06-02&days_to=2030-06-01", "The end date is before the start date."),
        ("days_to=9999-12-31", "less than or equal to"),
        ("days_from=0001-01-01", "greater than or equal to"),
    ],
)
def test_days_that_make_no_sense_are_named_and_hide_nothing(desk: Client, query: str, message: str) -> None:
    make_article("Still here")
    page = desk.get(f"{LIST}?{query}")
    assert message in page.text
    assert titles(desk, query) == {"Still here"}


def test_the_search_finds_what_users_type(desk: Client) -> None:
    """R5.8"""
    wen = make_user("wen")
    User.objects.filter(pk=wen.pk).update(first_name="Wen", last_name="Harper")
    found = make_article("Tram line 4", summary="The fish market", byline="Ida Ek", author=wen)
    found.tags.add(Tag.objects.create(name="transport"), Tag.objects.create(name="trams"))
    make_article("Bees on the opera's roof")
    for term in ("tram", "FISH market", "market tram", "ida", "harper", "transport", str(found.pk), f"%23{found.pk}"):
        assert titles(desk, f"q={term}") == {"Tram line 4"}, term
    assert titles(desk, "q=tram+bees") == set()


@pytest.mark.cases(1)
@pytest.mark.parametrize("place", ["title", "body"])
def test_the_search_finds_words_of_drafts_however_they_are_written(desk: Client, place: str) -> None:
    pairs = [
        ("Donau\u00addampf\u00adschiff", "donaudampfschiff"), ("北\u200b京 opens", "北京"),
        ("snow\u2060ball", "snowball"),
        ("می\u200cخواهم", "میخواهم"), ("بِسْمِ", "بسم"), ("Of 10,000 tons", "10000"), ("Of 20000 tons", "20,000"),
        ("30\u202f000 tons", "30000"), ("An e-mail", "email"), ("The U.S. agreed", "US"), ("A bridge", "ｂｒｉｄｇｅ"),
    ]  # fmt: skip
    for number, (written, _asked) in enumerate(pairs):
        make_article(**{"title": f"Story {number}", place: written})
    make_article("Elsewhere", body="<p>10 000 things, e mail, U S</p>")

    found = {asked: list(best_matching(asked, limit=5)) for _written, asked in pairs}

    assert {asked: [getattr(one, place) for one in some] for asked, some in found.items()} == {
        asked: [written] for written, asked in pairs
    }


@pytest.mark.django_db(transaction=True)  # MariaDB finds committed words only
def test_the_search_covers_bodies(desk: Client) -> None:
    make_article("Tram line 4", body='<p class="x">The <b>depot</b> burns</p>')
    make_article("Ferry", status=Status.PUBLISHED, publish_at=soon(), body="<p>At the depots of the harbour</p>")
    bees = make_article("Bees", status=APPROVED, body="<p>Honey</p>")
    publishing.edit(bees, by=User.objects.get(), changes={"body": "<p>Honey from the depot</p>"})
    assert titles(desk, "q=depot") == {"Tram line 4", "Ferry", "Bees"}
    assert titles(desk, "q=depot+burns") == {"Tram line 4"}
    assert titles(desk, "q=honey&stage=ready") == {"Bees"}
    assert titles(desk, "q=class") == set()  # markup is no text


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("", "Write an article."),
        ("whose=mine", "You have no articles yet"),
        ("stage=scheduled", "Approve an article and give it a time."),
        ("concern=overdue", "Nothing is overdue"),
        ("stage=scheduled&q=x", "Try another search, or clear the filters."),
    ],
)
def test_an_empty_view_says_what_comes_there(desk: Client, query: str, text: str) -> None:
    assert text in desk.get(f"{LIST}?{query}").text


def test_the_list_reads_no_texts(desk: Client) -> None:
    make_article(body="x" * 1000)
    (article,) = desk.get(LIST).context["cl"].result_list
    assert "body" in article.get_deferred_fields()


@pytest.mark.thorough
def test_a_view_is_kept_and_shown_as_a_tab(desk: Client) -> None:
    make_article("Ferry", status=APPROVED)
    assert "Save view" in desk.get(f"{LIST}?stage=ready&q=ferry").text
    save(desk, "Ready ferries", "q=ferry&stage=ready&p=3&drop=table")
    assert SavedView.objects.get().query == "q=ferry&stage=ready"
    (tab,) = [tab for tab in tabs(desk, "stage=ready&q=ferry") if tab.is_open]
    assert tab.name == "Ready ferries"
    assert titles(desk, tab.link[1:]) == {"Ferry"}
    assert "Save view" not in desk.get(f"{LIST}{tab.link}").text


def test_what_is_too_long_to_be_kept_as_a_view_is_refused(desk: Client) -> None:
    assert "too long to save" in save(desk, "Much", "q=" + "%E6%B8%AF" * 115).text
    assert not SavedView.objects.exists()


def test_two_views_of_one_person_do_not_share_a_name(desk: Client) -> None:
    save(desk, "Mine", "stage=ready")
    assert "You already have a view with this name." in save(desk, "Mine", "stage=draft").text
    assert SavedView.objects.count() == 1


def test_a_view_is_private_until_it_is_shared(desk: Client) -> None:
    other = logged_in(make_member(Role.AUTHOR))
    save(desk, "Private", "stage=ready")
    save(desk, "For all", "stage=draft", shared="on")
    assert names(desk) == ["Private", "For all"]
    assert names(other) == ["For all"]
    assert tabs(other)[-1].owner == "alice"


def test_one_renames_orders_and_deletes_ones_own_views_alone(desk: Client) -> None:
    save(desk, "First", "stage=ready", shared="on")
    save(desk, "Second", "stage=draft")
    first, second = SavedView.objects.order_by("position")
    desk.post(f"{VIEWS}{second.pk}/move/", {"earlier": ""})
    assert names(desk) == ["Second", "First"]
    desk.post(f"{VIEWS}{second.pk}/", {"name": "Drafts"})
    stranger = logged_in(make_member(Role.AUTHOR))
    assert stranger.post(f"{VIEWS}{first.pk}/delete/").status_code == 404
    assert stranger.post(f"{VIEWS}{first.pk}/", {"name": "Taken"}).status_code == 404
    assert "Drafts" in desk.get(VIEWS).text
    desk.post(f"{VIEWS}{first.pk}/delete/")
    assert names(desk) == ["Drafts"]


def test_views_are_for_those_who_read_articles() -> None:
    assert logged_in(make_user("stranger")).post(f"{VIEWS}save/", {"name": "x"}).status_code == 403


def test_the_name_of_a_view_that_is_refused_stays_in_its_field(desk: Client) -> None:
    save(desk, "Mine", "stage=review")
    save(desk, "Late", "concern=overdue")
    view = SavedView.objects.get(name="Mine")
    for name in ("Late", "x" * 61):
        page = desk.post(f"{VIEWS}{view.pk}/", {"name": name})
        assert page.status_code == 400 and dict(page.context["rows"])[view]["name"].value() == name
        page = desk.post(f"{VIEWS}save/", {"name": name, "query": "channel=1", "shared": "on"})
        assert page.status_code == 400 and 'name="query" value="channel=1"' in page.text
        assert page.context["view_form"]["name"].value() == name and page.context["view_form"]["shared"].value()
    assert SavedView.objects.count() == 2
