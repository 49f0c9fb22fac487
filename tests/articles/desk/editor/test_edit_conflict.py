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
from playwright.sync_api import Browser, expect

from articles import publishing
from articles.models import Article, Release, Revision, Update
from articles.releases import release_due, schedule_release
from articles.text.merge import merged
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
        asked = [difference.name for difference in context["differences"]]
        responses = {f"keep_{name}": choice for name, choice in kept.items()}
        return self.save(merged_with=context["merged_with"], asked=asked, **responses)


@pytest.fixture
def bob(db: None) -> Client:
    return logged_in(make_editor("bob"))


def asked(page: Any) -> list[str]:
    return [difference.name for difference in page.context["differences"]]


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
        merging.get_by_label("Both: the changes are in different paragraphs").check()
        save_and_close(alice)
        alice.wait_for_url(lambda address: "change" not in address)
    article.refresh_from_db()
    assert (article.title, article.body) == ("His", "<p>One by her</p><p>Two</p><p>Three by him</p>")
    assert "Hers" in article.revisions.values_list("title", flat=True)


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
    alice.response(alice.save(), body="both")
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


def test_a_time_that_another_changed_before_the_update_went_live_is_a_conflict(bob: Client, updating: Article) -> None:
    alice = Second(updating, summary="Hers")
    press(bob, updating, "_save", unpublish_at=wall(soon(hours=9)))
    go_live(updating)
    assert "has been changed since you opened it" in alice.save().text


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        ("<p>1</p><p>B</p><p>C</p>", "<p>A</p><p>B</p><p>3</p>", "<p>1</p><p>B</p><p>3</p>"),
        ("<p>B</p><p>C</p>", "<p>A</p><p>B</p><p>C</p><p>D</p>", "<p>B</p><p>C</p><p>D</p>"),
        ("<p>1</p><p>B</p><p>C</p>", "<p>2</p><p>B</p><p>C</p>", None),
        ("<p>1</p><p>B</p><p>C</p>", "<p>A</p><p>2</p><p>C</p>", "<p>1</p><p>2</p><p>C</p>"),
        ("<p>A</p><p>1</p><p>B</p><p>C</p>", "<p>A</p><p>2</p><p>C</p>", None),
        ("<p>A</p><p>B</p><p>C</p>", "<p>A</p><p>B</p><p>3</p>", "<p>A</p><p>B</p><p>3</p>"),
    ],
)
def test_bodies_are_put_together_where_different_paragraphs_changed(one: str, other: str, both: str | None) -> None:
    assert merged("<p>A</p><p>B</p><p>C</p>", one, other) == both


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
