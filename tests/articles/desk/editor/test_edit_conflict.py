"""Edit conflicts: two users save one article, see each other's changes and choose; no text is lost."""

from __future__ import annotations

from itertools import product
from time import monotonic
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client
from playwright.sync_api import Browser, Page, expect

from articles import publishing
from articles.models import Article, Release, Revision, Update
from articles.releases import release_due, schedule_release
from articles.text import BOTH, MINE, THEIRS, merge_bodies
from tests.articles.browsers import press_in_body, save_and_close, sign_in
from tests.articles.desk.articles.test_admin import form_address, form_of, logged_in, press, wall
from tests.articles.factories import APPROVED, approve, make_article, make_channel, make_editor, make_release, soon
from tests.conftest import Site

BODY = "<p>One</p><p>Two</p><p>Three</p>"


class Second:
    """Alice, who opened the form before Bob saved, and saves after him."""

    def __init__(self, article: Article, name: str = "alice", **typed: Any) -> None:
        self.client, self.address = logged_in(make_editor(name)), form_address(article)
        self.sent = {**form_of(self.client, article), **typed, "_save": "1"}

    def save(self, **more: Any) -> Any:
        return self.client.post(self.address, {**self.sent, **more}, follow=True)

    def response(self, page: Any, **kept: str) -> Any:
        """Send the form that came back, with these answers."""
        form, context = page.context["adminform"].form, page.context
        self.sent |= {name: form.data[name] for name in self.sent if name in form.data}
        names = [difference.name for difference in context["differences"]]
        responses = {f"keep_{name}": kept[_field(name)] for name in names if _field(name) in kept}
        return self.save(merged_with=context["merged_with"], asked=names, **responses)


def _field(name: str) -> str:
    """The field of a question; a body is asked about paragraph by paragraph."""
    return "body" if name.startswith("body_") else name


@pytest.fixture
def bob(db: None) -> Client:
    return logged_in(make_editor("bob"))


def asked(page: Any) -> list[str]:
    return [_field(difference.name) for difference in page.context["differences"]]


@pytest.mark.django_db(transaction=True)
def test_two_editors_on_one_article_lose_nothing(browser: Browser, site: Site) -> None:
    make_editor()
    make_editor("bob")
    article = make_article("Old", body=BODY)
    with browser.new_context(base_url=site.url) as hers, browser.new_context(base_url=site.url) as his:
        alice, other = hers.new_page(), his.new_page()
        sign_in(alice)
        sign_in(other, "bob")
        for page in (alice, other):
            page.goto(form_address(article))
        other.get_by_label("Headline").fill("His")
        press_in_body(other, "Control+End")
        other.keyboard.press("Shift+Home")
        other.keyboard.type("Three by him")
        save_and_close(other)
        other.wait_for_url(lambda address: "change" not in address)
        alice.get_by_label("Headline").fill("Hers")
        press_in_body(alice, "Control+Home")
        alice.keyboard.press("Shift+End")
        alice.keyboard.type("One by her")
        save_and_close(alice)
        merging = alice.get_by_role("region", name="bob has saved this article since you opened it")
        expect(merging.get_by_role("group", name="Headline")).to_contain_text("His")
        merging.get_by_role("group", name="Headline").get_by_label("Other version").check()
        expect(merging.get_by_role("group")).to_have_count(1)
        expect(alice.locator(".ProseMirror")).to_have_text("One by herTwoThree by him")
        save_and_close(alice)
        alice.wait_for_url(lambda address: "change" not in address)
    article.refresh_from_db()
    assert (article.title, article.body) == ("His", "<p>One by her</p><p>Two</p><p>Three by him</p>")
    assert "Hers" in article.revisions.values_list("title", flat=True)


@pytest.mark.thorough
@pytest.mark.django_db(transaction=True)
def test_a_conflict_is_decided_by_keyboard_on_a_phone(page: Page) -> None:
    make_editor()
    article = make_article("Old", body="<p>One two three.</p><p>Four five six.</p>")
    page.set_viewport_size({"width": 390, "height": 844})
    sign_in(page)
    page.goto(form_address(article))
    press_in_body(page, "Control+End")
    page.keyboard.type(" Hers.")
    his = {"body": "<p>One two <em>three</em>.</p><p>Four five six. His.</p>"}
    publishing.edit(article, by=make_editor("bob"), changes=his)
    save_and_close(page)
    question = page.get_by_role("group", name="Body: “Four five six.”")
    expect(question.locator(".diff-inline ins")).to_have_text([" Hers.", " His."])
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    question.get_by_label("Mine", exact=True).focus()
    page.keyboard.press("ArrowLeft")
    expect(question.get_by_label("Both, mine first")).to_be_checked()
    save_and_close(page)
    page.wait_for_url(lambda address: "change" not in address)
    article.refresh_from_db()
    assert article.body == "<p>One two <em>three</em>.</p><p>Four five six. Hers.</p><p>Four five six. His.</p>"


