"""Recovered drafts: one card that says what differs, and none where nothing does."""

from __future__ import annotations

import re
from html import unescape
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Browser, expect

from articles import publishing
from articles.models import Article, Autosave, Tag
from tests.articles.browsers import sign_in
from tests.articles.desk.articles.test_admin import form_address, form_of, logged_in, press, wall
from tests.articles.desk.editor.test_autosave import ADD, keep
from tests.articles.factories import APPROVED, make_article, make_editor, soon
from tests.conftest import Site

pytestmark = pytest.mark.django_db

LONG = "One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen."


@pytest.fixture
def alice() -> User:
    return make_editor()


@pytest.fixture
def desk(alice: User) -> Client:
    return logged_in(alice)


def typed_in(desk: Client, article: Article, **changes: str) -> dict[str, list[str]]:
    """What the script sends of a form in which these fields were changed."""
    sent = form_of(desk, article)
    sent |= {"cover": ",".join(sent["cover"]), **changes}
    sent = {name: value.isoformat() if hasattr(value, "isoformat") else value for name, value in sent.items()}
    return {
        name: [str(one) for one in value] if isinstance(value, list) else [str(value)] for name, value in sent.items()
    }


def leave(desk: Client, alice: User, article: Article, **changes: str) -> str:
    return keep(desk, alice, article, typed=typed_in(desk, article, **changes))[0]


def cards(page: Any) -> list[str]:
    """What the drafts that are offered say, without their times."""
    found = re.findall(r'<div class="recovered-draft".*?<p>(.*?)</p>', page.text, re.DOTALL)
    lines = (" ".join(unescape(re.sub("<[^>]*>", "", card)).split()) for card in found)
    return [re.sub("^Recovered draft from .*?UTC:? ?", "", line) for line in lines]


def offered(desk: Client, article: Article) -> list[str]:
    return cards(desk.get(form_address(article)))


@pytest.mark.cases(4)
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"title": "Ferries stay in port"}, "Headline “Ferries stay in port”"),
        ({"summary": "港口因大风停航。"}, "Summary “港口因大风停航。”"),
        ({"body": f"<p>{LONG}</p><p>And more.</p>"}, "Body “…seventeen. And more.”"),
        ({"body": f"<p>{LONG.replace('nine', 'NINE')}</p>"}, "Body “…NINE ten eleven"),
        ({"body": "<p>One two three four</p>"}, "Body “One two three four”"),
        (
            {"body": f"<p>{LONG[:-11]}</p>"},
            "Body “…eleven twelve thirteen fourteen fifteen sixteen”",
        ),
        ({"body": f"<p><strong>{LONG}</strong></p>"}, "Body other formatting"),
        ({"body": ""}, "Body “”"),
        ({"publish_at": "2030-01-01T10:00"}, "Publish at"),
        ({"title": "Ferries", "publish_at": "2030-01-01T10:00"}, "Headline “Ferries” · Publish at"),
    ],
)
def test_a_draft_says_what_differs(desk: Client, alice: User, changes: dict[str, str], said: str) -> None:
    article = make_article("Old", body=f"<p>{LONG}</p>")
    leave(desk, alice, article, **changes)
    (line,) = offered(desk, article)
    assert line == said or (line.startswith(said) and line.endswith("…”"))


def test_a_draft_that_differs_in_nothing_is_not_offered(desk: Client, alice: User) -> None:
    article = make_article("Old", summary="Short", body=f"<p>{LONG}</p>", publish_at=soon(days=1))
    article.tags.add(Tag.objects.create(name="Rain"))
    leave(desk, alice, article)
    leave(desk, alice, article, body=f"<p>{LONG}</p>\n<p></p>", title="  Old ")
    assert offered(desk, article) == []
    assert "Recovered" not in desk.get(form_address(article)).text


@pytest.mark.thorough
def test_what_has_been_saved_since_is_not_offered(desk: Client, alice: User) -> None:
    article = make_article("Old")
    leave(desk, alice, article, title="New")
    press(desk, article, "_save", title="New")
    assert offered(desk, article) == []


def test_what_others_have_changed_since_is_not_taken_for_ones_own(desk: Client, alice: User) -> None:
    article = make_article("Old", summary="Short")
    leave(desk, alice, article)
    leave(desk, alice, article, title="Mine")
    publishing.edit(article, by=make_editor("bob"), changes={"title": "Theirs", "summary": "Theirs, too"})
    assert offered(desk, article) == ["Headline “Mine”"]


