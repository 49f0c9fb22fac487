"""Composing fronts: drafts, operations that merge, their limits, and the way to readers at an instant."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.test import Client

from articles.limits import MOST_CARDS, MOST_DRAFTS
from articles.models import Article, AuditEntry, Card, Front, FrontVersion, ProposedChange, SensitiveWord
from articles.publishing import unpublish
from articles.review import comparisons
from articles.roles import Role
from scheduling.database import read_database_clock
from tests.articles.factories import add_block, make_article, make_channel, make_editor, make_front, make_member, soon
from tests.articles.fronts.composing import FRONTS, Composer, card_edit, client_of
from tests.articles.image_files import make_image

pytestmark = pytest.mark.django_db


def live(title: str, *, hours: float = 1, **values: Any) -> Article:
    """An article that went live so many hours ago."""
    return make_article(title, status=Article.Status.PUBLISHED, publish_at=soon(hours=-hours), **values)


def shown(address: str = "/en/") -> list[str]:
    """The headlines of the cards of a page, in order."""
    return re.findall(r'<h[23]><a href="[^"]*">(.*?)</a></h[23]>', Client().get(address).text)


def test_a_draft_starts_like_the_automatic_front_and_readers_see_nothing_of_it() -> None:
    town = make_channel("Town")
    make_channel("Empty")
    for hours in range(2, 12):
        live(f"Old {hours}", hours=hours, channel=town)
    live("New"), live("中文", hours=2)
    draft = Composer.start(make_editor())
    assert [(block["kind"], block["backfill"], block["title"]) for block in draft.shown["blocks"]] == [
        ("lead", "newest", ""),
        ("list", "channel", "Town"),
    ]
    titles = [Article.objects.get(pk=card["article"]).title for card in draft.cards]
    assert titles == ["New", *(f"Old {hours}" for hours in range(2, 11))], "the channel has one more"
    draft.edit(card_edit(draft.cards[0]["uuid"], headline="MARKER"))
    assert "MARKER" not in Client().get("/en/").text
    assert draft.shown["state"] == "draft"


def test_a_published_version_is_what_readers_get_at_once() -> None:
    story, other = live("Story"), live("Other", hours=2)
    assert shown() == ["Story", "Other"]
    draft = Composer.start(make_editor())
    first, second = draft.cards
    draft.edit(
        {"op": "move_card", "uuid": second["uuid"], "block": draft.block, "after": None},
        card_edit(second["uuid"], headline="Lead today", kicker="Harbour"),
    )
    before = read_database_clock()
    published = draft.post("publish")
    assert (published.status_code, published.json()["state"]) == (200, "live")
    assert before <= datetime.fromisoformat(published.json()["live_from"]) <= read_database_clock()
    assert shown() == ["Lead today", "Story"], "cached pages are dropped at the commit"
    assert first["article"] == story.pk and second["article"] == other.pk
    assert [entry.action for entry in AuditEntry.objects.filter(action__endswith="_front").order_by("pk")] == [
        "start_front",
        "edit_front",
        "publish_front",
    ]


def test_a_scheduled_version_comes_at_its_instant_and_cached_pages_end_there() -> None:
    live("Story")
    draft = Composer.start(make_editor())
    draft.edit(card_edit(draft.cards[0]["uuid"], headline="At seven"))
    Client().get("/en/")
    answer = draft.post("schedule", live_from=soon(seconds=30).isoformat())
    assert (answer.status_code, answer.json()["state"]) == (200, "scheduled")
    page = Client().get("/en/")
    assert "At seven" not in page.text
    assert int(re.findall(r"max-age=(\d+)", page["Cache-Control"])[0]) <= 30
    FrontVersion.objects.update(live_from=soon(seconds=-1))
    assert "At seven" in Client().get("/en/?page_size=3").text


def test_what_is_live_is_never_changed_and_a_draft_starts_from_it() -> None:
    version = make_front(live("Story"), size=1)
    editor = make_editor()
    draft = Composer(editor, version.front_id, version.pk)
    uuid = draft.cards[0]["uuid"]
    for answer in (
        draft.edit(card_edit(uuid, headline="Too late")),
        draft.post("schedule", live_from=soon(hours=1).isoformat()),
        draft.post("publish"),
        draft.post("unschedule"),
    ):
        assert (answer.status_code, answer.json()["code"]) == (409, "front_live")
    assert draft.client.delete(draft.address).status_code == 409
    copy = Composer.start(editor)
    assert (copy.shown["number"], copy.shown["based_on"], copy.cards[0]["uuid"]) == (2, 1, uuid)
    assert copy.edit(card_edit(uuid, headline="In the draft")).status_code == 200
    assert shown() == ["Story"]


def test_a_version_that_is_about_to_go_live_stays_as_it_is() -> None:
    version = make_front(live("Story"), size=1, live_from=soon(seconds=1.5))
    draft = Composer(make_editor(), version.front_id, version.pk)
    assert draft.edit(card_edit(draft.cards[0]["uuid"], headline="Late")).json()["code"] == "front_live"


def test_an_old_version_is_restored_as_a_draft() -> None:
    old = make_front(Card(article=live("Story"), headline="Before"), size=1, live_from=soon(hours=-2))
    make_front(live("Other"), size=1)
    client = client_of(make_editor())
    address = f"{FRONTS}{old.front_id}/versions/"
    draft = client.post(address, {"like": old.number}).json()
    assert (draft["state"], draft["based_on"], draft["blocks"][0]["cards"][0]["headline"]) == ("draft", 1, "Before")
    assert [row["state"] for row in client.get(address).json()["results"]] == ["draft", "live", "past"]
    assert client.post(address, {"like": 99}).status_code == 404
    assert client.delete(f"{address}{draft['id']}/").status_code == 204
    assert shown() == ["Other"]


@pytest.mark.parametrize("pk", [2**63, 2**64, 10**30])
def test_no_front_has_a_number_beyond_those_of_the_database(pk: int) -> None:
    client = client_of(make_editor())
    assert client.get(f"{FRONTS}{pk}/versions/1/").status_code == 404
    assert client.post(f"{FRONTS}{pk}/versions/1/end/", {"until": soon().isoformat()}).status_code == 404


def test_what_two_do_to_different_cards_merges() -> None:
    for title in ("One", "Two", "Three"):
        live(title)
    draft = Composer.start(make_editor())
    other = Composer(make_editor("bob"), draft.shown["front"], draft.shown["id"])
    first, second, third = (card["uuid"] for card in draft.cards)
    assert draft.edit(card_edit(first, headline="By Alice")).status_code == 200
    fourth = other.add(live("Four"), after=third)
    assert other.edit(card_edit(second, headline="By Bob"), fourth).status_code == 200
    stale = Composer(make_editor("carol"), draft.shown["front"], draft.shown["id"])
    stale.shown["edits"] = 0
    assert stale.edit({"op": "remove_card", "uuid": third}).status_code == 200
    cards = draft.read()["blocks"][0]["cards"]
    assert [(card["uuid"], card["headline"]) for card in cards] == [
        (first, "By Alice"),
        (second, "By Bob"),
        (fourth["uuid"], ""),
    ]


def test_the_same_card_edited_twice_shows_both_sides_and_stores_nothing() -> None:
    live("One"), live("Two", hours=2)
    draft = Composer.start(make_editor())
    other = Composer(make_editor("bob"), draft.shown["front"], draft.shown["id"])
    first, second = (card["uuid"] for card in draft.cards)
    draft.edit(card_edit(first, headline="By Alice"))
    refused = other.edit(card_edit(second, headline="Other"), card_edit(first, headline="By Bob"))
    assert (refused.status_code, refused.json()["code"]) == (409, "front_conflict")
    [conflict] = refused.json()["conflicts"]
    assert conflict["uuid"] == first
    assert (conflict["theirs"], conflict["mine"], conflict["by"]) == ("By Alice", "By Bob", "alice")
    assert [card["headline"] for card in draft.read()["blocks"][0]["cards"]] == ["By Alice", ""]
    other.read()
    assert other.edit(card_edit(first, headline="By Bob")).status_code == 200, "once Bob has seen it"


@pytest.mark.cases(2)
@pytest.mark.parametrize("late", ["edit", "move", "remove"])
def test_a_card_that_is_gone_or_elsewhere_is_a_conflict(late: str) -> None:
    live("One"), live("Two", hours=2), live("Three", hours=3)
    draft = Composer.start(make_editor())
    other = Composer(make_editor("bob"), draft.shown["front"], draft.shown["id"])
    first, second, third = (card["uuid"] for card in draft.cards)
    move = {"op": "move_card", "uuid": first, "block": draft.block, "after": third}
    if late == "remove":
        draft.edit(move)
        assert other.edit({"op": "remove_card", "uuid": first}).json()["code"] == "front_conflict"
        return
    draft.edit(*([{"op": "remove_card", "uuid": first}] if late == "edit" else [move]))
    again = {**move, "after": second} if late == "move" else card_edit(first, headline="Lost")
    assert other.edit(again).json()["code"] == "front_conflict"
    same = move if late == "move" else {"op": "remove_card", "uuid": first}
    assert other.edit(same).status_code == 200, "both did the same"


def test_operations_that_are_sent_again_change_nothing() -> None:
    live("One"), live("Two", hours=2)
    draft = Composer.start(make_editor())
    first, second = (card["uuid"] for card in draft.cards)
    base = draft.shown["edits"]
    operations = (
        draft.add(live("Three"), headline="New"),
        card_edit(second, kicker="Rain"),
        {"op": "remove_card", "uuid": first},
    )
    stored = draft.edit(*operations)
    assert stored.status_code == 200, stored.json()
    once = draft.read()
    draft.shown = {**once, "edits": base}
    assert draft.edit(*operations).status_code == 200
    assert draft.read() == once


def test_blocks_are_added_edited_moved_and_removed_with_their_cards() -> None:
    live("One")
    draft = Composer.start(make_editor())
    strip, card = str(uuid4()), draft.cards[0]["uuid"]
    add = {
        "op": "add_block",
        "uuid": strip,
        "settings": {"kind": "strip", "title": "Rain", "backfill": "none", "size": 3},
    }
    assert draft.edit(add, {"op": "move_card", "uuid": card, "block": strip, "after": None}).status_code == 200
    assert [(block["title"], len(block["cards"])) for block in draft.shown["blocks"]] == [("Rain", 1), ("", 0)]
    lead = draft.shown["blocks"][1]["uuid"]
    draft.edit(
        {"op": "move_block", "uuid": strip, "after": lead},
        {"op": "edit_block", "uuid": strip, "settings": {"title": "Sun"}},
    )
    assert [block["title"] for block in draft.shown["blocks"]] == ["", "Sun"]
    draft.edit({"op": "remove_block", "uuid": strip})
    assert [block["uuid"] for block in draft.shown["blocks"]] == [lead]
    assert Card.objects.count() == 0
    draft.edit({"op": "remove_block", "uuid": lead})
    assert draft.post("publish").json()["detail"] == "The front has no blocks yet."


def test_a_card_that_leaves_a_block_stays_when_the_same_request_removes_the_block() -> None:
    live("One"), live("Two", hours=2)
    draft = Composer.start(make_editor())
    old, new, (first, second) = draft.block, str(uuid4()), (card["uuid"] for card in draft.cards)
    answer = draft.edit(
        {"op": "add_block", "uuid": new, "after": old, "settings": {"title": "New"}},
        {"op": "move_card", "uuid": first, "block": new},
        {"op": "remove_block", "uuid": old},
    )
    assert answer.status_code == 200
    assert [(block["uuid"], [card["uuid"] for card in block["cards"]]) for block in draft.shown["blocks"]] == [
        (new, [first])
    ]
    assert str(Card.objects.get().uuid) == first != second, "the other one went with its block"


def test_a_card_goes_with_the_block_into_which_the_same_request_has_moved_it() -> None:
    live("One"), live("Two", hours=2)
    draft = Composer.start(make_editor())
    new, (first, second) = str(uuid4()), (card["uuid"] for card in draft.cards)
    answer = draft.edit(
        {"op": "add_block", "uuid": new, "settings": {}},
        {"op": "move_card", "uuid": first, "block": new},
        {"op": "remove_block", "uuid": new},
    )
    assert answer.status_code == 200
    assert [card["uuid"] for card in draft.cards] == [second]


@pytest.mark.parametrize("kind", ["card", "block"])
def test_what_a_request_removes_it_cannot_add_again(kind: str) -> None:
    story = live("One")
    draft = Composer.start(make_editor())
    uuid = draft.cards[0]["uuid"] if kind == "card" else draft.block
    add = {**draft.add(story), "uuid": uuid} if kind == "card" else {"op": "add_block", "uuid": uuid, "settings": {}}
    answer = draft.edit({"op": f"remove_{kind}", "uuid": uuid}, add)
    assert (answer.status_code, answer.json()["code"]) == (400, "not_editable")
    assert draft.read()["edits"] == 0


@pytest.mark.cases(12)
@pytest.mark.parametrize(
    "values",
    [
        {"url": "javascript:alert(1)"},
        {"url": "JAVASCRIPT:alert(1)"},
        {"url": "data:text/html,x"},
        {"url": "http://127.0.0.1/"},
        {"url": "http://2130706433/"},
        {"url": "http://0x7f.1/"},
        {"url": "http://[::1]/"},
        {"url": "http://10.1.2.3/x"},
        {"url": "http://localhost/"},
        {"url": "http://wiki.internal/"},
        {"url": "http://wiki/"},
        {"url": "https://alice:secret@example.org/"},
        {"url": "//evil.example.org"},
        {"url": "/\\evil.example.org"},
        {"url": "/admin/"},
        {"url": "/admin"},
        {"url": "/%61dmin/articles/"},
        {"url": "/en/../admin/?a=b"},
        {"url": "/./api/v1/desk/fronts/"},
        {"url": "http://wiki.ｌocal/"},
        {"url": "http://wiki.x。local/"},
        {"url": "http://wiki.%6cocal/"},
        {"url": "https://exa\tmple.org"},
        {"url": ""},
        {"article": 1, "url": "https://example.org"},
        {"article": 10**12},
        {"headline": "x" * 10_000},
        {"summary": "x" * 501},
        {"size": "huge"},
        {"image": str(uuid4())},
        {"sublinks": [{"headline": "Nowhere"}]},
        {"sublinks": [{"url": "javascript:alert(1)", "headline": "x"}]},
        {"sublinks": [{"url": "https://example.org"}]},
        {"sublinks": [{"article": 10**12}]},
        {"sublinks": [{"url": "https://example.org", "headline": "x"}] * 7},
        {"shows_from": "2030-01-02T00:00:00Z", "shows_until": "2030-01-01T00:00:00Z"},
        {"surprise": 1},
    ],
)
def test_what_no_card_may_hold_is_refused(values: dict[str, Any]) -> None:
    story = live("One")
    draft = Composer.start(make_editor())
    uuid = draft.cards[0]["uuid"]
    both = draft.edit(card_edit(uuid, url="https://example.org"))
    assert (both.status_code, both.json()["code"]) == (400, "not_editable"), "it has an article already"
    operation = draft.add()
    operation["card"] = {**({} if "url" in values else {"article": story.pk}), **values}
    answer = draft.edit(operation)
    assert answer.status_code == 400
    assert draft.read()["edits"] == 0


@pytest.mark.cases(2)
@pytest.mark.parametrize(
    "address",
    ["https://example.org/a?b=c#d", "http://例子.中国/新闻", "/channel/town/", "https://93.184.216.34:8443/"],
)
def test_addresses_of_the_web_and_of_the_site_are_taken(address: str) -> None:
    live("One")
    draft = Composer.start(make_editor())
    assert draft.edit(draft.add(url=address, headline="Elsewhere")).status_code == 200
    assert draft.cards[0]["url"] == address


def test_a_front_has_a_limit_of_cards() -> None:
    story = live("One")
    draft = Composer.start(make_editor())
    Card.objects.bulk_create(
        Card(block_id=FrontVersion.objects.get().blocks.get().pk, article=story, position=number)
        for number in range(1, MOST_CARDS)
    )
    draft.read()
    answer = draft.edit(draft.add(story))
    assert (answer.status_code, answer.json()["code"]) == (400, "too_many")
    body = {"base": 0, "operations": [draft.add(story)] * 101}
    assert draft.client.post(f"{draft.address}operations/", body).status_code == 400


def test_two_versions_never_have_one_instant_and_none_has_a_past_one() -> None:
    live("One")
    editor, seven = make_editor(), soon(hours=7)
    first, second = Composer.start(editor), Composer.start(editor)
    assert first.post("schedule", live_from=seven.isoformat()).status_code == 200
    taken = second.post("schedule", live_from=seven.isoformat())
    assert (taken.status_code, taken.json()["code"]) == (409, "front_instant_taken")
    assert "Version 1 of this front" in taken.json()["detail"]
    past = second.post("schedule", live_from=soon(hours=-1).isoformat())
    assert (past.status_code, past.json()["code"]) == (400, "past")
    assert first.post("unschedule").json()["state"] == "draft"
    assert second.post("schedule", live_from=seven.isoformat()).status_code == 200
    assert second.post("schedule", live_from=soon(hours=8).isoformat()).status_code == 200, "rescheduled"


def test_readers_get_the_automatic_front_while_nothing_of_a_version_is_left_to_see() -> None:
    story = live("Story")
    live("Other", hours=2)
    version = make_front(story, size=1)
    version.blocks.update(kind="list", backfill="none")
    assert shown() == ["Story"]
    unpublish(story, by=make_editor())
    assert shown() == ["Other"]
    assert Client().get("/api/v1/fronts/en/").json()["version"] is None


def test_a_scheduled_version_may_still_be_edited() -> None:
    live("One")
    draft = Composer.start(make_editor())
    draft.post("schedule", live_from=soon(hours=1).isoformat())
    assert draft.edit(card_edit(draft.cards[0]["uuid"], headline="Newer")).status_code == 200
    assert draft.shown["state"] == "scheduled"


def test_users_who_may_not_publish_articles_may_not_compose() -> None:
    version = make_front(live("One"), size=1, live_from=soon(hours=1))
    author = Composer(make_member(Role.AUTHOR), version.front_id, version.pk)
    assert author.client.post(FRONTS, {"language": "en"}).status_code == 403
    assert author.client.post(f"{FRONTS}{version.front_id}/versions/", {}).status_code == 403
    assert author.edit(card_edit(author.cards[0]["uuid"], headline="x")).status_code == 403
    for action in ("publish", "unschedule"):
        assert author.post(action).status_code == 403
    assert author.post("schedule", live_from=soon(hours=2).isoformat()).status_code == 403
    assert author.client.delete(author.address).status_code == 403
    assert Front.objects.count() == FrontVersion.objects.count() == 1


def test_if_match_binds_operations_to_what_was_read() -> None:
    live("One")
    draft = Composer.start(make_editor())
    uuid, etag = draft.cards[0]["uuid"], draft.etag
    assert draft.edit(card_edit(uuid, headline="First"), **{"If-Match": etag}).status_code == 200
    assert draft.edit(card_edit(uuid, headline="Second"), **{"If-Match": etag}).status_code == 412
    assert draft.cards[0]["headline"] == "First"


def test_sensitive_words_are_refused_on_cards_and_when_a_version_goes_live() -> None:
    live("One")
    draft = Composer.start(make_editor())
    draft.edit(card_edit(draft.cards[0]["uuid"], headline="Sesame opens"))
    SensitiveWord.objects.create(text="sesame", level=SensitiveWord.Level.BLOCK)
    refused = draft.post("publish")
    assert (refused.status_code, refused.json()["code"]) == (400, "sensitive_words")
    again = draft.edit(card_edit(draft.cards[0]["uuid"], kicker="Sesame"))
    assert again.json()["code"] == "sensitive_words"
    link = draft.edit(draft.add(url="https://example.org/sesame"))
    assert link.json()["code"] == "sensitive_words", "readers read the address of a card without a headline"
    assert draft.read()["state"] == "draft"


def test_under_the_two_person_rule_another_person_approves_what_readers_will_see(settings: Any) -> None:
    settings.ARTICLES_TWO_PERSON_RULE = True
    live("One")
    alice, bob = make_editor(), make_editor("bob")
    draft = Composer.start(alice)
    uuid = draft.cards[0]["uuid"]
    Composer(bob, draft.shown["front"], draft.shown["id"]).edit(card_edit(uuid, kicker="By Bob"))
    draft.read()
    draft.edit(card_edit(uuid, headline="Override"))
    asked = draft.post("schedule", live_from=soon(hours=1).isoformat())
    assert (asked.status_code, asked.json()["state"], asked.json()["waits"]) == (202, "draft", True)
    changes = "/api/v1/desk/proposed-changes/"
    for writer in (alice, bob):
        [change] = client_of(writer).get(changes).json()["results"]
        body = {"version": change["version"]}
        assert client_of(writer).post(f"{changes}{change['id']}/approve/", body).status_code == 403
    texts = {row["label"]: row["new"] for row in change["comparisons"]} if "comparisons" in change else str(change)
    assert "Override" in str(texts) and "By Bob" in str(texts)
    carol = client_of(make_editor("carol"))
    assert carol.post(f"{changes}{change['id']}/approve/", body).status_code == 204
    assert draft.read()["state"] == "scheduled"
    assert draft.edit(card_edit(uuid, headline="Unread")).status_code == 400
    assert draft.post("unschedule").json()["state"] == "draft"


def test_an_edit_cancels_the_request_for_approval(settings: Any) -> None:
    settings.ARTICLES_TWO_PERSON_RULE = True
    live("One")
    draft = Composer.start(make_editor())
    assert draft.post("publish").json()["waits"]
    draft.edit(card_edit(draft.cards[0]["uuid"], headline="Changed since"))
    assert not draft.shown["waits"]
    assert not ProposedChange.objects.exists()


def test_a_language_has_one_front_of_the_site() -> None:
    client = client_of(make_editor())
    first, again = (client.post(FRONTS, {"language": "en"}).json() for _time in range(2))
    assert first == again
    assert client.post(FRONTS, {"language": "fr"}).status_code == 400
    with pytest.raises(IntegrityError), transaction.atomic():
        Front.objects.create(slug="english", language="en")
    channel = make_channel("Hans", slug="hans")
    of_channel = client.post(FRONTS, {"language": "zh-hans", "channel": channel.pk}).json()
    assert (of_channel["slug"], of_channel["channel"]) == ("zh-hans-hans", channel.pk)


def test_a_channel_gets_a_front_of_its_own() -> None:
    town = make_channel("Town")
    live("Elsewhere"), live("In town", channel=town, hours=2)
    assert shown(town.get_absolute_url()) == ["In town"]
    draft = Composer.start(make_editor(), channel=town.pk)
    assert len(draft.cards) == 1
    draft.edit(card_edit(draft.cards[0]["uuid"], headline="Town first"))
    draft.post("publish")
    assert shown(town.get_absolute_url()) == ["Town first"]


def test_preflight_marks_what_readers_would_miss() -> None:
    bare = make_image(make_editor("ida"), alt="")
    ready = live("Ready")
    ends = live("Ends", unpublish_at=soon(hours=2))
    later = make_article("Later", status=Article.Status.APPROVED, publish_at=soon(hours=3))
    text = make_article("Draft")
    version = make_front(
        Card(article=ready, headline="Old headline", title="Ready before", image=bare),
        *(ends, later, text, ready),
        Card(url="https://example.org", headline="Link"),
        live_from=soon(hours=1),
        size=7,
    )  # fmt: skip
    client = client_of(make_editor())
    found = client.get(f"{FRONTS}{version.front_id}/versions/{version.pk}/preflight/").json()
    cards = {str(card.uuid): card for card in Card.objects.select_related("article")}
    marks = {(str(cards[mark["uuid"]]) if mark["uuid"] in cards else "block", mark["code"]) for mark in found}
    assert marks >= {
        ("Old headline", "headline_newer"),
        ("Old headline", "no_alt"),
        ("Ends", "ends"),
        ("Later", "later"),
        ("Draft", "not_approved"),
        ("Ready", "twice"),
        ("block", "too_few"),
    }
    assert not [mark for mark in marks if mark[0] == "Link"]


def test_the_audit_log_says_what_was_done_to_a_front() -> None:
    live("One")
    editor = make_editor()
    draft = Composer.start(editor)
    draft.edit(card_edit(draft.cards[0]["uuid"], headline="Override"), {"op": "remove_block", "uuid": str(uuid4())})
    draft.post("schedule", live_from="2031-01-02T06:00:00Z")
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    pages = [
        client.get(f"/admin/articles/auditentry/{entry.pk}/change/").text
        for entry in AuditEntry.objects.filter(action__endswith="_front").order_by("pk")
    ]
    assert "Card edited: “Override”; Block removed" in pages[1]
    assert "2 Jan 2031, 06:00:00 UTC" in pages[2]


def test_a_block_of_a_deleted_channel_shows_nothing_unrelated() -> None:
    town = make_channel("Town")
    live("In town", channel=town), live("Elsewhere")
    version = make_front(live("Lead"), size=1)
    add_block(version, title="Town", backfill="channel", channel=town, size=3)
    assert shown() == ["Lead", "In town"]
    Article.objects.filter(channel=town).update(channel=None)
    town.delete()
    assert shown() == ["Lead"]


def test_a_front_has_so_many_drafts_at_most() -> None:
    version, client = make_front(live("Story"), size=1), client_of(make_editor())
    rows = [FrontVersion(front=version.front, number=number + 2) for number in range(MOST_DRAFTS)]
    FrontVersion.objects.bulk_create(rows)
    refused = client.post(f"{FRONTS}{version.front_id}/versions/", {})
    assert (refused.status_code, refused.json()["code"]) == (400, "too_many")


def test_addresses_below_a_card_are_checked_for_sensitive_words() -> None:
    SensitiveWord.objects.create(text="sesame", level=SensitiveWord.Level.BLOCK)
    live("Story")
    draft = Composer.start(make_editor())
    links = [{"url": "https://example.com/sesame", "headline": "More"}]
    answer = draft.edit(card_edit(draft.cards[0]["uuid"], sublinks=links))
    assert (answer.status_code, answer.json()["code"]) == (400, "sensitive_words")


def test_who_approves_a_version_sees_its_addresses_and_images(settings: Any) -> None:
    settings.ARTICLES_TWO_PERSON_RULE = True
    live("Story")
    editor = make_editor()
    draft, image = Composer.start(editor), make_image(editor)
    links = [{"url": "https://example.com/more", "headline": "More"}]
    draft.edit(card_edit(draft.cards[0]["uuid"], sublinks=links, image=str(image.pk)))
    draft.edit(draft.add(url="https://example.com/report", headline="Report"))
    assert draft.post("publish").status_code == 202
    seen = [one.new for one in comparisons(ProposedChange.objects.get())]
    assert {"Story", "More → https://example.com/more", "https://example.com/report", str(image)} <= {*seen}