@pytest.mark.cases(1)
@pytest.mark.parametrize(("choice", "title"), [("mine", "Hers"), ("theirs", "His")])
def test_what_both_changed_is_asked_and_counts_as_answered(bob: Client, choice: str, title: str) -> None:
    article = make_article("Old")
    alice = Second(article, title="Hers")
    press(bob, article, "_save", title="His")
    page = alice.save()
    assert asked(page) == ["title"]
    assert Article.objects.get().title == "His"
    alice.response(page, title=choice)
    assert Article.objects.get().title == title


@pytest.mark.thorough
def test_what_only_one_changed_is_not_asked_and_not_undone(bob: Client) -> None:
    article, politics = make_article("Old", summary="Old"), make_channel()
    alice = Second(article, title="Hers")
    press(bob, article, "_save", summary="His", channel=politics.pk, body="<p>His</p>")
    page = alice.save()
    assert asked(page) == []
    assert "Your changes do not overlap" in page.text
    alice.response(page)
    stored = Article.objects.get()
    assert (stored.title, stored.summary, stored.channel, stored.body) == ("Hers", "His", politics, "<p>His</p>")


def test_without_an_answer_nothing_is_saved_and_the_question_stays(bob: Client) -> None:
    article = make_article("Old")
    alice = Second(article, title="Hers")
    press(bob, article, "_save", title="His")
    again = alice.response(alice.save())
    assert "Choose which version to keep: Headline." in again.text
    assert asked(again) == ["title"]
    assert Article.objects.get().title == "His"
    alice.response(again, title="mine")
    assert Article.objects.get().title == "Hers"


def test_ones_own_other_window_is_no_other_user(bob: Client) -> None:
    article = make_article("Old")
    form = form_of(bob, article)
    press(bob, article, "_save", title="From the other window")
    page = bob.post(form_address(article), {**form, "title": "From here", "_save": "1"})
    assert "You have saved this article in another window since you opened it here." in page.text
    assert "Changed by you in the other window" in page.text
    assert "Another user" not in page.text
    assert "bob has saved" not in page.text
    present = bob.post(f"/admin/articles/article/{article.pk}/presence/{uuid4()}/", form).json()["messages"]
    assert [text for text in present if text.startswith("You have saved this article in another window")]


def test_a_form_that_is_sent_again_is_no_conflict(bob: Client) -> None:
    article = make_article("Old")
    sent = {**form_of(bob, article), "title": "New", "_continue": "1"}
    for _time in range(2):
        page = bob.post(form_address(article), sent, follow=True)
        assert "Saved." in page.text
    assert article.revisions.count() == 2


@pytest.mark.django_db
def test_a_time_of_an_update_that_another_user_moved_is_not_moved_back_unasked() -> None:
    out = {"status": Article.Status.PUBLISHED, "publish_at": soon(hours=-1), "published_at": soon(hours=-1)}
    article, moved = make_article("Old", **out), soon(hours=3).replace(microsecond=0)
    editor = make_editor("carol")
    publishing.edit(article, by=editor, changes={"title": "Newer"})
    publishing.submit(article, by=editor)
    approve(article)
    publishing.schedule_update(article, publish_at=soon(hours=1), by=editor)
    alice = Second(article)
    publishing.schedule_update(article, publish_at=moved, by=editor)
    alice.save()
    assert Article.objects.get().update.publish_at == moved


def test_a_third_version_that_comes_while_choosing_is_asked_about_too(bob: Client) -> None:
    article = make_article("Old")
    alice = Second(article, title="Hers")
    press(bob, article, "_save", title="His")
    page = alice.save()
    press(bob, article, "_save", title="His second")
    again = alice.response(page, title="mine")
    assert Article.objects.get().title == "His second"
    alice.response(again, title="mine")
    assert Article.objects.get().title == "Hers"


