"""Changes that readers notice at once need a confirmation, in every form."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from playwright.sync_api import Browser, expect

from articles.models import Article, AuditEntry, Autosave, Update
from articles.workflow import Transition
from tests.articles.browsers import sign_in
from tests.articles.desk.articles.test_admin import (
    LIST,
    confirmed,
    form_address,
    form_of,
    is_asked,
    logged_in,
    press,
    response_to,
    wall,
)
from tests.articles.factories import APPROVED, approve, make_article, make_channel, make_editor, make_user, soon
from tests.conftest import Site

pytestmark = pytest.mark.django_db

Status = Article.Status
OUT: dict[str, Any] = {"status": Status.PUBLISHED, "publish_at": datetime.fromisoformat("2026-01-01T07:00:00+00:00")}
OUT |= {"published_at": OUT["publish_at"]}


@pytest.fixture
def desk() -> Client:
    return logged_in(make_editor())


def ask(desk: Client, article: Article, transition: Transition | str, **changes: Any) -> Any:
    """Press a button, without confirming."""
    button = f"_step_{transition}" if isinstance(transition, Transition) else transition
    return desk.post(form_address(article), {**form_of(desk, article), **changes, button: "1"}, follow=True)


def with_update(desk: Client, **draft: str) -> Article:
    """A published article with an approved update that waits for its time."""
    article = make_article("Old", **OUT)
    press(desk, article, Transition.SUBMIT, title="Newer")
    approve(article)
    Update.objects.update(publish_at=soon(hours=2))
    if draft:
        press(desk, article, "_save", **draft)
    return article


@pytest.mark.cases(2)
@pytest.mark.parametrize(
    ("transition", "values", "said", "status"),
    [
        (Transition.PUBLISH_NOW, {"status": APPROVED}, "Readers will see it immediately.", Status.PUBLISHED),
        (Transition.UNPUBLISH, OUT, "Readers will no longer see it.", Status.UNPUBLISHED),
        (Transition.REPUBLISH, {**OUT, "status": Status.UNPUBLISHED}, "Readers will see it again", Status.PUBLISHED),
        (Transition.RETRACT, OUT, "Readers see only the retraction notice from now on.", Status.RETRACTED),
    ],
)
def test_a_step_that_readers_notice_says_what_happens_and_waits(
    desk: Client, transition: Transition, values: dict[str, Any], said: str, status: Status
) -> None:
    article = make_article(**values)
    entries = AuditEntry.objects.count()
    page = ask(desk, article, transition, reason="It was <invented>.")
    assert is_asked(page)
    assert said in page.text
    assert Article.objects.get().status == values["status"]
    assert AuditEntry.objects.count() == entries
    page = desk.post(form_address(article), response_to(page), follow=True)
    assert Article.objects.get().status == status
    assert not is_asked(page)


@pytest.mark.thorough
def test_publishing_an_update_names_the_time_it_was_planned_for(desk: Client) -> None:
    article = with_update(desk)
    page = ask(desk, article, Transition.PUBLISH_UPDATE)
    assert "replaces the live text" in page.text
    assert "It was scheduled for" in page.text
    assert Article.objects.get().title == "Old"
    desk.post(form_address(article), response_to(page))
    assert Article.objects.get().title == "Newer"


def test_publishing_beside_a_draft_says_that_readers_get_the_approved_text(desk: Client) -> None:
    article = make_article("Old", status=APPROVED)
    page = ask(desk, article, Transition.PUBLISH_NOW, title="Never approved")
    assert "Later changes need approval first" in page.text
    assert "Later changes need approval" not in ask(desk, article, Transition.PUBLISH_NOW).text


def test_retracting_says_that_newer_text_goes_too_and_so_does_the_audit_log(desk: Client) -> None:
    article = with_update(desk, title="Newest")
    page = ask(desk, article, Transition.RETRACT, reason="It was invented.")
    assert "Its approved update (" in page.text
    assert "The draft of its update is discarded" in page.text
    desk.post(form_address(article), response_to(page))
    details = AuditEntry.objects.of(article).get(action=Transition.RETRACT).details
    assert details["discarded"] == [2, 3]
    assert "update_at" in details
    entry = AuditEntry.objects.get(action=Transition.RETRACT)
    assert (
        "discarded revisions: 2, 3"
        in logged_in(make_user("root", is_superuser=True)).get(f"/admin/articles/auditentry/{entry.pk}/change/").text
    )


def test_approving_a_text_whose_time_is_past_publishes_only_when_it_is_confirmed(desk: Client) -> None:
    article = make_article(status=Status.MANUAL_REVIEW, publish_at=soon(hours=-1))
    page = ask(desk, article, Transition.APPROVE)
    assert "Its publish time is in the past" in page.text
    assert not Article.objects.live(soon()).exists()
    desk.post(form_address(article), response_to(page))
    assert Article.objects.live(soon()).exists()


@pytest.mark.cases(1)
@pytest.mark.parametrize("button", [Transition.SCHEDULE, "_save", "_continue"])
def test_a_time_that_is_past_is_refused_without_a_question(desk: Client, button: Transition | str) -> None:
    article = make_article(status=APPROVED, publish_at=soon(hours=1))
    page = ask(desk, article, button, publish_at=wall(soon(hours=-1)))
    assert not is_asked(page)
    assert page.context["errors"]
    assert not Article.objects.live(soon()).exists()


def test_what_readers_do_not_notice_is_not_asked_about(desk: Client) -> None:
    article = make_article("Old", **OUT)
    assert not is_asked(ask(desk, article, "_save", title="Newer"))
    draft = make_article("Draft", publish_at=soon(hours=-1))
    assert not is_asked(ask(desk, draft, "_save", summary="Not approved"))


def test_what_is_impossible_is_refused_without_a_question(desk: Client) -> None:
    page = ask(desk, make_article(), Transition.RETRACT)
    assert not is_asked(page)
    assert "“Retract” is not possible" in page.text


ASKED_FOR = [
    (Transition.RETRACT, OUT, "Retraction notice", "Enter the retraction notice", "retraction_notice"),
    (Transition.REJECT, {"status": Status.MANUAL_REVIEW}, "Feedback to author", "Enter feedback", "status_reason"),
]


@pytest.mark.cases(1)
@pytest.mark.parametrize(("transition", "values", "label", "error", "column"), ASKED_FOR)
def test_a_text_that_a_step_needs_is_asked_for_until_it_is_right(
    desk: Client, transition: Transition, values: dict[str, Any], label: str, error: str, column: str
) -> None:
    article = make_article(**values)
    assert 'name="reason"' not in desk.get(form_address(article)).text
    page = ask(desk, article, transition)
    assert is_asked(page)
    assert f'<label for="asked_text">{label}</label>' in page.text
    assert "At most 500 characters." in page.text
    assert error not in page.text, "nothing is wrong yet"
    for wrong, said in [("", error), (" \r\n ", error), ("x" * 507, "Shorten it by 7 characters.")]:
        page = desk.post(form_address(article), {**response_to(page), "reason": wrong}, follow=True)
        assert is_asked(page) and said in page.text
        assert wrong.strip() in page.text, "what was typed is still there"
        assert Article.objects.get().status == values["status"]
    desk.post(form_address(article), {**response_to(page), "reason": "Two <lines>\r\nof it"})
    assert getattr(Article.objects.get(), column) == "Two <lines>\nof it"


def test_what_was_typed_in_the_article_is_a_revision_after_a_retraction(desk: Client) -> None:
    article = make_article("Old", **OUT)
    page = ask(desk, article, Transition.RETRACT, title="Typed meanwhile")
    page = desk.post(form_address(article), {**response_to(page), "reason": "It was invented."}, follow=True)
    assert Article.objects.values_list("status", "title").get() == (Status.RETRACTED, "Old")
    assert article.revisions.filter(title="Typed meanwhile").exists()


def test_a_confirmation_of_what_has_changed_since_is_refused(desk: Client) -> None:
    article = make_article("Old", status=APPROVED)
    page = ask(desk, article, Transition.PUBLISH_NOW)
    press(desk, article, "_save", title="Newer")
    page = desk.post(form_address(article), response_to(page))
    assert "The article has been changed since you opened it." in page.text
    assert Article.objects.get().status == APPROVED


def test_going_back_finds_what_was_typed_and_confirming_leaves_no_copy(desk: Client) -> None:
    article = make_article("Old", status=APPROVED, channel=make_channel())
    typed = {"title": 'Two "hours" of work', "body": "<p>Typed &amp; kept</p>"}
    page = ask(desk, article, Transition.PUBLISH_NOW, window=str(uuid4()), **typed)
    restored = desk.get(page.context["back"])
    assert {name: restored.context["adminform"].form[name].value() for name in typed} == typed
    desk.post(form_address(article), response_to(page))
    assert not Autosave.objects.exists()
    stored = Article.objects.get().update.draft
    assert stored is not None
    assert (stored.title, stored.body, stored.channel_id) == (typed["title"], typed["body"], article.channel_id)


def test_a_question_alone_leaves_no_unsaved_work(desk: Client) -> None:
    ask(desk, make_article("Old", status=APPROVED), Transition.PUBLISH_NOW)
    assert not Autosave.objects.exists()


@pytest.mark.cases(1)
@pytest.mark.parametrize(
    ("action", "values", "said", "status"),
    [
        ("unpublish", OUT, "Readers will no longer see these articles.", Status.UNPUBLISHED),
        (
            "republish",
            {**OUT, "status": Status.UNPUBLISHED},
            "Readers will see these articles again immediately",
            Status.PUBLISHED,
        ),
        ("publish_now", {"status": APPROVED}, "This cannot be undone", Status.PUBLISHED),
    ],
)
def test_a_step_with_many_articles_that_readers_notice_asks_first(
    desk: Client, action: str, values: dict[str, Any], said: str, status: Status
) -> None:
    articles = [make_article(f"No. {number}", **values) for number in range(2)]
    chosen = {"action": action, "_selected_action": [article.pk for article in articles]}
    page = desk.post(LIST, chosen, follow=True)
    assert said in page.text
    assert set(Article.objects.values_list("status", flat=True)) == {values["status"]}
    address = page.request["PATH_INFO"]
    page = desk.post(address, {"sure": "yes"}, follow=True)
    while "data-finished" not in page.text:
        desk.post(f"{address}advance/")
        page = desk.get(address)
    assert set(Article.objects.values_list("status", flat=True)) == {status}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("has_scripts", [True, pytest.param(False, marks=pytest.mark.thorough)])
def test_a_question_is_answered_by_keyboard_with_and_without_scripts(
    browser: Browser, site: Site, has_scripts: bool
) -> None:
    make_editor()
    article = make_article("Bridge", **OUT)
    with browser.new_context(base_url=site.url, java_script_enabled=has_scripts) as context:
        page = context.new_page()
        sign_in(page)
        page.goto(form_address(article))
        page.get_by_label("More", exact=True).click()
        page.get_by_role("button", name="Unpublish…").click()
        expect(page.get_by_role("heading", name="Unpublish: “Bridge”?")).to_be_focused()
        page.keyboard.press("Tab")
        expect(page.get_by_role("button", name="Unpublish", exact=True)).to_be_focused()
        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name="Back", exact=True)).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.get_by_label("Headline")).to_have_value("Bridge")
        assert Article.objects.get().status == Status.PUBLISHED
        page.get_by_label("More", exact=True).click()
        page.get_by_role("button", name="Unpublish…").click()
        page.get_by_role("button", name="Unpublish", exact=True).press("Enter")
        expect(page.get_by_text("Readers no longer see it.").first).to_be_visible()
        assert Article.objects.get().status == Status.UNPUBLISHED


@pytest.mark.thorough
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("width", [pytest.param(1440, marks=pytest.mark.thorough), 390])
def test_a_retraction_notice_is_written_by_keyboard_with_its_length_in_sight(
    browser: Browser, site: Site, width: int
) -> None:
    make_editor()
    article = make_article("Bridge", **OUT)
    with browser.new_context(base_url=site.url, viewport={"width": width, "height": 844}) as context:
        page = context.new_page()
        sign_in(page)
        page.goto(form_address(article))
        page.get_by_label("More", exact=True).click()
        page.get_by_role("button", name="Retract…").press("Enter")
        notice = page.get_by_role("textbox", name="Retraction notice")
        expect(notice).to_be_focused()
        assert notice.bounding_box()["width"] > 300  # type: ignore[index]
        page.keyboard.type("It was invented.")
        expect(page.get_by_text("16 / 500")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(page.locator("#stage")).to_have_text("Retracted")
    assert Article.objects.get().retraction_notice == "It was invented."


def test_a_forged_answer_confirms_nothing_but_its_own_button(desk: Client) -> None:
    article = make_article(status=APPROVED)
    sent = {**form_of(desk, article), "_step_publish_now": "1", "_save": "confirmed"}
    assert is_asked(desk.post(form_address(article), sent))
    assert not is_asked(confirmed(desk, form_address(article), sent))
    assert Article.objects.get().status == Status.PUBLISHED
