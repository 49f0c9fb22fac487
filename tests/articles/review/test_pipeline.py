"""The automatic review: on submit, in the background, when services fail and when words change."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.contrib.auth.models import User

from articles import publishing
from articles.models import Article, ReviewPolicy, SensitiveWord
from articles.publishing import rescan
from articles.review import Opinion, ReviewSubject
from articles.task_types import REVIEW, REVIEW_AGAIN
from articles.workflow import Verdict
from scheduling.models import TaskInfo
from tests.articles.factories import allow_automatic_approval, approve, make_article, make_editor, publish_tasks, soon
from tests.conftest import Manage

pytestmark = pytest.mark.django_db

Status = Article.Status
Level = SensitiveWord.Level


@pytest.fixture(autouse=True)
def _machine_approves() -> None:
    """Let the automatic review approve, except in tests that change the policy."""
    allow_automatic_approval()


@pytest.fixture
def editor() -> User:
    return make_editor()


def word(text: str, level: SensitiveWord.Level = Level.BLOCK) -> SensitiveWord:
    return SensitiveWord.objects.create(text=text, level=level)


def submitted(editor: User, title: str = "Harbour bridge reopens", **values: Any) -> Article:
    article = make_article(title, **values)
    publishing.submit(article, by=editor)
    return article


def test_a_text_without_sensitive_words_passes(editor: User) -> None:
    """R5.1"""
    word("casino")
    article = submitted(editor, body="<p>The bridge is open again.</p>")
    assert (article.status, article.status_reason) == (Status.APPROVED, "")


@pytest.mark.parametrize(
    ("values", "place"),
    [
        ({"title": "New casino opens"}, "headline"),
        ({"summary": "A c-a-s-i-n-o."}, "summary"),
        ({"byline": "Our CASINO desk"}, "byline"),
        ({"body": "<p>One.</p><p>Two: cas<b>in</b>o.</p>"}, "text, paragraph 2"),
        ({"body": "<p>One.</p><p>Two: c&#97;sino.</p>"}, "text, paragraph 2"),
        ({"body": '<p><img src="/a.jpg" alt="A casino"></p>'}, "image texts"),
        ({"body": '<p><a href="/" title="A casino">x</a></p>'}, "image texts"),
        ({"body": "<figure><figcaption>A casino</figcaption></figure>"}, "text, paragraph 1"),
    ],
)
def test_a_blocked_text_names_the_word_and_its_place(values: dict[str, str], place: str, editor: User) -> None:
    """R5.1"""
    word("casino")
    article = submitted(editor, **values)
    assert article.status == Status.REJECTED
    assert article.status_reason == f"Blocked words: “casino” ({place})."


def test_the_words_are_kept_with_what_stands_around_them(editor: User) -> None:
    """R5.1"""
    word("法轮功")
    article = submitted(editor, body="<p>他们在公园里练习法 輪 功的人越来越多。</p>")
    finding = article.revisions.get().review.findings[0]
    assert (finding["found"], finding["paragraph"]) == ("法 輪 功", 1)
    assert finding["context"] == "他们在公园里练习法 輪 功的人越来越多。"


def test_a_word_to_look_at_leads_to_a_reviewer(editor: User) -> None:
    """R5.1"""
    word("casino", Level.REVIEW)
    article = submitted(editor, "New casino opens")
    assert article.status == Status.MANUAL_REVIEW
    assert article.status_reason == "Words to look at: “casino” (headline)."


def test_an_innocent_phrase_passes(editor: User) -> None:
    """R5.1"""
    word("台独")
    word("平台独立", Level.ALLOW)
    assert submitted(editor, "平台独立运行").status == Status.APPROVED
    assert submitted(editor, "平台独立运行，台独").status == Status.REJECTED


def test_no_word_decides_who_approves(editor: User) -> None:
    """R5.1"""
    ReviewPolicy.objects.all().delete()
    for level in Level:
        word(f"casino {level}", level)
        assert submitted(editor).status == Status.MANUAL_REVIEW
    allow_automatic_approval()
    SensitiveWord.objects.all().delete()
    assert submitted(editor).status == Status.APPROVED


def test_a_newsroom_may_want_a_reviewer_for_everything(editor: User) -> None:
    word("casino")
    allow_automatic_approval(ReviewPolicy.Machine.NEVER)
    assert submitted(editor).status == Status.MANUAL_REVIEW
    assert submitted(editor, "New casino").status == Status.REJECTED


def test_with_the_two_person_rule_the_automatic_review_never_approves(editor: User, settings: Any) -> None:
    settings.ARTICLES_TWO_PERSON_RULE = True
    assert submitted(editor).status == Status.MANUAL_REVIEW
    settings.REVIEW_AT_ONCE = 0
    article = submitted(editor)
    rescan.review_submitted(article.pk)
    article.refresh_from_db()
    assert article.status == Status.MANUAL_REVIEW


class Passing:
    def review(self, subject: ReviewSubject) -> Opinion:
        return Opinion(Verdict.PASSED)


class Blocking:
    def review(self, subject: ReviewSubject) -> Opinion:
        return Opinion(Verdict.BLOCKED, "The picture shows a minor.")


class Failing:
    def review(self, subject: ReviewSubject) -> Opinion:
        raise OSError("no route to host")


class Silent:
    release = threading.Event()

    def review(self, subject: ReviewSubject) -> Opinion:
        self.release.wait()
        return Opinion(Verdict.PASSED)


class Odd:
    def review(self, subject: ReviewSubject) -> Any:
        return True


class OddVerdict:
    def review(self, subject: ReviewSubject) -> Any:
        return Opinion("passed")  # type: ignore[arg-type]


@pytest.fixture
def _release_the_silent() -> Any:
    Silent.release.clear()
    yield
    Silent.release.set()


def reviewed_by(editor: User, settings: Any, *services: str) -> Article:
    settings.REVIEW_SERVICES = [f"tests.articles.review.test_pipeline.{name}" for name in services]
    settings.REVIEW_TIMEOUT = 0.2
    article = submitted(editor)
    assert article.status == Status.SUBMITTED
    rescan.review_submitted(article.pk)
    article.refresh_from_db()
    return article


@pytest.mark.usefixtures("_release_the_silent")
@pytest.mark.parametrize("name", ["Failing", "Silent", "Odd", "OddVerdict", "Missing"])
def test_a_service_that_fails_sends_the_article_to_a_reviewer(name: str, editor: User, settings: Any) -> None:
    """R5.2"""
    article = reviewed_by(editor, settings, "Passing", name)
    assert article.status == Status.MANUAL_REVIEW
    assert article.status_reason == f"The review service “{name}” gave no usable answer."


def test_a_service_lets_pass_or_blocks(editor: User, settings: Any) -> None:
    """R5.1"""
    assert reviewed_by(editor, settings, "Passing").status == Status.APPROVED
    blocked = reviewed_by(editor, settings, "Failing", "Blocking")
    assert (blocked.status, blocked.status_reason.split(".")[0]) == (Status.REJECTED, "The picture shows a minor")


def test_a_review_that_breaks_sends_the_article_to_a_reviewer(editor: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """R5.2"""
    monkeypatch.setattr("articles.review.pipeline.review_images", lambda subject: 1 / 0)
    word("casino")
    article = submitted(editor)
    assert (article.status, article.status_reason) == (Status.MANUAL_REVIEW, "The automatic review failed.")


def test_a_long_text_is_reviewed_in_the_background(editor: User, settings: Any) -> None:
    """R5.1"""
    word("casino")
    settings.REVIEW_AT_ONCE = 100
    article = submitted(editor, body="<p>A long story.</p>" * 100, publish_at=soon(hours=1))
    assert article.status == Status.SUBMITTED
    assert TaskInfo.objects.filter(task_type=REVIEW, key=str(article.pk)).exists()
    assert not publish_tasks(article)
    rescan.review_submitted(article.pk)
    article.refresh_from_db()
    assert article.status == Status.APPROVED
    assert publish_tasks(article) == [article.publish_at]


def test_a_review_in_the_background_that_was_lost_leads_to_a_reviewer(editor: User, settings: Any) -> None:
    """R5.2"""
    settings.REVIEW_AT_ONCE = 100
    article = submitted(editor, body="<p>A long story.</p>" * 100)
    assert rescan.reconcile_reviews() == 0
    TaskInfo.objects.filter(task_type=REVIEW).delete()
    assert rescan.reconcile_reviews() == 1
    article.refresh_from_db()
    assert article.status == Status.MANUAL_REVIEW


def test_new_words_pull_back_what_waits_and_leave_its_time(editor: User) -> None:
    """R5.1"""
    word("casino")
    due = soon(hours=1)
    waiting = submitted(editor, "Lottery winner found", publish_at=due)
    other = submitted(editor, "Harbour bridge reopens", publish_at=due)
    published = make_article("Lottery in the harbour", status=Status.PUBLISHED, publish_at=soon(hours=-1))

    word("lottery", Level.REVIEW)
    assert TaskInfo.objects.filter(task_type=REVIEW_AGAIN).exists()
    assert rescan.review_again() == 1

    waiting.refresh_from_db()
    assert (waiting.status, waiting.publish_at) == (Status.MANUAL_REVIEW, due)
    assert waiting.status_reason == "Words to look at: “lottery” (headline)."
    assert not publish_tasks(waiting)
    for untouched in (other, published):
        status = untouched.status
        untouched.refresh_from_db()
        assert untouched.status == status

    approve(waiting)
    assert publish_tasks(waiting) == [due]


def test_words_that_a_reviewer_accepted_do_not_pull_an_article_back_but_blocking_them_does(editor: User) -> None:
    lottery = word("lottery", Level.REVIEW)
    article = submitted(editor, "Lottery winner found", publish_at=soon(hours=1))
    approve(article)
    word("casino")
    assert rescan.review_again() == 0
    lottery.level = Level.BLOCK
    lottery.save()
    assert rescan.review_again() == 1
    article.refresh_from_db()
    assert article.status == Status.REJECTED


def test_an_innocent_phrase_that_is_deleted_counts_no_longer(editor: User) -> None:
    word("台独")
    phrase = word("平台独立", Level.ALLOW)
    article = submitted(editor, "平台独立运行", publish_at=soon(hours=1))
    assert article.status == Status.APPROVED
    SensitiveWord.objects.filter(pk=phrase.pk).delete()
    assert rescan.review_again() == 1


def test_what_readers_see_already_is_not_pulled_back(editor: User) -> None:
    word("casino")
    article = submitted(editor, "Lottery winner found", publish_at=soon(seconds=-1))
    word("lottery")
    assert rescan.review_again() == 0
    article.refresh_from_db()
    assert article.status == Status.APPROVED


def test_words_that_were_not_applied_are_applied_later(editor: User) -> None:
    word("casino")
    rescan.review_again()
    TaskInfo.objects.filter(task_type=REVIEW_AGAIN).delete()
    rescan.reconcile_reviews()
    assert not TaskInfo.objects.filter(task_type=REVIEW_AGAIN).exists()
    word("lottery")
    TaskInfo.objects.filter(task_type=REVIEW_AGAIN).delete()
    rescan.reconcile_reviews()
    assert TaskInfo.objects.filter(task_type=REVIEW_AGAIN).exists()


@pytest.mark.django_db(transaction=True)
def test_a_worker_reviews_long_texts_and_applies_new_words(editor: User, settings: Any, manage: Manage) -> None:
    """R5.1"""
    settings.REVIEW_AT_ONCE = 100
    word("casino")
    long = submitted(editor, body="<p>A long story.</p>" * 100)
    settings.REVIEW_AT_ONCE = 50_000
    waiting = submitted(editor, "Lottery winner found", publish_at=soon(hours=1))
    word("lottery")

    assert manage("poll").returncode == 0

    long.refresh_from_db()
    waiting.refresh_from_db()
    assert (long.status, waiting.status) == (Status.APPROVED, Status.REJECTED)
    assert not TaskInfo.objects.filter(task_type__in=[REVIEW, REVIEW_AGAIN]).exists()


def test_an_approved_update_is_pulled_back_too(editor: User) -> None:
    word("casino")
    article = submitted(editor, "Lots drawn", publish_at=soon(hours=-1))
    publishing.edit(article, by=editor, changes={"title": "Lottery drawn"})
    publishing.submit(article, by=editor)
    publishing.schedule_update(article, publish_at=soon(hours=1), by=editor)
    word("lottery", Level.REVIEW)
    assert rescan.review_again() == 1
    article = Article.objects.get()
    assert article.title == "Lots drawn"
    pending_update = article.update
    assert pending_update.approved is None and pending_update.draft is not None
    assert (pending_update.draft.title, pending_update.status) == ("Lottery drawn", Status.MANUAL_REVIEW)