def test_paragraphs_that_both_changed_are_decided_one_by_one(bob: Client) -> None:
    article = make_article("Old", body="<p>One two three.</p><p>Four five six.</p><p>Seven</p>")
    alice = Second(article, body="<p>One two <em>three</em>.</p><p>Four five six, she says.</p><p>Seven</p>")
    his = "<p>One two three. And more.</p><p>Four five six, he says.</p><p>Seven</p><p>Eight</p>"
    press(bob, article, "_save", body=his)
    page = alice.save()
    assert asked(page) == ["body", "body"]
    assert "now italic: “three”" in page.text
    assert "&lt;p&gt;" not in page.context["differences"][0].mine.pieces[0].text
    assert "<p>Eight</p>" in page.context["adminform"].form.data["body"], "what only he changed is in the form"
    first, second = (difference.name for difference in page.context["differences"])
    again = alice.response(page, **{})
    assert "Choose which version to keep: Body." in again.text
    kept = {f"keep_{first}": "both"}
    again = alice.save(merged_with=again.context["merged_with"], asked=[first, second], **kept)
    assert "Choose which version to keep: Body." in again.text
    assert [difference.chosen for difference in again.context["differences"]] == ["both", ""], "no choice is lost"
    alice.save(merged_with=again.context["merged_with"], asked=[first, second], **kept, **{f"keep_{second}": "theirs"})
    assert Article.objects.get().body == (
        "<p>One two <em>three</em>.</p><p>One two three. And more.</p><p>Four five six, he says.</p>"
        "<p>Seven</p><p>Eight</p>"
    )


def test_a_question_that_was_not_asked_is_not_answered_by_the_others(bob: Client) -> None:
    """Such as after another edit of a paragraph that the other user has changed, too."""
    article = make_article("Old", body=BODY)
    alice = Second(article, body=BODY.replace("One", "One by her"))
    press(bob, article, "_save", body=BODY.replace("One", "One by him").replace("Three", "Three by him"))
    page = alice.save()
    alice.response(page, body="mine")
    assert Article.objects.get().body == "<p>One by her</p><p>Two</p><p>Three by him</p>"
    alice = Second(article, "carol", body="<p>One by carol</p><p>Two</p><p>Three by him</p>")
    press(bob, article, "_save", body="<p>One by her</p><p>Two</p><p>Three by bob</p>")
    page = alice.save()
    assert asked(page) == []
    alice.sent["body"] = "<p>One by carol</p><p>Two</p><p>Three by carol</p>"
    again = alice.save(merged_with=page.context["merged_with"], asked=[])
    assert asked(again) == ["body"]
    assert "Choose which version to keep: Body." in again.text


def test_a_third_version_of_a_paragraph_is_a_new_question(bob: Client) -> None:
    article = make_article("Old", body=BODY)
    alice = Second(article, body=BODY.replace("Two", "Two by her"))
    press(bob, article, "_save", body=BODY.replace("Two", "Two by him"))
    page = alice.save()
    press(bob, article, "_save", body=BODY.replace("Two", "Two by him again").replace("Three", "Three by him"))
    again = alice.response(page, body="mine")
    assert asked(again) == ["body"]
    assert "Two by him again" in Article.objects.get().body
    alice.response(again, body="both")
    assert Article.objects.get().body == "<p>One</p><p>Two by her</p><p>Two by him again</p><p>Three by him</p>"


