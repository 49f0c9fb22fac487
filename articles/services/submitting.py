"""Handing a text in, and what the reviewers say."""

from __future__ import annotations

from django.utils.translation import gettext as _

from articles.exceptions import ReasonMissing, RevisionChanged, WrongState
from articles.models import Article, ReleaseMember, Revision, Update
from articles.services.claiming import end_claim
from articles.services.judging import judge
from articles.services.judging import judge_again as judge_again
from articles.services.membership import held
from articles.services.revisions import adopt, under_review
from articles.services.steps import Person, Taking, move, taking
from articles.workflow import Step
from scheduling.services import retried

Status = Article.Status


@retried
def submit(article: Article, *, by: Person) -> None:
    """Hand the newest text in; the automatic review says whether it passes, is blocked or goes to a person."""
    with taking(Step.SUBMIT, article, by=by) as taken:
        subject, revision = under_review(article)
        if not revision.title.strip():
            raise WrongState(_("An article without a headline cannot be submitted."))
        move(Step.SUBMIT, subject)
        judge(subject, revision)
        settle(subject, taken, revision)


@retried
def approve(article: Article, *, by: Person, revision: Revision | int | None = None) -> None:
    """A person lets the text pass; an article that has a time is scheduled with that.

    `revision` (or its number) is what was read. Raises `RevisionChanged` if the text is another by now.
    """
    with taking(Step.APPROVE, article, by=by) as taken:
        subject, newest = under_review(article)
        end_claim(article, by)
        _refuse_other(newest, revision)
        move(Step.APPROVE, subject)
        subject.status_reason = ""
        settle(subject, taken, newest)


@retried
def refuse(article: Article, *, by: Person, reason: str, revision: Revision | int | None = None) -> None:
    """A person sends the text back; `revision` as in `approve`. Raises `ReasonMissing` without a reason."""
    if not reason.strip():
        raise ReasonMissing
    with taking(Step.REFUSE, article, by=by) as taken:
        subject, newest = under_review(article)
        end_claim(article, by)
        _refuse_other(newest, revision)
        move(Step.REFUSE, subject)
        subject.status_reason = reason.strip()[:500]
        settle(subject, taken, newest)


def settle(subject: Article | Update, taken: Taking, revision: Revision) -> None:
    """Note which revision it was about, and store where an update stands now."""
    taken.notes.revision = revision.number
    if isinstance(subject, Update):
        taken.notes.facts["update"] = Status(subject.status).name.lower()
        if subject.status in Status.waiting():
            _approve_update(subject, taken)
        else:
            subject.save()


def _approve_update(update: Update, taken: Taking) -> None:
    """Its text waits for its time, or its release, if readers see the article; otherwise it replaces what they will."""
    article = update.article
    update.approved, update.draft, update.status = update.draft, None, Status.DRAFT
    waits = update.publish_at is not None or article.is_out_at(taken.now)
    if not waits and not held([article.pk], ReleaseMember.Action.UPDATE):
        adopt(update, at=taken.now)
    else:
        update.save()


def _refuse_other(newest: Revision, read: Revision | int | None) -> None:
    """Raise `RevisionChanged` when what was read is not the newest text."""
    number = read.number if isinstance(read, Revision) else read
    if number is not None and number != newest.number:
        raise RevisionChanged
