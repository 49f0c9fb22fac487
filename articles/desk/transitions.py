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
from articles.publishing import Actor, possible_transitions
from articles.text import spoken_exactly
from articles.workflow import TRANSITIONS, Transition

SIMPLE_TRANSITIONS: Mapping[Transition, Callable[..., None]] = {
    Transition.SUBMIT: publishing.submit,
    Transition.UNSCHEDULE: publishing.unschedule,
    Transition.PUBLISH_NOW: publishing.publish_now,
    Transition.UNPUBLISH: publishing.unpublish,
    Transition.REPUBLISH: publishing.republish,
    Transition.UNDO_RETRACTION: publishing.undo_retraction,
    Transition.UNSCHEDULE_UPDATE: publishing.unschedule_update,
    Transition.PUBLISH_UPDATE: publishing.publish_update,
    Transition.DISCARD_UPDATE: publishing.discard_update,
}
"""The steps that need nothing but the article."""

TIMED_TRANSITIONS: Mapping[Transition, Callable[..., None]] = {
    Transition.SCHEDULE: publishing.schedule,
    Transition.SCHEDULE_UPDATE: publishing.schedule_update,
}
"""The steps that need a time."""

TAKING_AWAY = frozenset({Transition.UNSCHEDULE, Transition.UNSCHEDULE_UPDATE, Transition.UNPUBLISH, Transition.RETRACT})
"""The steps that show readers nothing new: whatever was written, or went live, since the form was opened."""


def transition_button(transition: Transition) -> str:
    """The name of a step's button in the article's form."""
    return f"_step_{transition}"


def pressed(request: HttpRequest) -> list[Transition]:
    """The steps whose buttons were pressed."""
    return [transition for transition in Transition if transition_button(transition) in request.POST]


def offered(article: Article, by: Actor, now: datetime) -> list[Transition]:
    """The steps that make sense for this article and that this person may take."""
    senseless = {Transition.RESCHEDULE, Transition.SET_EMBARGO}  # the form has a field for each
    if article.publish_at is None:
        senseless.add(Transition.UNSCHEDULE)
    if article.pending_update is None or article.pending_update.publish_at is None:
        senseless.add(Transition.UNSCHEDULE_UPDATE)
    transitions = possible_transitions(article, now)
    has_draft = article.pending_update is not None and article.pending_update.draft_id is not None
    if article.status in Article.Status.passed() and not has_draft:
        transitions = [
            Transition.SUBMIT,
            *transitions,
        ]  # what is typed becomes the newer text, which can be handed in at once
    return [
        transition for transition in transitions if may_take(transition, by, article) and transition not in senseless
    ]


def may_take(transition: Transition, by: Actor, article: Article | None = None) -> bool:
    """Whether this person may take the step: in general, or with this article."""
    return allows(TRANSITIONS[transition].permission, by, article)


def take(
    transition: Transition,
    article: Article,
    *,
    by: Actor,
    publish_at: datetime | None = None,
    reason: str = "",
    revision: int | None = None,
    override: str | None = None,
) -> None:
    """Take a step; the other arguments are for those that need them. Raises `ArticleError`."""
    if transition in TIMED_TRANSITIONS:
        if publish_at is None:
            raise InvalidSchedule(_("Choose a publish time."))
        TIMED_TRANSITIONS[transition](article, publish_at=publish_at, by=by, at_once=False)
    elif transition == Transition.APPROVE:
        if revision is None:
            raise RevisionMissing
        publishing.approve(article, by=by, revision=revision, override=override)
    elif transition == Transition.REJECT:
        publishing.reject(article, by=by, reason=reason, revision=revision)
    elif transition == Transition.RETRACT:
        publishing.retract(article, by=by, notice=reason)
    else:
        SIMPLE_TRANSITIONS[transition](article, by=by)


def stage_of(article: Article) -> str:
    """What editors call its status: what is approved and has a time is scheduled."""
    return _("Scheduled") if article.is_waiting and article.publish_at else article.get_status_display()


def state(article: Article, now: datetime) -> str:
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
        told.append(_("Will be unpublished on %(time)s.") % {"time": spoken_exactly(article.unpublish_at)})
    if article.status == Article.Status.RETRACTED:
        told.append(f"“{article.retraction_notice}”")
    return told


def state_of_update(article: Article) -> str:
    """One sentence about the newer text of an article; empty without one."""
    pending_update = article.pending_update
    if pending_update is None:
        return ""
    when = spoken_exactly(pending_update.publish_at) if pending_update.publish_at else None
    if pending_update.draft is not None:
        text = _("Readers do not see this pending update. Its status: “%(status)s”.")
        return text % {"status": pending_update.get_status_display()}
    if when:
        return _("The pending update is approved. Update goes live on %(time)s.") % {"time": when}
    return _("The pending update is approved and not scheduled. Schedule or publish it.")


_SENTENCES: Mapping[int, Callable[[], str]] = {
    Article.Status.DRAFT: lambda: _("Only the newsroom sees it. Submit it for review when it is ready."),
    Article.Status.SUBMITTED: lambda: _("Automatic review is running."),
    Article.Status.REJECTED: lambda: _("It was rejected. Edit it and submit it again."),
    Article.Status.MANUAL_REVIEW: lambda: _("A reviewer has to decide."),
    Article.Status.MANUALLY_APPROVED: lambda: _("Approved and not scheduled. Schedule it or publish it now."),
    Article.Status.APPROVED: lambda: _("Approved and not scheduled. Schedule it or publish it now."),
    Article.Status.PUBLISHED: lambda: _("It is live."),
    Article.Status.UNPUBLISHED: lambda: _("Readers no longer see it."),
    Article.Status.RETRACTED: lambda: _("Retracted: readers see the retraction notice."),
}
