"""Submitting a text for review, approving and rejecting it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.utils.translation import gettext as _

from articles.audit import (
    Action,
    has_writer,
)
from articles.exceptions import NotAllowed, ReasonMissing, RevisionChanged, RevisionMissing, StageChanged, WrongState
from articles.models import Article, ReleaseMember, ReviewProgress, Revision, StageApproval, Update
from articles.permissions import stage_refusal
from articles.publishing.comparison import changed_fields
from articles.publishing.holds import held
from articles.publishing.review_locks import end_soft_lock
from articles.publishing.revisions import adopt, under_review
from articles.publishing.run_review import review_text, review_text_again as review_text_again
from articles.publishing.store import checked_time, store_update
from articles.publishing.transitions import Actor, TransitionContext, lock, performs, set_target_status, transition
from articles.workflow import Transition
from scheduling.database import retried

Status = Article.Status

AUTOMATIC_REVIEW = "automatic review"
"""The name of the approver in the audit log when the automatic review approved."""


@performs(Transition.SUBMIT)
@retried
def submit(article: Article, *, by: Actor) -> None:
    """Submit the newest text; the automatic review approves it, rejects it or leaves it to a reviewer."""
    with transition(Transition.SUBMIT, article, by=by) as context:
        subject, revision = under_review(article)
        if not revision.title.strip():
            raise WrongState(_("An article without a headline cannot be submitted."))
        set_target_status(Transition.SUBMIT, subject)
        review_text(subject, revision)
        record_review(subject, context, revision)


@performs(Transition.APPROVE)
def approve(
    article: Article,
    *,
    by: Actor,
    revision: Revision | int,
    override: str | None = None,
    stage: str | None = None,
) -> None:
    """Approve the text under review; an article that has a time is scheduled by that.

    `revision` (or its number) is what was read. Raises `RevisionChanged` if the text, or what readers see with it, has
    changed since. At a review stage that is not the last one, the revision only passes on to the next; raises
    `StageChanged` if it waits at another than `stage`, the kind of the one that was shown. Contributors may not approve
    their own text, nor anyone a text without a writer or at two stages, except an administrator who gives a reason as
    `override`, which is recorded and replaces all stages.
    """
    if override is not None:
        _refuse_override(by, override)
    with _numbering(article):
        _approve(article, by, revision, override, stage)


@retried
def _approve(article: Article, by: Actor, revision: Revision | int, override: str | None, stage: str | None) -> None:
    with transition(Transition.APPROVE, article, by=by, overriding=override is not None) as context:
        subject, newest = under_review(article)
        end_soft_lock(article, by)
        _refuse_other(newest, revision)
        progress = ReviewProgress.of(article, revision=newest.number)
        if override is not None:
            context.notes.details["override"] = override.strip()[:500]
        # Fail closed: of a text without a known writer, any user might be the writer.
        elif not has_writer(newest):
            raise NotAllowed(_no_writer())
        # Checked before the lock, too, but the stages may have been changed since.
        elif reason := stage_refusal(progress, by):
            raise NotAllowed(reason)
        elif stage and stage != progress.stage.kind:
            raise StageChanged(_waits_elsewhere(progress, stage))
        _note_stage(context, progress)
        if override is None and not progress.is_last:
            _pass_stage(article, context, progress, newest, by)
        else:
            set_target_status(Transition.APPROVE, subject)
            subject.status_reason = ""
        record_review(subject, context, newest)


def _waits_elsewhere(progress: ReviewProgress, shown: str) -> str:
    if shown in progress.approvals:
        text = _("Another reviewer has decided since you opened it: it waits at “%(stage)s” now.")
    else:
        text = _("The review stages have changed since you opened it: it waits at “%(stage)s” now.")
    return text % {"stage": progress.stage.label}


def _note_stage(context: TransitionContext, progress: ReviewProgress) -> None:
    """Record the stage at which a text is decided, if there are several."""
    if progress.count > 1:
        context.notes.details["stage"] = progress.stage.kind
        context.notes.details["stage_name"] = progress.stage.name


def _pass_stage(
    article: Article, context: TransitionContext, progress: ReviewProgress, revision: Revision, by: Actor
) -> None:
    """The revision waits at the next stage; nothing else about the article changes."""
    context.notes.action = Action.PASSED_STAGE
    StageApproval.objects.create(
        article=article,
        revision=revision.number,
        stage=progress.stage.kind,
        user_id=by.pk,
        approved_at=context.now,
    )


@performs(Transition.REJECT)
def reject(article: Article, *, by: Actor, reason: str, revision: Revision | int | None = None) -> None:
    """Reject the text under review, with feedback to its author.

    `revision` as in `approve`. Raises `ReasonMissing` without a reason.
    """
    if not reason.strip():
        raise ReasonMissing
    with _numbering(article):
        _reject(article, by, reason, revision)


@retried
def _reject(article: Article, by: Actor, reason: str, revision: Revision | int | None) -> None:
    with transition(Transition.REJECT, article, by=by) as context:
        subject, newest = under_review(article)
        end_soft_lock(article, by)
        if revision is not None:
            _refuse_other(newest, revision)
        _note_stage(context, ReviewProgress.of(article, revision=newest.number))
        set_target_status(Transition.REJECT, subject)
        subject.status_reason = reason.strip()[:500]
        record_review(subject, context, newest)


@retried
def require_newest(article: Article, revision: int | None) -> None:
    """Lock the article, and raise `RevisionChanged` (or `RevisionMissing`) unless this is the revision under review."""
    if revision is None:
        raise RevisionMissing
    lock(article)
    _refuse_other(under_review(article)[1], revision)


def record_review(subject: Article | Update, context: TransitionContext, revision: Revision) -> None:
    """Add the revision and the automatic approval to the audit entry, and store the status of an update."""
    context.notes.revision = revision.number
    if subject.status == Status.APPROVED:
        context.notes.details["approved_by"] = AUTOMATIC_REVIEW
    if isinstance(subject, Update):
        context.notes.details["update"] = Status(subject.status).name.lower()
        if subject.status in Status.waiting():
            _approve_update(subject, context)
        else:
            store_update(subject)


def _approve_update(update: Update, context: TransitionContext) -> None:
    """The text waits for its time or release if the article is live; otherwise it replaces the article's text."""
    article = update.article
    if update.publish_at is not None:
        checked_time(update.publish_at)  # as `refuse_unstorable_times` does for an article
    update.approved, update.draft, update.status = update.draft, None, Status.DRAFT
    waits = update.publish_at is not None or article.is_out_at(context.now)
    if not waits and not held([article.pk], ReleaseMember.Action.UPDATE):
        adopt(update, at=context.now)
    else:
        store_update(update)