def test_a_body_that_grew_too_long_by_both_is_refused_and_kept(bob: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("articles.text.size.BODY_LENGTH", 60)
    article = make_article("Old", body=BODY)
    alice = Second(article, body=BODY.replace("Two", "Two by her, rather long"))
    press(bob, article, "_save", body=BODY.replace("Two", "Two by him, as long"))
    again = alice.response(alice.save(), body="both")
    assert "The body is longer than 60 characters" in again.text
    assert "by her" in again.context["adminform"].form.data["body"]
    assert Article.objects.get().body == BODY.replace("Two", "Two by him, as long")


def test_a_time_that_user_moved_since_is_not_moved_back_unasked(bob: Client) -> None:
    first, moved = soon(hours=1).replace(microsecond=0), soon(hours=3).replace(microsecond=0)
    article = make_article("Old", status=APPROVED, publish_at=first)
    alice = Second(article, summary="Hers")
    press(bob, article, "_save", publish_at=wall(moved))
    page = alice.save()
    assert asked(page) == ["publish_at"]
    alice.response(page, publish_at="theirs")
    assert Article.objects.get().publish_at == moved


def test_a_form_that_does_not_say_where_it_began_is_asked_everything(bob: Client) -> None:
    article = make_article("Old", summary="Old")
    alice = Second(article, title="Hers", base="")
    press(bob, article, "_save", summary="His")
    assert asked(alice.save()) == ["title", "summary"]


def test_newer_text_of_an_article_that_is_out_is_merged_too(bob: Client, django_user_model: type[User]) -> None:
    out = {"status": Article.Status.PUBLISHED, "publish_at": soon(hours=-1), "published_at": soon(hours=-1)}
    article = make_article("Old", body=BODY, **out)
    press(bob, article, "_save", summary="First")
    alice = Second(article, body=BODY.replace("One", "One by her"))
    press(bob, article, "_save", body=BODY.replace("Three", "Three by him"))
    alice.response(alice.save())
    draft = Article.objects.get().update.draft
    assert draft is not None
    assert (draft.body, draft.summary) == ("<p>One by her</p><p>Two</p><p>Three by him</p>", "First")
    assert Article.objects.get().body == BODY


@pytest.fixture
def updating(bob: Client) -> Article:
    """A live article with an approved update, which goes live in an hour."""
    out = {"status": Article.Status.PUBLISHED, "publish_at": soon(hours=-1), "published_at": soon(hours=-1)}
    article = make_article("Old", body="<p>Old</p>", **out)
    editor = User.objects.get(username="bob")
    publishing.edit(article, by=editor, changes={"title": "Newer", "body": BODY})
    publishing.schedule_update(article, publish_at=soon(hours=1), by=editor)
    publishing.submit(article, by=editor)
    approve(article)
    return article


def go_live(article: Article) -> None:
    """What a worker does with the update at its time, which comes now."""
    Update.objects.filter(article=article).update(publish_at=soon(seconds=-1))
    with transaction.atomic():
        assert publishing.update_due([article.pk]).done == {article.pk}


def draft() -> Revision:
    """The draft of the article's update."""
    found = Article.objects.get().update.draft
    assert found is not None
    return found


def test_the_next_save_after_ones_update_went_live_is_no_conflict(updating: Article) -> None:
    alice = Second(updating, summary="Hers")
    go_live(updating)
    page = alice.save()
    assert "has been changed since you opened it" not in page.text
    stored = Article.objects.get()
    assert (stored.title, draft().title, draft().summary) == ("Newer", "Newer", "Hers")


def test_an_update_that_a_release_made_live_at_its_time_is_no_conflict(updating: Article) -> None:
    bob = make_editor("dora")
    publishing.unschedule_update(updating, by=bob)
    release = make_release(updating, by=bob)
    schedule_release(release, publish_at=soon(hours=1), by=bob)
    alice = Second(updating, summary="Hers")
    Release.objects.update(publish_at=soon(seconds=-1))
    with transaction.atomic():
        assert release_due(release.pk, until=monotonic() + 10) is None
    assert "has been changed since you opened it" not in alice.save().text
    assert draft().summary == "Hers"


def test_an_update_that_a_person_published_is_a_change(bob: Client, updating: Article) -> None:
    alice = Second(updating, summary="Hers")
    publishing.publish_update(updating, by=User.objects.get(username="bob"))
    assert "has been changed since you opened it" in alice.save().text
    assert Article.objects.get().pending_update is None


@pytest.mark.cases(1)
@pytest.mark.parametrize("is_before", [True, False])
def test_an_edit_by_another_before_or_after_the_update_went_live_is_a_conflict(
    bob: Client, updating: Article, is_before: bool
) -> None:
    alice = Second(updating, body=BODY.replace("Two", "Two by her"))
    if not is_before:
        go_live(updating)
    press(bob, updating, "_save", body=BODY.replace("Two", "Two by him"))
    if is_before:
        go_live(updating)
    page = alice.save()
    assert asked(page) == ["body"]
    assert draft().body == BODY.replace("Two", "Two by him")
    alice.response(page, body="mine")
    assert draft().body == BODY.replace("Two", "Two by her")


@pytest.mark.thorough
def test_a_time_that_another_changed_before_the_update_went_live_is_a_conflict(bob: Client, updating: Article) -> None:
    alice = Second(updating, summary="Hers")
    press(bob, updating, "_save", unpublish_at=wall(soon(hours=9)))
    go_live(updating)
    assert "has been changed since you opened it" in alice.save().text


def merged(base: str, one: str, other: str) -> str | None:
    """One body; None if a person has to decide."""
    found = merge_bodies(base, one, other)
    return None if found.conflicts else found.body({})


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        ("<p>1</p><p>B</p><p>C</p>", "<p>A</p><p>B</p><p>3</p>", "<p>1</p><p>B</p><p>3</p>"),
        ("<p>B</p><p>C</p>", "<p>A</p><p>B</p><p>C</p><p>D</p>", "<p>B</p><p>C</p><p>D</p>"),
        ("<p>1</p><p>B</p><p>C</p>", "<p>2</p><p>B</p><p>C</p>", None),
        ("<p>1</p><p>B</p><p>C</p>", "<p>1</p><p>B</p><p>C</p>", "<p>1</p><p>B</p><p>C</p>"),
        ("<p>1</p><p>B</p><p>C</p>", "<p>A</p><p>2</p><p>C</p>", "<p>1</p><p>2</p><p>C</p>"),
        ("<p>A</p><p>1</p><p>B</p><p>C</p>", "<p>A</p><p>2</p><p>C</p>", "<p>A</p><p>1</p><p>2</p><p>C</p>"),
        ("<p>A</p><p>1</p><p>B</p><p>C</p>", "<p>A</p><p>2</p><p>B</p><p>C</p>", None),
        ("<p>A</p><p>B</p><p>C</p>", "<p>A</p><p>B</p><p>3</p>", "<p>A</p><p>B</p><p>3</p>"),
    ],
)
def test_bodies_are_put_together_where_different_paragraphs_changed(one: str, other: str, both: str | None) -> None:
    assert merged("<p>A</p><p>B</p><p>C</p>", one, other) == both


