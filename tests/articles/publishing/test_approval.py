"""What an approval covers and who may give it, with regression tests for each bypass that was found."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from rest_framework.test import APIClient

from articles import images, releases
from articles.models import Article, AuditEntry, ReviewPolicy, SensitiveWord, Tag, Update
from articles.publishing import rescan
from articles.roles import Role
from tests.articles.factories import allow_automatic_approval, make_member, make_user, soon
from tests.articles.image_files import image_bytes, make_image, sent

pytestmark = pytest.mark.django_db

Status = Article.Status
DESK = "/api/v1/desk/articles/"


class Desk:
    """A user of the API and the admin."""

    def __init__(self, user: User) -> None:
        self.user, self.api, self.screens = user, APIClient(), Client()
        self.api.force_authenticate(user)
        self.screens.force_login(user)

    def write(self, **values: Any) -> Article:
        response = self.api.post(DESK, {"title": "Mayor resigns", **values})
        assert response.status_code == 201, response.content
        return Article.objects.get(pk=response.json()["id"])

    def change(self, article: Article, **values: Any) -> int:
        return self.api.patch(f"{DESK}{article.pk}/", values).status_code

    def take(self, article: Article, transition: str, **values: Any) -> int:
        return self.api.post(f"{DESK}{article.pk}/{transition}/", values).status_code

    def number(self, article: Article) -> int:
        """The revision that this person is shown."""
        shown = self.api.get(f"{DESK}{article.pk}/").json()
        pending_update = shown["pending_update"]
        return int(
            pending_update["draft"]["number"] if pending_update and pending_update["draft"] else shown["revision"]
        )

    def approve(self, article: Article, **values: Any) -> int:
        return self.take(article, "approve", **{"revision": self.number(article), **values})

    def read(self, article: Article) -> Any:
        """Open the review screen."""
        return self.screens.get(reverse("admin:articles_queuedarticle_change", args=[article.pk]))

    def rename(self, tag: Tag, name: str) -> int:
        address = reverse("admin:articles_tag_change", args=[tag.pk])
        return self.screens.post(address, {"name": name, "slug": tag.slug}).status_code

    def reassign(self, article: Article, author: User) -> int:
        form = {
            "title": article.title,
            "slug": article.slug,
            "author": author.pk,
            "tags": [t.pk for t in article.tags.all()],
            "seen": changed_at(article),
        }
        address = reverse("admin:articles_article_change", args=[article.pk])
        return self.screens.post(address, {**form, "_save": "1"}).status_code


@pytest.fixture
def chief() -> Desk:
    return Desk(make_member(Role.CHIEF, "irene"))


@pytest.fixture
def author() -> Desk:
    return Desk(make_member(Role.AUTHOR, "wen"))


@pytest.fixture
def editor() -> Desk:
    return Desk(make_member(Role.EDITOR, "qiming"))


@pytest.fixture
def reviewer() -> Desk:
    return Desk(make_member(Role.REVIEWER, "nadia"))


@pytest.fixture(params=[False, True], ids=["", "two-user-rule"])
def rule(request: pytest.FixtureRequest, settings: Any) -> bool:
    settings.ARTICLES_TWO_PERSON_RULE = request.param
    return bool(request.param)


def changed_at(article: Article) -> str:
    """The version that the article form sends as `seen`."""
    return Article.objects.get(pk=article.pk).changed_at.isoformat()


def state(article: Article) -> int:
    return Article.objects.values_list("status", flat=True).get(pk=article.pk)


@pytest.mark.cases(1)
@pytest.mark.usefixtures("rule")
def test_reassigning_the_author_and_renaming_a_tag_does_not_let_one_approve_ones_own(
    chief: Desk, reviewer: Desk
) -> None:
    tag = Tag.objects.create(name="Mayors")
    article = chief.write(tags=[tag.slug])
    assert chief.take(article, "submit") == 200
    assert chief.approve(article) == 403
    assert chief.reassign(article, reviewer.user) == 302
    assert chief.approve(article) == 403
    assert chief.rename(tag, "City hall") == 302
    assert chief.read(article).status_code == 200
    assert chief.approve(article) == 403
    assert state(article) == Status.MANUAL_REVIEW


@pytest.mark.usefixtures("rule")
def test_a_stale_save_of_a_colleague_does_not_let_one_approve_ones_own(chief: Desk, editor: Desk) -> None:
    article = editor.write()
    seen = editor.api.get(f"{DESK}{article.pk}/").json()["updated_at"]
    assert editor.take(article, "submit") == 200
    assert chief.change(article, body="<p>The chief's own words.</p>") == 200
    assert chief.approve(article) == 403
    assert editor.change(article, title="Too late", seen=seen) == 409
    assert article.revisions.count() == 3
    assert chief.approve(article) == 403
    assert state(article) == Status.MANUAL_REVIEW


def test_one_word_in_the_list_does_not_switch_human_review_off(author: Desk) -> None:
    article = author.write(publish_at=soon(seconds=1).isoformat())
    SensitiveWord.objects.create(text="casino", level=SensitiveWord.Level.BLOCK)
    assert author.take(article, "submit") == 200
    assert state(article) == Status.MANUAL_REVIEW


def test_a_time_that_was_changed_since_the_reviewer_looked_is_not_approved(author: Desk, reviewer: Desk) -> None:
    article = author.write(publish_at="2030-01-01T00:00:00Z")
    assert author.take(article, "submit") == 200
    read = reviewer.number(article)
    assert author.change(article, publish_at="2029-01-01T00:00:00Z") == 200
    response = reviewer.api.post(f"{DESK}{article.pk}/approve/", {"revision": read})
    assert response.status_code == 409
    assert "publish at" in response.json()["detail"]
    assert not Article.objects.live(soon()).exists()


def test_the_texts_of_an_image_of_a_live_article_are_not_changed_by_its_author(author: Desk) -> None:
    shown = make_image(author.user)
    article = author.write(cover_mode="one", cover=[str(shown.pk)])
    Article.objects.filter(pk=article.pk).update(status=Status.PUBLISHED, publish_at=soon(hours=-1))
    for name in ("alt", "caption", "credit"):
        response = author.api.patch(f"/api/v1/desk/images/{shown.pk}/", {name: "The mayor steals"})
        assert response.status_code == 403, name
    assert "The mayor steals" not in Client().get(article.get_absolute_url()).text


def test_a_tag_of_a_live_article_is_not_renamed_without_the_right_to_approve(author: Desk, editor: Desk) -> None:
    tag = Tag.objects.create(name="Mayors")
    article = author.write(tags=[tag.slug])
    Article.objects.filter(pk=article.pk).update(status=Status.PUBLISHED, publish_at=soon(hours=-1))
    editor.rename(tag, "Thieves")
    assert Tag.objects.get().name == "Mayors"


def test_the_api_approves_nothing_without_the_number_of_what_was_read(author: Desk, reviewer: Desk) -> None:
    article = author.write()
    author.take(article, "submit")
    response = reviewer.api.post(f"{DESK}{article.pk}/approve/", {})
    assert response.status_code == 400
    assert "revision" in response.json()
    assert state(article) == Status.MANUAL_REVIEW


def test_many_are_approved_as_they_were_shown_or_not_at_all(author: Desk, reviewer: Desk) -> None:
    first, second = author.write(title="First"), author.write(title="Second")
    for article in (first, second):
        author.take(article, "submit")
    address = reverse("admin:articles_article_changelist")
    chosen = {"action": "approve", "_selected_action": [first.pk, second.pk]}
    question = reviewer.screens.post(address, chosen).headers["Location"]
    reviewer.screens.get(question)
    assert author.change(second, title="Second, and worse") == 200
    reviewer.screens.post(question)
    reviewer.screens.post(f"{question}advance/")
    assert (state(first), state(second)) == (Status.MANUALLY_APPROVED, Status.MANUAL_REVIEW)
    assert "Second" in reviewer.screens.get(question).text


def test_the_audit_log_names_the_automatic_review_where_it_approved(author: Desk) -> None:
    allow_automatic_approval(ReviewPolicy.Machine.TEXTS)
    article = author.write()
    assert author.take(article, "submit") == 200
    entry = AuditEntry.objects.of(article).latest("id")
    assert (state(article), entry.details["approved_by"]) == (Status.APPROVED, "automatic review")
    assert "approved by automatic review" in entry.differences()


def test_the_automatic_review_makes_nothing_public_at_a_time_that_its_author_may_not_choose(author: Desk) -> None:
    allow_automatic_approval(ReviewPolicy.Machine.TEXTS)
    timed = author.write(publish_at=soon(seconds=1).isoformat())
    author.take(timed, "submit")
    assert state(timed) == Status.MANUAL_REVIEW
    allow_automatic_approval(ReviewPolicy.Machine.ALL)
    chosen = author.write(publish_at=soon(hours=1).isoformat())
    author.take(chosen, "submit")
    assert state(chosen) == Status.APPROVED


def test_a_time_that_is_chosen_while_the_automatic_review_reads_counts_too(author: Desk, settings: Any) -> None:
    allow_automatic_approval(ReviewPolicy.Machine.TEXTS)
    settings.REVIEW_AT_ONCE = 0
    article = author.write(body="<p>Long.</p>")
    author.take(article, "submit")
    assert state(article) == Status.SUBMITTED
    assert author.change(article, publish_at=soon(hours=1).isoformat()) == 200
    rescan.review_submitted(article.pk)
    assert state(article) == Status.MANUAL_REVIEW


def test_who_approves_is_chosen_by_the_chief_on_a_screen_and_recorded(
    chief: Desk, reviewer: Desk, author: Desk
) -> None:
    address = reverse("admin:articles_reviewpolicy_changelist")
    assert (
        "A reviewer approves every text" in chief.screens.get(reverse("admin:articles_sensitiveword_changelist")).text
    )
    assert reviewer.screens.post(address, {"machine": "all"}).status_code == 403
    assert chief.screens.post(address, {"machine": "whatever"}).status_code == 200
    assert chief.screens.post(address, {"machine": "all"}).status_code == 302
    assert ReviewPolicy.chosen() == ReviewPolicy.Machine.ALL
    entry = AuditEntry.objects.get(action="change_review_policy")
    assert (entry.user_id, entry.details) == (chief.user.pk, {"machine": ["never", "all"]})
    assert "Automatic review approves" in chief.screens.get(reverse("admin:articles_sensitiveword_changelist")).text
    assert (
        "A reviewer approves every text → " in chief.screens.get(reverse("admin:articles_auditentry_changelist")).text
    )
    assert author.screens.get(address).status_code == 403


@pytest.mark.parametrize(
    "name, value, said",
    [
        ("unpublish_at", "2040-01-01T00:00:00Z", "unpublish at"),
        ("title", "Mayor stays", "headline"),
    ],
)
def test_an_approval_that_is_refused_says_what_was_changed(
    author: Desk, reviewer: Desk, name: str, value: str, said: str
) -> None:
    article = author.write()
    author.take(article, "submit")
    read = reviewer.number(article)
    author.change(article, **{name: value})
    response = reviewer.api.post(f"{DESK}{article.pk}/approve/", {"revision": read})
    assert (response.status_code, response.json()["code"]) == (409, "revision_changed")
    assert said in response.json()["detail"]
    assert reviewer.approve(article) == 200


def test_a_time_changed_between_two_reviews_is_not_approved_by_the_screen_of_the_first(
    author: Desk, reviewer: Desk
) -> None:
    article = author.write(publish_at="2030-01-01T00:00:00Z")
    author.take(article, "submit")
    read = reviewer.read(article).context["shown"].number
    assert reviewer.take(article, "reject", reason="No.") == 200
    author.change(article, publish_at="2029-01-01T00:00:00Z")
    author.take(article, "submit")
    form = {"revision": read, "approve": "1"}
    page = reviewer.screens.post(reverse("admin:articles_queuedarticle_change", args=[article.pk]), form)
    assert "publish at" in page.text
    assert state(article) == Status.MANUAL_REVIEW
    assert reviewer.approve(article) == 200


@pytest.mark.parametrize("change", ["caption", "tag", "author"])
def test_what_is_shown_with_a_text_is_approved_with_it(change: str, author: Desk, editor: Desk, reviewer: Desk) -> None:
    shown, tag = make_image(author.user), Tag.objects.create(name="Mayors")
    article = author.write(cover_mode="one", cover=[str(shown.pk)], tags=[tag.slug])
    author.take(article, "submit")
    read = reviewer.number(article)
    if change == "caption":
        response = author.api.patch(f"/api/v1/desk/images/{shown.pk}/", {"caption": "The mayor steals"})
        assert response.status_code == 200
    elif change == "tag":
        assert editor.rename(tag, "Thieves") == 302
    else:
        assert editor.reassign(article, editor.user) == 302
    assert reviewer.take(article, "approve", revision=read) == 409
    assert reviewer.approve(article) == 200
    assert article.revisions.get(number=reviewer.number(article)).author == author.user


def test_the_article_form_approves_what_it_showed_with_the_time_typed_into_it(chief: Desk, author: Desk) -> None:
    article = author.write()
    author.take(article, "submit")
    read, address = chief.number(article), reverse("admin:articles_article_change", args=[article.pk])
    form = {"title": article.title, "slug": article.slug, "author": author.user.pk, "_step_approve": "1"}
    form["seen"] = changed_at(article)
    assert chief.screens.post(address, form).status_code == 200
    author.change(article, title="Mayor stays")
    form["title"] = "Mayor stays"
    chief.screens.post(address, {**form, "base": read, "seen": changed_at(article)})
    assert state(article) == Status.MANUAL_REVIEW
    later = {"publish_at": "2030-01-01T00:00:00", "base": chief.number(article), "seen": changed_at(article)}
    assert chief.screens.post(address, form | later).status_code == 302
    assert state(article) == Status.MANUALLY_APPROVED


def test_restoring_the_text_of_another_user_does_not_let_that_user_approve_it(chief: Desk, editor: Desk) -> None:
    article = editor.write()
    seen = editor.api.get(f"{DESK}{article.pk}/").json()["updated_at"]
    editor.change(article, title="Mayor stays")
    assert chief.change(article, title="The chief's own words", seen=seen) == 409
    aside = article.revisions.latest("number")
    assert editor.api.post(f"{DESK}{article.pk}/revisions/{aside.number}/restore/").status_code == 200
    editor.take(article, "submit")
    assert chief.approve(article) == 403


def test_a_text_without_a_writer_is_approved_by_no_one_until_a_user_submits_it(
    chief: Desk, reviewer: Desk, editor: Desk
) -> None:
    article = editor.write()
    editor.take(article, "submit")
    Article.objects.filter(pk=article.pk).update(body="<p>Written by a program.</p>")
    page = reviewer.read(article)
    assert "The writer of this text is unknown" in page.text
    assert 'name="approve"' not in page.text
    assert reviewer.take(article, "approve", revision=page.context["shown"].number) == 403
    assert reviewer.take(article, "reject", reason="Who wrote that?") == 200
    assert chief.take(article, "submit") == 200
    assert chief.approve(article) == 403
    assert reviewer.approve(article) == 200


def test_the_text_of_a_user_who_has_left_is_still_theirs_and_can_be_approved(author: Desk, reviewer: Desk) -> None:
    article = author.write()
    author.take(article, "submit")
    author.user.delete()
    assert reviewer.read(article).status_code == 200, "readers would see no name any more: that is another revision"
    assert reviewer.approve(article) == 200


@pytest.mark.cases(1)
@pytest.mark.usefixtures("rule")
def test_an_approval_that_was_undone_or_pulled_back_is_not_the_last_one(chief: Desk, reviewer: Desk) -> None:
    article = chief.write()
    chief.take(article, "submit")
    assert reviewer.approve(article) == 200
    SensitiveWord.objects.create(text="resigns", level=SensitiveWord.Level.REVIEW)
    rescan.review_again()
    assert state(article) == Status.MANUAL_REVIEW
    chief.reassign(article, reviewer.user)
    assert chief.approve(article) == 403


def test_only_an_administrator_overrides_and_confirms_it_with_a_reason(chief: Desk) -> None:
    root = Desk(make_user("root", is_superuser=True))
    article = root.write()
    root.take(article, "submit")
    number = root.number(article)
    assert root.approve(article) == 403
    assert root.take(article, "approve", revision=number, override="") == 400
    assert chief.take(article, "approve", revision=number, override="I want it.") == 403
    address = reverse("admin:articles_queuedarticle_change", args=[article.pk])
    assert "Override as administrator" in root.read(article).text
    assert "Override as administrator" not in chief.read(article).text
    root.screens.post(address, {"revision": number, "release": "1"})  # opening it has claimed it
    for missing in ({}, {"sure": "on"}, {"override_reason": "Alone at night."}):
        root.screens.post(address, {"revision": number, "override": "1", **missing})
        assert state(article) == Status.MANUAL_REVIEW
    root.screens.post(
        address, {"revision": number, "override": "1", "sure": "on", "override_reason": "Alone at night."}
    )
    assert state(article) == Status.MANUALLY_APPROVED
    assert AuditEntry.objects.of(article).latest("id").details["override"] == "Alone at night."


def test_an_author_moves_no_time_and_no_author_of_what_is_approved(author: Desk, editor: Desk) -> None:
    for status in (*Status.passed(), Status.RETRACTED):
        article = author.write()
        Article.objects.filter(pk=article.pk).update(status=status, publish_at=soon(hours=1))
        for desk in (author, editor):
            for name in ("publish_at", "unpublish_at"):
                assert desk.change(article, **{name: soon(hours=9).isoformat()}) in {403, 409}
        editor.reassign(article, editor.user)
        assert Article.objects.get(pk=article.pk).author == author.user


def test_the_same_file_again_changes_no_text_of_the_image_of_a_live_article(author: Desk) -> None:
    data = image_bytes()
    shown = images.upload(sent(data), by=author.user, alt="Ships in the harbour").image
    article = author.write(cover_mode="one", cover=[str(shown.pk)])
    Article.objects.filter(pk=article.pk).update(status=Status.PUBLISHED, publish_at=soon(hours=-1))
    again = images.upload(sent(data), by=author.user, caption="The mayor steals")
    assert (again.image.pk, again.is_new) == (shown.pk, False)
    shown.refresh_from_db()
    assert shown.caption == ""


def test_a_tag_of_a_live_article_is_changed_and_deleted_by_who_may_approve(author: Desk, chief: Desk) -> None:
    tag = Tag.objects.create(name="Mayors")
    article = author.write(tags=[tag.slug])
    Article.objects.filter(pk=article.pk).update(status=Status.PUBLISHED, publish_at=soon(hours=-1))
    clerk = Desk(make_user("clerk", "view_tag", "change_tag", "delete_tag"))
    for address in ("change", "delete"):
        page = reverse(f"admin:articles_tag_{address}", args=[tag.pk])
        assert clerk.screens.post(page, {"name": "Thieves", "slug": "mayors", "post": "yes"}).status_code == 403
    listed = reverse("admin:articles_tag_changelist")
    clerk.screens.post(listed, {"action": "delete_selected", "_selected_action": [tag.pk], "post": "yes"})
    assert Tag.objects.get().name == "Mayors"
    assert (
        "only users who may approve articles can change it"
        in clerk.screens.get(reverse("admin:articles_tag_change", args=[tag.pk])).text
    )
    assert chief.rename(tag, "City hall") == 302
    entry = AuditEntry.objects.get(action="rename_tag")
    assert (entry.user_id, entry.article_title, entry.details) == (chief.user.pk, "City hall", {"old_name": "Mayors"})


def test_a_command_approves_nothing_without_the_number_of_what_was_read(author: Desk, reviewer: Desk) -> None:
    article = author.write()
    author.take(article, "submit")
    said, number = StringIO(), str(reviewer.number(article))
    with pytest.raises(SystemExit):
        call_command("article", "approve", str(article.pk), "--by", "nadia", stdout=said, stderr=said)
    assert "revision_missing" in said.getvalue()
    call_command("article", "approve", str(article.pk), "--by", "nadia", "--revision", number, stdout=said)
    assert state(article) == Status.MANUALLY_APPROVED


def test_words_in_a_correction_are_found_as_those_in_the_text(editor: Desk, author: Desk) -> None:
    allow_automatic_approval(ReviewPolicy.Machine.TEXTS)
    SensitiveWord.objects.create(text="bastard", level=SensitiveWord.Level.BLOCK)
    article = author.write()
    author.take(article, "submit")
    assert state(article) == Status.APPROVED
    assert editor.change(article, correction="The mayor is a bastard") == 200
    editor.take(article, "submit")
    article.refresh_from_db()
    assert not article.corrections.exists()
    assert article.update.status == Status.REJECTED
    assert "bastard" in article.update.status_reason


def test_an_approved_correction_is_pulled_back_for_a_new_word(editor: Desk, author: Desk, reviewer: Desk) -> None:
    article = author.write()
    Article.objects.filter(pk=article.pk).update(status=Status.PUBLISHED, publish_at=soon(hours=-1))
    assert editor.change(article, correction="The mayor is a bastard") == 200
    editor.take(article, "submit")
    assert reviewer.approve(article) == 200
    SensitiveWord.objects.create(text="bastard", level=SensitiveWord.Level.REVIEW)
    assert rescan.review_again() == 1
    article.refresh_from_db()
    assert article.update.approved is None


def test_rolling_a_release_back_approves_nothing_that_was_written_since(chief: Desk, reviewer: Desk) -> None:
    article = chief.write()
    chief.take(article, "submit")
    assert reviewer.approve(article) == 200
    published = releases.create_release(name="First", by=chief.user)
    releases.add_member(published, article=article, by=chief.user)
    releases.publish_release_now(published, by=chief.user)
    chief.change(article, title="Mayor resigns at noon")
    chief.take(article, "submit")
    assert reviewer.approve(article) == 200
    updated = releases.create_release(name="Second", by=chief.user)
    releases.add_member(updated, article=article, by=chief.user)
    releases.publish_release_now(updated, by=chief.user)
    releases.roll_back_release(published, by=chief.user)
    SensitiveWord.objects.create(text="noon", level=SensitiveWord.Level.REVIEW)
    rescan.review_again()
    assert state(article) == Status.MANUAL_REVIEW
    assert chief.change(article, title="The chief's own words") == 200
    releases.roll_back_release(updated, by=chief.user)
    assert not Update.objects.filter(article=article, approved__isnull=False).exists()
    article.refresh_from_db()
    assert (article.status, article.title) == (Status.MANUAL_REVIEW, "The chief's own words")


def test_restoring_a_text_of_several_writers_lets_none_of_them_approve_it(
    chief: Desk, editor: Desk, reviewer: Desk
) -> None:
    article = editor.write()
    editor.take(article, "submit")
    assert reviewer.approve(article) == 200
    chief.change(article, title="The chief's own words")
    editor.change(article, summary="By another hand.")
    of_both = editor.number(article)
    assert editor.take(article, "update/discard") == 200
    editor.change(article, summary="Something else.")
    editor.take(article, "submit")
    assert reviewer.approve(article) == 200
    assert editor.api.post(f"{DESK}{article.pk}/revisions/{of_both}/restore/").status_code == 200
    editor.take(article, "submit")
    assert chief.approve(article) == 403
    assert reviewer.approve(article) == 200
