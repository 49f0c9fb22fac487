"""Background reviews: of long texts, and of everything approved when sensitive words change.

They are at-least-once tasks, which run beside the thread that publishes, so that a long review never delays an
article. `reconcile_reviews` finds reviews that were lost.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from uuid import UUID

from django.db import DatabaseError
from django.db.models import F, Q

from articles.audit import (
    Action,
    Source,
    recorded,
    source,
)
from articles.exceptions import ArticleGone
from articles.models import Article, Review, Revision, Text, Update, WordListVersion, due_at
from articles.publishing.by_clock import end_before_next_change
from articles.publishing.dating import dated_by_commit
from articles.publishing.revisions import merge_update, pinned, under_review
from articles.publishing.run_review import decide
from articles.publishing.store import store_article, store_update
from articles.publishing.submissions import record_review
from articles.publishing.transitions import TransitionContext, lock, position_at, settle
from articles.review import FAILED, Finding, Opinion, ReviewSubject, of_findings, review, review_words
from articles.task_types import REVIEW, REVIEW_AGAIN
from scheduling.database import database_now, read_database_clock, retried
from scheduling.services import add_task, pending_times

logger = logging.getLogger(__name__)
Status = Article.Status


_PAGE = 200  # articles


def review_submitted(article_id: int, *, needs_reviewer: bool = False) -> None:
    """Review a submitted text and store the result; if the review fails, a reviewer decides."""
    try:
        while not _review_submitted(article_id, needs_reviewer=needs_reviewer):
            logger.info(
                "article %d or the words changed during its review; once more",
                article_id,
                extra={"article_id": article_id},
            )
    except DatabaseError:
        raise  # the task is tried again
    except Exception:
        logger.exception("the review of article %d failed", article_id, extra={"article_id": article_id})
        give_to_reviewer(article_id)


def _review_submitted(article_id: int, *, needs_reviewer: bool) -> bool:
    """Review the text that is submitted now; False if the text or the words changed during that."""
    revision = _submitted(article_id)
    if revision is None:
        return True
    stamp = WordListVersion.current()
    opinion = review(ReviewSubject.of(revision.text, revision.correction))
    return _write_if_unchanged(article_id, revision, stamp, opinion, needs_reviewer=needs_reviewer)


@retried
def _write_if_unchanged(
    article_id: int, revision: Revision, stamp: UUID | None, opinion: Opinion, *, needs_reviewer: bool
) -> bool:
    with source(Source.WORKER):
        if (present := _submitted(article_id)) is None:
            return True
        WordListVersion.hold()
        if present.pk != revision.pk or WordListVersion.current() != stamp:
            return False
        _write(article_id, opinion, needs_reviewer=needs_reviewer)
    return True


@retried
def give_to_reviewer(article_id: int) -> None:
    """Leave a text whose automatic review failed to a reviewer."""
    with source(Source.WORKER):
        if _submitted(article_id) is not None:
            _write(article_id, FAILED, needs_reviewer=True)


@retried
def _submitted(article_id: int) -> Revision | None:
    """The text that waits for the automatic review; the article is locked if there is a transaction."""
    try:
        article = _locked(article_id)
    except ArticleGone:
        return None
    subject, revision = under_review(article)
    return revision if subject.status == Status.SUBMITTED else None


def _locked(article_id: int) -> Article:
    article = Article(pk=article_id)
    lock(article)
    return article


def _settled(article_id: int) -> tuple[Article, datetime]:
    """The same, with what readers have seen by the clock stored, and the database's time."""
    article = _locked(article_id)
    now = settle(article).now
    end_before_next_change(article, now)
    return article, now


def _write(article_id: int, opinion: Opinion, *, needs_reviewer: bool) -> None:
    article, now = _settled(article_id)
    subject, revision = under_review(article)
    with dated_by_commit(article, now), recorded(Action.REVIEWED, article, by=None) as notes:
        decide(subject, revision, opinion, needs_reviewer=needs_reviewer)
        record_review(subject, TransitionContext(now, notes), revision)
        store_article(article, now=now)


def review_again_soon() -> None:
    """Have everything that waits to be published reviewed again with changed words, after this transaction."""
    add_task(REVIEW_AGAIN, execute_time=read_database_clock(), parameters={}, key="all")