@pytest.mark.parametrize(
    ("base", "one", "other", "both"),
    [
        ("<ul><li>a</li><li>b</li></ul>", "<ul><li>x</li><li>b</li></ul>", "<ul><li>a</li><li>y</li></ul>",
         "<ul><li>x</li><li>y</li></ul>"),
        ("<ol><li>a</li></ol>", '<ol start="3"><li>a</li></ol>', "<ol><li>a</li></ol><p>z</p>",
         '<ol start="3"><li>a</li></ol><p>z</p>'),
        ("<table><tbody><tr><td>a</td></tr><tr><td>b</td></tr></tbody></table>",
         "<table><tbody><tr><td>x</td></tr><tr><td>b</td></tr></tbody></table>",
         "<table><tbody><tr><td>a</td></tr><tr><td>y</td></tr></tbody></table>",
         "<table><tbody><tr><td>x</td></tr><tr><td>y</td></tr></tbody></table>"),
        ("<blockquote><p>a</p><p>b</p></blockquote>", "<blockquote><p>x</p><p>b</p></blockquote>",
         "<blockquote><p>a</p><p>y</p></blockquote>", "<blockquote><p>x</p><p>y</p></blockquote>"),
    ],
)  # fmt: skip
def test_items_rows_and_quoted_paragraphs_are_put_together_each_by_itself(
    base: str, one: str, other: str, both: str
) -> None:
    assert merged(base, one, other) == both


def test_each_conflict_has_a_choice_of_its_own() -> None:
    found = merge_bodies(
        BODY, BODY.replace("One", "1").replace("Two", "2"), BODY.replace("One", "I").replace("Two", "II")
    )
    first, second = (conflict.key for conflict in found.conflicts)

    assert found.body({}) == "<p>1</p><p>2</p><p>Three</p>"
    assert found.body({first: THEIRS, second: BOTH}) == "<p>I</p><p>2</p><p>II</p><p>Three</p>"
    assert found.body({first: MINE, second: THEIRS}) == "<p>1</p><p>II</p><p>Three</p>"


def test_a_paragraph_that_one_split_and_the_other_changed_is_a_conflict_as_a_whole() -> None:
    base, split = "<p>A b c d. E f g h.</p><p>Z</p>", "<p>A b c d.</p><p>E f g h.</p><p>Z</p>"
    (conflict,) = merge_bodies(base, split, base.replace("h.", "i.")).conflicts

    assert [block.html for block in conflict.mine] == ["<p>A b c d.</p>", "<p>E f g h.</p>"]


@pytest.mark.thorough
def test_in_a_text_of_very_many_alike_paragraphs_a_small_change_at_each_end_is_put_together() -> None:
    """Comparing them all with each other would take minutes."""
    long = "<p>A</p>" * 50_000
    assert merged(long, f"<p>B</p>{long}", f"{long}<p>C</p>") == f"<p>B</p>{long}<p>C</p>"
    assert merged(long, f"<p>B</p>{long}<p>B</p>", f"{long}<p>C</p>") is None


def test_putting_together_takes_no_side() -> None:
    bodies = ["".join(f"<p>{text}</p>" for text in texts) for texts in ("", "A", "B", "AB", "BA", "ABC", "ACB", "AAB")]
    for base, one, other in product(bodies, repeat=3):
        assert merged(base, one, other) == merged(base, other, one)
        assert merged(base, one, base) == one
