"""Running the automatic review of a text and storing its opinion."""

from __future__ import annotations

from django.contrib.auth import get_user_model
from django.db.models import F, Q
from django.utils.translation import gettext_noop

from articles.models import (
    Article,
    AuditEntry,
    Review,
    ReviewPolicy,
    Revision,
    StageApproval,
    Translatable,
    Update,
    WordListVersion,
)
from articles.review import Opinion, ReviewSubject, review, takes_long
from articles.task_types import REVIEW
from articles.workflow import TRANSITIONS, VERDICTS, Transition, Verdict
from scheduling.database import delete_by_ids, read_database_clock
from scheduling.services import add_task

Status = Article.Status


def review_text(subject: Article | Update, revision: Revision, *, needs_reviewer: bool = False) -> None:
    """Give `subject` the status that the review of its text leads to: at once, or in the background if it is long.

    With `needs_reviewer` it may reject the text, but not approve it. The caller has locked the article, and saves.
    """
    text = ReviewSubject.of(revision.text, revision.correction)
    if takes_long(text):
        subject.status, subject.status_reason = Status.SUBMITTED, ""
        parameters = {"article_id": revision.article_id, "needs_reviewer": needs_reviewer}
        key = str(revision.article_id)
        # In the transaction of the submission: it cannot wait for a review that no worker will run.
        add_task(REVIEW, execute_time=read_database_clock(), parameters=parameters, key=key)
        return
    # Words that are changed after this find the article approved, and review it again.
    WordListVersion.hold()
    decide(subject, revision, review(text), needs_reviewer=needs_reviewer)


def review_text_again(subject: Article | Update, revision: Revision) -> None:
    """Review a changed text that is in review: it may be rejected, but only the reviewer approves."""

    review_text(subject, revision, needs_reviewer=True)


def decide(subject: Article | Update, revision: Revision, opinion: Opinion, *, needs_reviewer: bool = False) -> None:
    """Set the status and reason that follow from an opinion, and store its findings; the caller saves `subject`.

    A text that needs a reviewer begins at the first review stage.
    """
    approvals = StageApproval.objects.filter(article=revision.article_id).values_list("pk", flat=True)
    delete_by_ids(StageApproval, list(approvals))
    subject.status, subject.status_reason = VERDICTS[opinion.verdict], Translatable.joined([opinion.reason])
    if opinion.verdict is Verdict.PASSED:
        objection = "" if needs_reviewer else _objection(subject)
        if objection is not None:
            subject.status, subject.status_reason = Status.MANUAL_REVIEW, subject.status_reason or objection
    findings = [finding.as_json() for finding in opinion.findings]
    Review.objects.update_or_create(revision=revision, defaults={"findings": findings})


def _objection(subject: Article | Update) -> str | None:
    """Why a text without findings may not be approved automatically ("" without a reason to show); None if it may.

    A time chosen by a user without the permission to schedule needs a reviewer, unless the policy says otherwise.
    """
    machine = ReviewPolicy.chosen()
    if machine == ReviewPolicy.Machine.NEVER:
        return ""
    if machine == ReviewPolicy.Machine.TEXTS and isinstance(subject, Article) and not _is_scheduled_by_right(subject):
        text = gettext_noop("Its time was chosen without permission to schedule, so a reviewer decides.")
        return Translatable.of(text)
    return None


def _is_scheduled_by_right(article: Article) -> bool:
    """Whether the article has no time, or one chosen by a user who may schedule."""
    if article.publish_at is None:
        return True
    entries = AuditEntry.objects.of(article).filter(new_time=article.publish_at)
    entry = entries.filter(Q(old_time__isnull=True) | ~Q(old_time=F("new_time"))).first()
    chosen_by = (entry and entry.user_id) or article.author_id
    user = get_user_model()._default_manager.filter(pk=chosen_by).first() if chosen_by else None
    return user is not None and user.has_perm(TRANSITIONS[Transition.SCHEDULE].permission)
