"""The transitions that the admin offers for an article, and sentences about its state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

from django.http import HttpRequest
from django.utils.translation import gettext as _

from articles.models import Article, ReviewProgress
from articles.permissions import allows
from articles.publishing import Actor, possible_transitions
from articles.text import format_time_exactly
from articles.workflow import TRANSITIONS, Transition

_PREFIX = "_step_"


def transition_button(transition: Transition) -> str:
    """The name of a transition's button in the article's form."""
    return f"{_PREFIX}{transition}"


def is_transition_button(name: str) -> bool:
    """Whether a form's field is such a button."""
    return name.startswith(_PREFIX)


def pressed(request: HttpRequest) -> list[Transition]:
    """The transitions whose buttons were pressed, of those that the form has buttons for."""
    return [
        transition
        for transition, rule in TRANSITIONS.items()
        if rule.is_for_one and transition_button(transition) in request.POST
    ]


def offered(article: Article, by: Actor, now: datetime) -> list[Transition]:
    """The transitions that make sense for this article and that this user may perform."""
    senseless = {transition for transition, rule in TRANSITIONS.items() if not rule.is_for_one}
    if article.publish_at is None:
        senseless.add(Transition.UNSCHEDULE)
    if article.pending_update is None or article.pending_update.publish_at is None:
        senseless.add(Transition.UNSCHEDULE_UPDATE)
    transitions = possible_transitions(article, now)
    has_draft = article.pending_update is not None and article.pending_update.draft_id is not None
    if article.status in Article.Status.passed() and not has_draft:
        # an edit becomes an update, which can be submitted at once
        transitions = [Transition.SUBMIT, *transitions]
    return [
        transition for transition in transitions if may_take(transition, by, article) and transition not in senseless
    ]


def may_take(transition: Transition, by: Actor, article: Article | None = None) -> bool:
    """Whether this user may perform the transition: in general, or with this article."""
    return allows(TRANSITIONS[transition].permission, by, article)


def stage_of(article: Article) -> str:
    """The label of its status; an approved article with a time is scheduled."""
    return _("Scheduled") if article.is_waiting and article.publish_at else article.get_status_display()


def state(article: Article, now: datetime) -> str:
    """One sentence about its status and what happens next."""
    due = article.goes_live_at
    if article.is_waiting and due is not None:
        when = format_time_exactly(due)
        return _("Goes live on %(time)s.") % {"time": when} if due > now else _("Live since %(time)s.") % {"time": when}
    if article.status == Article.Status.PUBLISHED and article.published_at:
        return _("Went live on %(time)s.") % {"time": format_time_exactly(article.published_at)}
    if article.status == Article.Status.MANUAL_REVIEW and (progress := ReviewProgress.of(article)).count > 1:
        return waits_at(progress)
    return _SENTENCES.get(article.status, lambda: "")()


def waits_at(progress: ReviewProgress) -> str:
    """One sentence about the review stage of a text, one of several."""
    return _("It waits at “%(stage)s”, stage %(number)d of %(count)d.") % {
        "stage": progress.stage.label,
        "number": progress.number,
        "count": progress.count,
    }


def limits(article: Article, now: datetime) -> list[str]:
    """Its embargo, its time to be unpublished and its retraction notice, a sentence each."""
    sentences = []
    if article.embargo_until and article.embargo_until > now:
        sentences.append(_("Under embargo until %(time)s.") % {"time": format_time_exactly(article.embargo_until)})
    if article.unpublish_at and article.unpublish_at > now:
        sentences.append(_("Will be unpublished on %(time)s.") % {"time": format_time_exactly(article.unpublish_at)})
    if article.status == Article.Status.RETRACTED:
        sentences.append(f"“{article.retraction_notice}”")
    return sentences


def state_of_update(article: Article) -> str:
    """One sentence about the pending update of an article; empty without one."""
    pending_update = article.pending_update
    if pending_update is None:
        return ""
    when = format_time_exactly(pending_update.publish_at) if pending_update.publish_at else None
    if pending_update.draft is not None:
        text = _("This form shows a pending update, which readers do not see: it is “%(status)s”.")
        return text % {"status": pending_update.get_status_display()}
    if when:
        return _("The pending update is approved and goes live on %(time)s.") % {"time": when}
    return _("The pending update is approved and has no time yet. Schedule or publish it.")


_SENTENCES: Mapping[int, Callable[[], str]] = {
    Article.Status.DRAFT: lambda: _("Only the newsroom sees it. Submit it when it is ready."),
    Article.Status.SUBMITTED: lambda: _("It is in automatic review."),
    Article.Status.REJECTED: lambda: _("It was rejected. Edit it and submit it again."),
    Article.Status.MANUAL_REVIEW: lambda: _("A reviewer has to decide."),
    Article.Status.MANUALLY_APPROVED: lambda: _("Approved and not scheduled. Schedule it or publish it now."),
    Article.Status.APPROVED: lambda: _("Approved and not scheduled. Schedule it or publish it now."),
    Article.Status.PUBLISHED: lambda: _("It is live."),
    Article.Status.UNPUBLISHED: lambda: _("Readers no longer see it."),
    Article.Status.RETRACTED: lambda: _("It was retracted: readers see the retraction notice."),
}
