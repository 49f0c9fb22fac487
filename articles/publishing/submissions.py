"""Handing a text in, and what the reviewers say."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.utils.translation import gettext as _

from articles.audit import has_writer
from articles.exceptions import NotAllowed, ReasonMissing, RevisionChanged, RevisionMissing, WrongState
from articles.models import Article, ReleaseMember, Revision, Update
from articles.publishing.comparison import what_changed
from articles.publishing.holds import held
from articles.publishing.review_locks import end_soft_lock
from articles.publishing.revisions import adopt, under_review
from articles.publishing.run_review import judge
from articles.publishing.run_review import judge_again as judge_again
from articles.publishing.transitions import Actor, TransitionContext, lock, move, transition
from articles.workflow import Transition
from scheduling.services import retried

Status = Article.Status

AUTOMATIC_REVIEW = "automatic review"
"""What the audit log calls the machine, where it approved."""


@retried
def submit(article: Article, *, by: Actor) -> None:
    """Hand the newest text in; the automatic review says whether it passes, is blocked or goes to a person."""
    with transition(Transition.SUBMIT, article, by=by) as taken:
        subject, revision = under_review(article)
        if not revision.title.strip():
            raise WrongState(_("An article without a headline cannot be submitted."))
        move(Transition.SUBMIT, subject)
        judge(subject, revision)
        settle(subject, taken, revision)


def approve(article: Article, *, by: Actor, revision: Revision | int, override: str | None = None) -> None:
    """A person lets the text pass; an article that has a time is scheduled with that.

    `revision` (or its number) is what was read. Raises `RevisionChanged` if the text, or what readers are shown with
    it, is another by now. Nobody approves what they contributed to, or a text without a writer, but an administrator
    who says why: with `override`, which is recorded.
    """
    if override is not None:
        _refuse_override(by, override)
    with _numbering(article):
        _approve(article, by, revision, override)


@retried
def _approve(article: Article, by: Actor, revision: Revision | int, override: str | None) -> None:
    with transition(Transition.APPROVE, article, by=by, overriding=override is not None) as taken:
        subject, newest = under_review(article)
        end_soft_lock(article, by)
        _refuse_other(newest, revision)
        if override is not None:
            taken.notes.details["override"] = override.strip()[:500]
        elif not has_writer(newest):
            raise NotAllowed(_no_writer())
        move(Transition.APPROVE, subject)
        subject.status_reason = ""
        settle(subject, taken, newest)


def reject(article: Article, *, by: Actor, reason: str, revision: Revision | int | None = None) -> None:
    """A person sends the text back; `revision` as in `approve`. Raises `ReasonMissing` without a reason."""
    if not reason.strip():
        raise ReasonMissing
    with _numbering(article):
        _refuse(article, by, reason, revision)


@retried
def _refuse(article: Article, by: Actor, reason: str, revision: Revision | int | None) -> None:
    with transition(Transition.REJECT, article, by=by) as taken:
        subject, newest = under_review(article)
        end_soft_lock(article, by)
        if revision is not None:
            _refuse_other(newest, revision)
        move(Transition.REJECT, subject)
        subject.status_reason = reason.strip()[:500]
        settle(subject, taken, newest)


@retried
def require_newest(article: Article, revision: int | None) -> None:
    """Hold the article, and raise `RevisionChanged` (or `RevisionMissing`) unless this is the revision under review."""
    if revision is None:
        raise RevisionMissing
    lock(article)
    _refuse_other(under_review(article)[1], revision)


def settle(subject: Article | Update, taken: TransitionContext, revision: Revision) -> None:
    """Note which revision it was about and whether the machine approved it, and store where an update stands now."""
    taken.notes.revision = revision.number
    if subject.status == Status.APPROVED:
        taken.notes.details["approved_by"] = AUTOMATIC_REVIEW
    if isinstance(subject, Update):
        taken.notes.details["update"] = Status(subject.status).name.lower()
        if subject.status in Status.waiting():
            _approve_update(subject, taken)
        else:
            subject.save()


def _approve_update(update: Update, taken: TransitionContext) -> None:
    """Its text waits for its time, or its release, if readers see the article; otherwise it replaces what they will."""
    article = update.article
    update.approved, update.draft, update.status = update.draft, None, Status.DRAFT
    waits = update.publish_at is not None or article.is_out_at(taken.now)
    if not waits and not held([article.pk], ReleaseMember.Action.UPDATE):
        adopt(update, at=taken.now)
    else:
        update.save()


def barred_from(revision: Revision) -> str:
    """Why nobody may approve this revision without an override; empty if somebody may."""
    return "" if has_writer(revision) else _no_writer()


@contextmanager
def _numbering(article: Article) -> Iterator[None]:
    """If what was read is not what stands there now, that has a number afterwards by which it can be approved."""
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
    """Raise `RevisionChanged`, which says what has changed, when what was read is not the newest text."""
    number = read.number if isinstance(read, Revision) else read
    if number == newest.number:
        return
    older = Revision.objects.filter(article=newest.article_id, number=number).first()
    if changes := what_changed(older, newest) if older else []:
        text = _("This has been changed since you read it: %(changes)s. Read revision %(number)d before you decide.")
        raise RevisionChanged(text % {"changes": _(", ").join(changes), "number": newest.number})
    raise RevisionChanged


def _refuse_override(by: Actor, reason: str) -> None:
    """Raise `NotAllowed` unless `by` is an administrator, and `ReasonMissing` without a reason."""
    if not getattr(by, "is_superuser", False):
        raise NotAllowed(_("Only an administrator may override the rule that another person approves."))
    if not reason.strip():
        raise ReasonMissing(_("Say why it is approved although the rule forbids it."))


def _no_writer() -> str:
    return _("Nobody is known to have written this text: send it back, and have an editor submit it again.")
