"""What an editor can do with an article on the screens: which steps are offered, and taking one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

from django.utils.translation import gettext as _

from articles import services
from articles.exceptions import InvalidSchedule
from articles.models import Article
from articles.services.steps import Person
from articles.times import spoken_exactly
from articles.workflow import STEPS, Step, steps_from

SIMPLE_STEPS: Mapping[Step, Callable[..., None]] = {
    Step.SUBMIT: services.submit,
    Step.APPROVE: services.approve,
    Step.CANCEL_SCHEDULE: services.cancel_schedule,
    Step.PUBLISH_NOW: services.publish_now,
    Step.WITHDRAW: services.withdraw,
    Step.RESTORE: services.restore,
}
"""The steps that need nothing but the article."""


def offered(article: Article, by: Person) -> list[Step]:
    """The steps that make sense for this article and that this person may take."""
    return [
        step
        for step in steps_from(article.status)
        if may_take(step, by) and (step != Step.CANCEL_SCHEDULE or article.publish_at is not None)
    ]


def may_take(step: Step, by: Person) -> bool:
    """Whether this person has the permission, for whatever article."""
    return by.has_perm(STEPS[step].permission)  # type: ignore[union-attr]


def take(step: Step, article: Article, *, by: Person, publish_at: datetime | None, reason: str) -> None:
    """Take a step; `publish_at` and `reason` are for those that need them. Raises `ArticleError`."""
    if step == Step.SCHEDULE:
        if publish_at is None:
            raise InvalidSchedule(_("Choose the time at which the article goes live."))
        services.schedule(article, publish_at=publish_at, by=by)
    elif step == Step.REFUSE:
        services.refuse(article, by=by, reason=reason)
    else:
        SIMPLE_STEPS[step](article, by=by)


def standing(article: Article, now: datetime) -> str:
    """One sentence that says where the article stands and what happens next."""
    due = article.goes_live_at
    if article.is_waiting and due is not None:
        when = spoken_exactly(due)
        return _("Goes live on %(time)s.") % {"time": when} if due > now else _("Live since %(time)s.") % {"time": when}
    if article.status == Article.Status.PUBLISHED and article.published_at:
        return _("Went live on %(time)s.") % {"time": spoken_exactly(article.published_at)}
    return _SENTENCES.get(article.status, lambda: "")()


_SENTENCES: Mapping[int, Callable[[], str]] = {
    Article.Status.DRAFT: lambda: _("Nobody but the newsroom sees it. Submit it when it is ready."),
    Article.Status.SUBMITTED: lambda: _("It is being checked."),
    Article.Status.REJECTED: lambda: _("It was sent back. Mend it and submit it again."),
    Article.Status.MANUAL_REVIEW: lambda: _("A reviewer decides."),
    Article.Status.MANUALLY_APPROVED: lambda: _("It is ready and has no time yet. Schedule it or publish it now."),
    Article.Status.APPROVED: lambda: _("It is ready and has no time yet. Schedule it or publish it now."),
    Article.Status.PUBLISHED: lambda: _("It is out."),
    Article.Status.WITHDRAWN: lambda: _("Readers no longer see it."),
}