def approval_blocker(revision: Revision) -> str:
    """Why this revision cannot be approved without an override; empty if it can."""
    return "" if has_writer(revision) else _no_writer()


@contextmanager
def _numbering(article: Article) -> Iterator[None]:
    """On `RevisionChanged`, make sure that the changed text has a revision number by which it can be approved."""
    try:
        yield
    except RevisionChanged:
        _number(article)
        raise


@retried
def _number(article: Article) -> None:
    lock(article)
    under_review(article)


def _refuse_other(newest: Revision, read: Revision | int) -> None:
    """Raise `RevisionChanged`, naming the changed fields, unless the revision read is the newest."""
    number = read.number if isinstance(read, Revision) else read
    if number == newest.number:
        return
    older = Revision.objects.filter(article=newest.article_id, number=number).first()
    if changes := changed_fields(older, newest) if older else []:
        text = _("This has been changed since you read it: %(changes)s. Read revision %(number)d before you decide.")
        raise RevisionChanged(text % {"changes": _(", ").join(changes), "number": newest.number})
    raise RevisionChanged


def _refuse_override(by: Actor, reason: str) -> None:
    """Raise `NotAllowed` unless `by` is an administrator, and `ReasonMissing` without a reason.

    Administrators could also create a second account, which the audit log would not show as an override.
    """
    if not getattr(by, "is_superuser", False):
        raise NotAllowed(_("Only an administrator may override the rule that another user approves."))
    if not reason.strip():
        raise ReasonMissing(_("Enter a reason for approving it although the rule forbids it."))


def _no_writer() -> str:
    return _("The writer of this text is unknown: reject it, and have an editor submit it again.")
