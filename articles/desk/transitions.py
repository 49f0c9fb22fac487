"""The transitions that the admin offers for an article, and sentences about its state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime

from django.http import HttpRequest
from django.utils.translation import gettext as _

from articles.models import Article, ReaderState, ReviewProgress, State, state_at
from articles.permissions import allows
from articles.publishing import Actor, possible_transitions
from articles.review import waits
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


def state(article: Article, now: datetime) -> str:
    """Sentences about what readers see at `now`, and what happens next."""
    found = state_at(article, now)
    return " ".join(filter(None, _SENTENCES[found.state](article, found)))


def _unapproved(article: Article, found: ReaderState) -> Iterator[str]:
    progress = ReviewProgress.of(article) if article.status == Article.Status.MANUAL_REVIEW else None
    yield waits_at(progress) if progress and progress.count > 1 else _UNAPPROVED[found.status]()
    if found.state is State.WAITING and found.since:
        yield _("It goes live on %(time)s once it is approved.") % {"time": format_time_exactly(found.since)}
    if found.state is State.OVERDUE and found.since:
        yield _("It is overdue: readers do not have it, though its time was %(time)s.") % {
            "time": format_time_exactly(found.since)
        }


def _overdue(article: Article, found: ReaderState) -> Iterator[str]:
    if found.release is None or found.since is None:
        yield from _unapproved(article, found)
    else:
        text = _("It is overdue: readers do not have it, though “%(release)s” was due on %(time)s.")
        yield text % {"release": found.release, "time": format_time_exactly(found.since)}


def _scheduled(article: Article, found: ReaderState) -> Iterator[str]:
    words = {"time": found.since and format_time_exactly(found.since), "release": found.release}
    if found.release:
        yield _("Goes live on %(time)s with “%(release)s”.") % words
    else:
        yield _("Goes live on %(time)s.") % words


def _live(article: Article, found: ReaderState) -> Iterator[str]:
    yield _("Went live on %(time)s.") % {"time": format_time_exactly(found.since)} if found.since else _("It is live.")
    yield _not_recorded(article, found)


def _gone(article: Article, found: ReaderState) -> Iterator[str]:
    is_over = article.status != Article.Status.UNPUBLISHED
    if is_over and found.until:
        yield _("Unpublished on %(time)s: readers no longer see it.") % {"time": format_time_exactly(found.until)}
    else:
        yield _("Readers no longer see it.")
    yield _not_recorded(article, found)


def _not_recorded(article: Article, found: ReaderState) -> str:
    return _("No worker has recorded it yet.") if article.status != found.status else ""


def waits_at(progress: ReviewProgress) -> str:
    """One sentence about the review stage of a text, one of several."""
    return _("It waits at “%(stage)s”, stage %(number)d of %(count)d.") % {
        "stage": progress.stage.label,
        "number": progress.number,
        "count": progress.count,
    }


def limits(article: Article, now: datetime) -> list[str]:
    """Its embargo, its time to be unpublished, its retraction notice and what is proposed for it, a sentence each."""
    sentences = []
    if article.embargo_until and article.embargo_until > now:
        sentences.append(_("Under embargo until %(time)s.") % {"time": format_time_exactly(article.embargo_until)})
    if article.unpublish_at and article.unpublish_at > now:
        sentences.append(_("Will be unpublished on %(time)s.") % {"time": format_time_exactly(article.unpublish_at)})
    if article.status == Article.Status.RETRACTED and article.retraction_notice:
        sentences.append(f"“{article.retraction_notice}”")
    if waits(article):
        sentences.append(_("A change of its author or retraction notice waits for another person."))
    return sentences


def state_of_update(article: Article, now: datetime) -> str:
    """One sentence about the pending update of an article; empty without one."""
    pending_update = article.pending_update
    if pending_update is None:
        return ""
    when = format_time_exactly(pending_update.publish_at) if pending_update.publish_at else None
    if pending_update.draft is not None:
        text = _("This form shows a pending update, which readers do not see: it is “%(status)s”.")
        return text % {"status": pending_update.get_status_display()}
    if pending_update.publish_at and pending_update.publish_at <= now:
        return _("The pending update went live on %(time)s.") % {"time": when}
    if when:
        return _("The pending update is approved and goes live on %(time)s.") % {"time": when}
    return _("The pending update is approved and has no time yet. Schedule or publish it.")


_UNAPPROVED: Mapping[int, Callable[[], str]] = {
    Article.Status.DRAFT: lambda: _("Only the newsroom sees it. Submit it when it is ready."),
    Article.Status.SUBMITTED: lambda: _("It is in automatic review."),
    Article.Status.REJECTED: lambda: _("It was rejected. Edit it and submit it again."),
    Article.Status.MANUAL_REVIEW: lambda: _("A reviewer has to decide."),
}

_SENTENCES: Mapping[State, Callable[[Article, ReaderState], Iterable[str]]] = {
    State.DRAFT: _unapproved,
    State.WAITING: _unapproved,
    State.OVERDUE: _overdue,
    State.APPROVED: lambda article, found: [_("Approved and not scheduled. Schedule it or publish it now.")],
    State.SCHEDULED: _scheduled,
    State.LIVE: _live,
    State.UNPUBLISHED: _gone,
    State.RETRACTED: lambda article, found: [
        _("It was retracted: readers see the retraction notice.")
        if article.retraction_notice
        else _("It was retracted: readers see a standard text, as no retraction notice is approved.")
    ],
}