@pytest.mark.thorough
def test_refused_times_leave_one_card(desk: Client, alice: User) -> None:
    article = make_article(status=APPROVED, publish_at=soon(days=1))
    for hours in range(1, 6):
        leave(desk, alice, article, publish_at=wall(soon(hours=-hours)))
    assert offered(desk, article) == ["Publish at"]


def test_a_field_that_can_no_longer_be_set_is_no_difference(desk: Client, alice: User) -> None:
    article = make_article(status=APPROVED, publish_at=soon(hours=1))
    leave(desk, alice, article, publish_at=wall(soon(hours=2)))
    Article.objects.update(status=Article.Status.PUBLISHED, publish_at=soon(hours=-1), published_at=soon(hours=-1))
    assert offered(desk, article) == []


def test_older_drafts_are_folded_unless_their_text_is_offered_already(desk: Client, alice: User) -> None:
    article = make_article("Old")
    for changes in (
        {"title": "First"},
        {"publish_at": "2030-01-01T10:00"},
        {"title": "Second"},
        {"title": "Second", "publish_at": "2030-01-01T10:00"},
        {"title": "Third"},
        {"title": "Second"},
    ):
        leave(desk, alice, article, **changes)
    page = desk.get(form_address(article))
    assert cards(page) == ["Headline “Second”", "Headline “Third”", "Headline “First”"]
    assert page.text.count('class="notice recovered"') == 1
    assert page.text.index("Second") < page.text.index("Older drafts") < page.text.index("“Third”")


@pytest.mark.thorough
def test_a_refused_form_compares_with_what_is_stored_and_not_with_its_own_input(desk: Client, alice: User) -> None:
    article = make_article("Old", status=APPROVED, publish_at=soon(days=1))
    leave(desk, alice, article, title="Typed elsewhere")
    sent = {**form_of(desk, article), "title": "Typed elsewhere", "publish_at": wall(soon(days=-1))}
    page = desk.post(form_address(article), {**sent, "_step_schedule": "1", "window": str(uuid4())})
    assert cards(page) == ["Headline “Typed elsewhere”"]


def test_several_new_articles_are_all_offered(desk: Client, alice: User) -> None:
    for title in ("Bridge", "Ferry"):
        keep(desk, alice, typed={"title": [title]})
    assert cards(desk.get(ADD)) == ["Headline “Ferry”", "Headline “Bridge”"]


@pytest.mark.cases(2)
@pytest.mark.parametrize("base", [[], ["x"], ["1", "2"], ["9" * 30], ["0"]])
def test_a_draft_of_an_unknown_version_is_offered(desk: Client, alice: User, base: list[str]) -> None:
    article = make_article("Old")
    keep(desk, alice, article, typed={"title": ["Typed"], "base": base, "cover": ["x"], "author": ["none"]})
    assert offered(desk, article)[0].startswith("Headline “Typed”")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("width", [pytest.param(1440, marks=pytest.mark.thorough), 390])
def test_one_card_is_in_sight_and_the_next_follows_when_it_is_discarded(
    browser: Browser, site: Site, width: int
) -> None:
    alice = make_editor()
    article, desk = make_article("Old"), logged_in(alice)
    for title in ("First", "Second"):
        leave(desk, alice, article, title=title)
    with browser.new_context(base_url=site.url, viewport={"width": width, "height": 844}) as context:
        page = context.new_page()
        sign_in(page)
        page.goto(form_address(article))
        drafts = page.locator(".recovered-draft:visible")
        expect(drafts).to_have_count(1)
        expect(drafts).to_contain_text("Headline “Second”")
        headline = page.get_by_label("Headline").bounding_box()
        assert headline and headline["y"] < 450, "the headline stays on the first screen"
        page.get_by_text("Older drafts").click()
        expect(drafts).to_have_count(2)
        drafts.first.get_by_text("Discard…").click()
        drafts.first.get_by_role("button", name="Discard").click()
        expect(drafts).to_have_count(1)
        expect(drafts).to_contain_text("Headline “First”")
        expect(page.get_by_text("Older drafts")).to_be_hidden()
        page.get_by_role("link", name="Restore").click()
        expect(page.get_by_label("Headline")).to_have_value("First")
    assert Autosave.objects.count() == 1
