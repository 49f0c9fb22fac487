"""What an editor can do with an article on the screens: which steps are offered, and taking one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

from django.http import HttpRequest
from django.utils.translation import gettext as _

from articles import publishing
from articles.audit import allows
from articles.exceptions import InvalidSchedule, RevisionMissing
from articles.models import Article
from articles.publishing import Person, open_steps
from articles.text import spoken_exactly
from articles.workflow import STEPS, Step

SIMPLE_STEPS: Mapping[Step, Callable[..., None]] = {
    Step.SUBMIT: publishing.submit,
    Step.CANCEL_SCHEDULE: publishing.cancel_schedule,
    Step.PUBLISH_NOW: publishing.publish_now,
    Step.WITHDRAW: publishing.withdraw,
    Step.RESTORE: publishing.restore,
    Step.REVIVE: publishing.revive,
    Step.CANCEL_UPDATE: publishing.cancel_update,
    Step.PUBLISH_UPDATE: publishing.publish_update,
    Step.DISCARD_UPDATE: publishing.discard_update,
}
"""The steps that need nothing but the article."""

TIMED_STEPS: Mapping[Step, Callable[..., None]] = {
    Step.SCHEDULE: publishing.schedule,
    Step.SCHEDULE_UPDATE: publishing.schedule_update,
}
"""The steps that need a time."""

TAKING_AWAY = frozenset({Step.CANCEL_SCHEDULE, Step.CANCEL_UPDATE, Step.WITHDRAW, Step.KILL})
"""The steps that show readers nothing new: whatever was written, or went live, since the form was opened."""


def step_button(step: Step) -> str:
    """The name of a step's button in the article's form."""
    return f"_step_{step}"


def pressed(request: HttpRequest) -> list[Step]:
    """The steps whose buttons were pressed."""
    return [step for step in Step if step_button(step) in request.POST]


def offered(article: Article, by: Person, now: datetime) -> list[Step]:
    """The steps that make sense for this article and that this person may take."""
    senseless = {Step.MOVE, Step.SET_EMBARGO}  # the form has a field for each
    if article.publish_at is None:
        senseless.add(Step.CANCEL_SCHEDULE)
    if article.newer is None or article.newer.publish_at is None:
        senseless.add(Step.CANCEL_UPDATE)
    steps = open_steps(article, now)
    has_draft = article.newer is not None and article.newer.draft_id is not None
    if article.status in Article.Status.passed() and not has_draft:
        steps = [Step.SUBMIT, *steps]  # what is typed becomes the newer text, which can be handed in at once
    return [step for step in steps if may_take(step, by, article) and step not in senseless]


def may_take(step: Step, by: Person, article: Article | None = None) -> bool:
    """Whether this person may take the step: in general, or with this article."""
    return allows(STEPS[step].permission, by, article)


def take(
    step: Step,
    article: Article,
    *,
    by: Person,
    publish_at: datetime | None = None,
    reason: str = "",
    revision: int | None = None,
    override: str | None = None,
) -> None:
    """Take a step; the other arguments are for those that need them. Raises `ArticleError`."""
    if step in TIMED_STEPS:
        if publish_at is None:
            raise InvalidSchedule(_("Choose the time at which the article goes live."))
        TIMED_STEPS[step](article, publish_at=publish_at, by=by, at_once=False)
    elif step == Step.APPROVE:
        if revision is None:
            raise RevisionMissing
        publishing.approve(article, by=by, revision=revision, override=override)
    elif step == Step.REFUSE:
        publishing.refuse(article, by=by, reason=reason, revision=revision)
    elif step == Step.KILL:
        publishing.kill(article, by=by, notice=reason)
    else:
        SIMPLE_STEPS[step](article, by=by)


def stage_of(article: Article) -> str:
    """What editors call its status: what is approved and has a time is scheduled."""
    return _("Scheduled") if article.is_waiting and article.publish_at else article.get_status_display()


def standing(article: Article, now: datetime) -> str:
    """One sentence that says where the article stands and what happens next."""
    due = article.goes_live_at
    if article.is_waiting and due is not None:
        when = spoken_exactly(due)
        return _("Goes live on %(time)s.") % {"time": when} if due > now else _("Live since %(time)s.") % {"time": when}
    if article.status == Article.Status.PUBLISHED and article.published_at:
        return _("Went live on %(time)s.") % {"time": spoken_exactly(article.published_at)}
    return _SENTENCES.get(article.status, lambda: "")()


def limits(article: Article, now: datetime) -> list[str]:
    """What else holds, a sentence each: its embargo, its end, and what readers are told instead of it."""
    told = []
    if article.embargo_until and article.embargo_until > now:
        told.append(_("Under embargo until %(time)s.") % {"time": spoken_exactly(article.embargo_until)})
    if article.unpublish_at and article.unpublish_at > now:
        told.append(_("Leaves the site on %(time)s.") % {"time": spoken_exactly(article.unpublish_at)})
    if article.status == Article.Status.KILLED:
        told.append(f"“{article.kill_notice}”")
    return told


def standing_of_newer(article: Article) -> str:
    """One sentence about the newer text of an article; empty without one."""
    newer = article.newer
    if newer is None:
        return ""
    when = spoken_exactly(newer.publish_at) if newer.publish_at else None
    if newer.draft is not None:
        text = _("Readers do not see the newer text in this form: it is “%(status)s”.")
        return text % {"status": newer.get_status_display()}
    if when:
        return _("The newer text is approved and takes its place on %(time)s.") % {"time": when}
    return _("The newer text is approved and has no time yet. Schedule or publish the update.")


_SENTENCES: Mapping[int, Callable[[], str]] = {
    Article.Status.DRAFT: lambda: _("Nobody but the newsroom sees it. Submit it when it is ready."),
    Article.Status.SUBMITTED: lambda: _("It is being checked."),
    Article.Status.REJECTED: lambda: _("It was sent back. Mend it and submit it again."),
    Article.Status.MANUAL_REVIEW: lambda: _("A reviewer decides."),
    Article.Status.MANUALLY_APPROVED: lambda: _("It is ready and has no time yet. Schedule it or publish it now."),
    Article.Status.APPROVED: lambda: _("It is ready and has no time yet. Schedule it or publish it now."),
    Article.Status.PUBLISHED: lambda: _("It is out."),
    Article.Status.WITHDRAWN: lambda: _("Readers no longer see it."),
    Article.Status.KILLED: lambda: _("It was killed: readers are told why."),
}
