"""The editor of a front without a script: each button is a form that a browser sends."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from articles.limits import MOST_OPERATIONS
from articles.models import Article, Block, Card, FrontVersion
from articles.roles import Role
from tests.articles.factories import make_article, make_channel, make_editor, make_front, make_member, soon
from tests.articles.image_files import make_image

pytestmark = pytest.mark.django_db

LIST = "/admin/articles/front/"


def live(title: str, *, hours: float = 1, **values: Any) -> Article:
    """An article that went live so many hours ago."""
    return make_article(title, status=Article.Status.PUBLISHED, publish_at=soon(hours=-hours), **values)


def desk_of(user: User) -> Client:
    """A browser in which the user is signed in."""
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def desk() -> Client:
    return desk_of(make_editor())


def headlines() -> list[str]:
    """What readers see on the English front."""
    return re.findall(r'<h[23]><a href="[^"]*">(.*?)</a></h[23]>', Client().get("/en/").text)


def buttons(page: Any, label: str) -> str:
    """The value of the button with this label, which is its operation."""
    found = re.search(rf'name="op" value="([^"]*)"[^>]*?aria-label="{label}"', page.text, re.DOTALL)
    assert found, f"no button {label}"
    return found[1]


def start(desk: Client, language: str = "en") -> Any:
    """The editor with a new draft."""
    return desk.post(f"{LIST}compose/", {"language": language}, follow=True)


def press(desk: Client, page: Any, label: str, **more: Any) -> Any:
    """Press a button of the editor."""
    version = page.context["version"]
    body = {"op": buttons(page, label), "base": version.edits, **more}
    return desk.post(f"{LIST}version/{version.pk}/edit/", body, follow=True)


def test_the_list_shows_what_readers_see_and_what_comes_next(desk: Client) -> None:
    live("Story")
    empty = desk.get(LIST).text
    assert "Front page · English" in empty and "Front page · 简体中文" in empty
    assert empty.count("The automatic front") == 2
    make_front(live("One"), live_from=soon(hours=-2))
    make_front(live("Two"), live_from=soon(hours=2))
    text = desk.get(LIST).text
    assert re.search(r"Version 1</a>\s*<span[^>]*>since ", text)
    assert "Version 2" in text


def test_a_draft_is_composed_with_buttons_and_published(desk: Client) -> None:
    live("One"), live("Two", hours=2), live("Three", hours=3)
    page = start(desk)
    assert [row.headline for row in page.context["parts"][0].rows] == ["One", "Two", "Three"]
    page = press(desk, page, "Move up: Two")
    page = press(desk, page, "Move down: One")
    page = press(desk, page, "As the lead: Three") if "As the lead: Three" in page.text else page
    assert [row.headline for row in page.context["parts"][0].rows] == ["Two", "Three", "One"]
    assert headlines() == ["One", "Two", "Three"]
    version = page.context["version"]
    done = desk.post(f"{LIST}version/{version.pk}/publish/", follow=True)
    assert "Readers see this version now." in done.text
    assert headlines() == ["Two", "Three", "One"]
    assert "Move up: Two" not in done.text, "what is live stays as it is"


def test_what_was_typed_into_a_card_or_block_that_was_removed_since_is_shown_again(desk: Client) -> None:
    live("One")
    version = start(desk).context["version"]
    block = version.blocks.get()
    card = block.cards.get()
    card.delete()
    address = f"{LIST}version/{version.pk}/card/{card.uuid}/"
    page = desk.post(address, {"base": "0", "headline": "An hour of typing", "link_7": "x"})
    assert (page.status_code, "data-fragment" in page.text) == (400, True)
    assert "It is not on the front any more." in page.text and "An hour of typing</textarea>" in page.text
    assert "It is not on the front any more." in desk.get(address).text
    version.blocks.all().delete()
    page = desk.post(f"{LIST}version/{version.pk}/block/{block.uuid}/", {"base": "0", "title": "An hour of typing"})
    assert page.status_code == 400 and 'value="An hour of typing"' in page.text
    version.delete()
    page = desk.post(address, {"base": "0", "headline": "An hour of typing"})
    assert page.status_code == 404 and "An hour of typing</textarea>" in page.text


def test_a_time_that_is_refused_stays_in_its_field(desk: Client) -> None:
    live("One")
    version = start(desk).context["version"]
    page = desk.post(f"{LIST}version/{version.pk}/schedule/", {"live_from": "2001-01-01 07:00"})
    assert page.status_code == 400 and 'value="2001-01-01 07:00"' in page.text


def test_a_card_is_edited_and_only_what_was_changed_is_stored(desk: Client) -> None:
    own, story = make_image(make_editor("ida")), live("One", summary="Old summary")
    page = start(desk)
    card = Card.objects.get(article=story)
    address = f"{LIST}version/{page.context['version'].pk}/card/{card.uuid}/"
    form = desk.get(address)
    assert 'placeholder="One"' in form.text and 'placeholder="Old summary"' in form.text
    data = {
        "base": "0", "headline": "Override", "kicker": "", "summary": "", "image_choice": "own", "image": str(own.pk),
        "size": "large", "shows_from": "2031-01-02 07:00", "shows_from_zone": "Europe/Berlin",
        "link_0": f"/article/{story.pk}/one/", "text_0": "Read on", "link_1": "https://example.org/", "text_1": "Live",
    }  # fmt: skip
    assert desk.post(address, data).status_code == 302
    card.refresh_from_db()
    assert (card.headline, card.image_id, card.size) == ("Override", own.pk, "large")
    assert card.shows_from is not None and card.shows_from.isoformat() == "2031-01-02T06:00:00+00:00"
    assert card.sublinks == [
        {"article": story.pk, "headline": "Read on"},
        {"url": "https://example.org/", "headline": "Live"},
    ]
    text = desk.get(f"{LIST}{page.context['front'].pk}/change/").text
    assert "Override" in text and "Read on" in text
    refused = desk.post(address, {**data, "base": "1", "link_2": "javascript:alert(1)", "text_2": "x"})
    assert refused.status_code == 400 and "no address for readers" in refused.text
    twice = desk.post(address, {**data, "base": "1", "shows_from": "2026-10-25 02:30"})
    assert "occurs twice in Europe/Berlin" in twice.text


def test_the_same_card_edited_by_two_shows_both_and_keeps_what_was_typed(desk: Client) -> None:
    live("One")
    page = start(desk)
    card = Card.objects.get()
    address = f"{LIST}version/{page.context['version'].pk}/card/{card.uuid}/"
    values = {"base": "0", "image_choice": "cover", "size": "normal"}
    assert desk_of(make_editor("bob")).post(address, {**values, "headline": "By Bob"}).status_code == 302
    both = desk.post(address, {**values, "headline": "By Alice"})
    assert both.status_code == 409
    assert re.search(r"bob has stored:\s*<q[^>]*>By Bob</q>", both.text)
    assert re.search(r"Yours: <q[^>]*>By Alice</q>", both.text)
    assert 'name="base" value="1"' in both.text and "Save mine" in both.text
    assert Card.objects.get().headline == "By Bob"
    assert desk.post(address, {**values, "base": "1", "headline": "By Alice"}).status_code == 302
    assert Card.objects.get().headline == "By Alice"


@pytest.mark.thorough
def test_a_button_of_an_old_page_shows_both_and_can_be_pressed_again(desk: Client) -> None:
    live("One"), live("Two", hours=2)
    page = start(desk)
    press(desk, page, "Move down: One")
    late = press(desk_of(make_editor("bob")), page, "Move down: One")
    assert late.status_code == 200, "both wanted the same"
    page = desk.get(f"{LIST}{page.context['front'].pk}/change/")
    remove = re.search(r'value="(remove_card [^"]*)"', page.text)
    assert remove
    body = {"op": remove[1], "base": "0"}
    refused = desk_of(User.objects.get(username="bob")).post(f"{LIST}version/{page.context['version'].pk}/edit/", body)
    assert refused.status_code in (302, 409)


@pytest.mark.thorough
def test_a_version_is_scheduled_and_unscheduled(desk: Client) -> None:
    live("One")
    version = start(desk).context["version"]
    address = f"{LIST}version/{version.pk}/"
    missing = desk.post(f"{address}schedule/", {"live_from": "2027-03-28 02:30", "live_from_zone": "Europe/Berlin"})
    assert missing.status_code == 400 and "does not exist in Europe/Berlin" in missing.text
    when = {"live_from": "2031-01-02 07:00", "live_from_zone": "Europe/Berlin"}
    done = desk.post(f"{address}schedule/", when, follow=True)
    assert "Readers see this version from" in done.text
    other = start(desk).context["version"]
    taken = desk.post(f"{LIST}version/{other.pk}/schedule/", when)
    assert taken.status_code == 400 and f"Version {version.number} of this front" in taken.text
    desk.post(f"{address}unschedule/")
    version.refresh_from_db()
    assert version.live_from is None
    desk.post(f"{address}delete/")
    assert not FrontVersion.objects.filter(pk=version.pk).exists()


def test_blocks_are_added_and_edited(desk: Client) -> None:
    town = make_channel("Town")
    live("One", channel=town)
    page = start(desk)
    add = re.search(r'value="(add_block [^"]* strip)"', page.text)
    assert add
    version = page.context["version"]
    desk.post(f"{LIST}version/{version.pk}/edit/", {"op": add[1], "base": "0"})
    block = Block.objects.get(kind="strip")
    address = f"{LIST}version/{version.pk}/block/{block.uuid}/"
    data = {
        "base": "1",
        "kind": "list",
        "title": "In town",
        "size": "5",
        "backfill": "channel",
        "channel": "",
        "tag": "",
    }
    assert "Choose one." in desk.post(address, data).text
    assert desk.post(address, {**data, "channel": str(town.pk)}).status_code == 302
    block.refresh_from_db()
    assert (block.title, block.size, block.channel_id, block.backfill) == ("In town", 5, town.pk, "channel")


def test_from_an_approved_article_to_the_lead_at_its_instant_in_four_clicks(desk: Client) -> None:
    live("One")
    at = soon(hours=5).replace(microsecond=0)
    story = make_article("Story", status=Article.Status.APPROVED, publish_at=at)
    assert f"{LIST}put/?article={story.pk}" in desk.get("/admin/articles/article/").text, "the first click"
    editor = desk.get(f"/admin/articles/article/{story.pk}/change/")
    assert f"{LIST}put/?article={story.pk}" in editor.text
    offer = desk.get(f"{LIST}put/?article={story.pk}")
    assert offer.text.index("Front page · English") < offer.text.index("Front page · 简体中文")
    page = desk.post(f"{LIST}put/?article={story.pk}", {"front": "en", "place": "lead"}, follow=True)  # the second
    assert [row.headline for row in page.context["parts"][0].rows] == ["Story", "One"]
    shown = page.context["time_form"]["live_from"].value()
    assert shown == at, "the third click opens the form, which has the instant of the article"
    version = page.context["version"]
    when = {"live_from": f"{at:%Y-%m-%d %H:%M:%S}", "live_from_zone": "UTC"}
    desk.post(f"{LIST}version/{version.pk}/schedule/", when)  # the fourth
    version.refresh_from_db()
    assert version.live_from == at
    again = desk.post(f"{LIST}put/?article={story.pk}", {"front": "en", "place": "below"}, follow=True)
    assert [row.headline for row in again.context["parts"][0].rows][-1] == "Story"


def test_articles_to_add_are_those_of_the_language(desk: Client) -> None:
    live("One")
    make_article("Next", status=Article.Status.APPROVED, publish_at=soon(hours=2))
    make_article("下一篇", status=Article.Status.APPROVED, publish_at=soon(hours=2))
    make_article("Ready", status=Article.Status.APPROVED)
    make_article("Hidden words", body="<p>Buried treasure</p>", status=Article.Status.DRAFT)
    page = start(desk)
    address = f"{LIST}{page.context['front'].pk}/change/"

    def found(**query: str) -> list[str]:
        rows = desk.get(address, query).context["lists"]["rows"]
        return [row["article"].title for row in rows]

    assert found() == ["One"]
    assert found(list="scheduled") == ["Next"]
    assert found(list="approved") == ["Ready"]
    assert found(q="treasure") == ["Hidden words"]
    assert found(q="下一篇") == ["下一篇"]


def test_old_versions_are_looked_at_and_restored(desk: Client) -> None:
    old = make_front(Card(article=live("One"), headline="Before"), live_from=soon(hours=-3))
    make_front(live("Two"), live_from=soon(hours=-2))
    preview = desk.get(f"{LIST}version/{old.pk}/preview/")
    assert "Before" in preview.text and preview["Cache-Control"].startswith("private, no-store")
    assert "noindex" in preview["X-Robots-Tag"]
    page = desk.post(f"{LIST}{old.front_id}/start/", {"like": "1"}, follow=True)
    assert (page.context["version"].number, page.context["parts"][0].rows[0].headline) == (3, "Before")
    assert "from version 1" in page.text
    assert headlines() == ["Two"]


def test_who_may_read_articles_may_look_and_who_may_publish_may_compose() -> None:
    version = make_front(live("One"), live_from=soon(hours=2))
    author, stranger = desk_of(make_member(Role.AUTHOR)), desk_of(User.objects.create_user("x", is_staff=True))
    page = author.get(f"{LIST}{version.front_id}/change/")
    assert page.status_code == 200 and 'name="op"' not in page.text and "Publish now" not in page.text
    for address in (LIST, f"{LIST}{version.front_id}/change/", f"{LIST}version/{version.pk}/preview/"):
        assert stranger.get(address).status_code == 403
    for action in ("edit", "publish", "schedule", "unschedule", "delete"):
        assert author.post(f"{LIST}version/{version.pk}/{action}/", {"base": "0"}).status_code == 403
    assert author.post(f"{LIST}compose/", {"language": "en"}).status_code == 403
    assert author.post(f"{LIST}{version.front_id}/start/").status_code == 403
    assert author.get(f"{LIST}put/?article=1").status_code == 403
    assert author.get(f"{LIST}version/{version.pk}/card/{Card.objects.get().uuid}/").status_code == 403
    assert FrontVersion.objects.count() == 1


def test_an_open_page_hears_of_what_others_do(desk: Client) -> None:
    live("One"), live("Two", hours=2)
    page = start(desk)
    follow = page.context["follow"]
    assert desk.get(follow["url"], {"follow": follow["version"]}).status_code == 204
    press(desk_of(make_editor("bob")), page, "Move down: One")
    news = desk.get(follow["url"], {"follow": follow["version"]})
    assert news.status_code == 200
    assert [row.headline for row in news.context["parts"][0].rows] == ["Two", "One"]


@pytest.mark.cases(2)
@pytest.mark.parametrize("sent", ["", "x", "add_card", "move_card 1 2 3", "remove_card -", "edit_card a"])
def test_what_no_button_sends_is_refused(desk: Client, sent: str) -> None:
    live("One")
    version = start(desk).context["version"]
    assert desk.post(f"{LIST}version/{version.pk}/edit/", {"op": sent, "base": "0"}).status_code == 400


def test_one_request_makes_no_more_changes_than_are_allowed(desk: Client) -> None:
    live("One")
    version, press_again = start(desk).context["version"], f"remove_card {Card.objects.get().uuid}"
    address = f"{LIST}version/{version.pk}/edit/"
    refused = desk.post(address, {"op": [press_again] * (MOST_OPERATIONS + 1), "base": "0"})
    assert refused.status_code == 400 and Card.objects.exists()
    assert desk.post(address, {"op": [press_again] * MOST_OPERATIONS, "base": "0"}).status_code == 302
    assert not Card.objects.exists()


def test_the_calendar_shows_versions_of_fronts(desk: Client) -> None:
    town = make_channel("Town")
    version = make_front(live("One"), live_from=soon(seconds=30))
    make_front(live("Two"), live_from=soon(seconds=-2), channel=town)
    make_front(live("Three"), live_from=None, language="zh-hans")
    FrontVersion.objects.filter(front__slug="zh-hans").update(status="draft", live_from=None)
    day = f"{soon():%Y-%m-%d}"
    page = desk.get("/admin/calendar/", {"view": "day", "date": day}).text
    assert "Front goes live" in page and "Front page · English" in page
    assert "Front went live" in page and "Town · English" in page
    assert f"{LIST}{version.front_id}/change/?version=1" in page
    assert "Front page · 简体中文" not in page
    filtered = desk.get("/admin/calendar/", {"view": "day", "date": day, "channel": str(town.pk)}).text
    assert "Town · English" in filtered and "Front page · English" not in filtered