def review_again() -> int:
    """Revoke approvals of waiting texts that contain new words; returns the number of articles."""
    stamp = WordListVersion.current()
    with source(Source.WORKER):
        pulled = sum(_pull_back(article.pk) for article in _waiting() if _is_suspect(article))
    # Only the stamp that was read: if words have changed in the time since, another run has to follow.
    if stamp is not None:
        WordListVersion.objects.filter(pk=WordListVersion.ROW, stamp=stamp).update(applied=stamp)
    return pulled


def _waiting() -> Iterator[Article]:
    """Articles with an approved text or update that is not live yet, a page at a time."""
    approved = Q(status__in=Status.waiting()) & ~due_at(database_now())
    chosen = Article.objects.filter(approved | Q(update__approved__isnull=False)).order_by("pk")
    chosen = chosen.select_related("update__approved").prefetch_related("tags")
    last = 0
    # In pages by id: an iterator would hold a result of all texts, and a cursor open between transactions.
    while page := list(chosen.filter(pk__gt=last)[:_PAGE]):
        yield from page
        last = page[-1].pk


def _is_suspect(article: Article) -> bool:
    """Whether any of its texts contains a word; checked without a lock."""
    subjects, pending_update = [ReviewSubject.of(Text.of(article))], article.pending_update
    if pending_update and pending_update.approved:
        subjects.append(ReviewSubject.of(pending_update.approved.text, pending_update.approved.correction))
    return any(review_words(subject).findings for subject in subjects)


@retried
def _pull_back(article_id: int) -> bool:
    """Revoke the approval of an article or its update if it contains a new word; the chosen time stays."""
    with suppress(ArticleGone):
        article, now = _settled(article_id)
        pending_update, changed = article.pending_update, False
        if pending_update and pending_update.approved and (opinion := _objection(pending_update.approved)):
            _pull_back_update(pending_update, opinion)
            changed = True
        if position_at(article, now).article in Status.waiting():
            changed |= _pull_back_article(article)
        return changed
    return False


def _objection(revision: Revision) -> Opinion | None:
    """The opinion about words in a text that the reviewer who approved it did not know; None without any."""
    review = Review.objects.filter(revision=revision).first()
    accepted = {Finding.stored(values).identity for values in review.findings} if review else set()
    found = review_words(ReviewSubject.of(revision.text, revision.correction)).findings
    new = [finding for finding in found if finding.identity not in accepted]
    return of_findings(new) if new else None


def _pull_back_article(article: Article) -> bool:
    with recorded(Action.PULLED_BACK, article, by=None) as notes:
        revision = pinned(article)
        if (opinion := _objection(revision)) is None:
            return False
        notes.revision = revision.number
        decide(article, revision, opinion)
        merge_update(article)
        store_article(article)
    return True


def _pull_back_update(update: Update, opinion: Opinion) -> None:
    """The update becomes a draft again, unless it has a newer draft."""
    with recorded(Action.PULLED_BACK, update.article, by=None) as notes:
        revision, update.approved = update.approved, None
        assert revision is not None  # noqa: S101 (the caller found an objection to it)
        notes.revision, notes.details["update"] = revision.number, opinion.verdict
        if update.draft is None:
            update.draft = revision
            decide(update, revision, opinion)
        store_update(update)
        store_article(update.article)


def reconcile_reviews() -> int:
    """Repair lost reviews: submitted texts without a task, and words that were not applied completely."""
    if WordListVersion.objects.exclude(applied=F("stamp")).exists() and not pending_times(REVIEW_AGAIN, ["all"]):
        review_again_soon()
    texts = Article.objects.filter(status=Status.SUBMITTED).values_list("pk", flat=True)
    pending_update = Update.objects.filter(status=Status.SUBMITTED, draft__isnull=False).values_list(
        "article", flat=True
    )
    chosen = {*texts, *pending_update}
    coming = pending_times(REVIEW, [str(pk) for pk in chosen])
    stuck = [pk for pk in chosen if str(pk) not in coming]
    for article_id in stuck:
        give_to_reviewer(article_id)
    return len(stuck)
