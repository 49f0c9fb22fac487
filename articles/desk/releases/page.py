"""Context of the release page: state, articles with their issues, and transitions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_lazy as _

from articles import releases
from articles.desk.articles.changelist import BADGES as ARTICLE_BADGES
from articles.desk.audit.admin import history
from articles.desk.audit.instants import NOTICEABLE
from articles.desk.following import POLL, Following, next_change, version_of
from articles.desk.releases.forms import FITTING, ReleaseNameForm, TimeForm
from articles.models import (
    Article,
    AuditEntry,
    FrontVersion,
    ReaderState,
    Release,
    ReleaseMember,
    State,
    in_states,
    load_releases,
    state_at,
    with_releases,
)
from articles.permissions import PUBLISH, allows
from articles.releases import PreflightProblem, members_without_texts
from articles.text import format_time_exactly
from articles.workflow import RELEASE_TRANSITIONS, ReleaseTransition
from scheduling.database import read_database_clock
from scheduling.services import overdue_before

Action = ReleaseMember.Action
Status = Release.Status

FOUND = 20
"""Articles shown by a search."""

BADGES = {
    Status.DRAFT.value: "default",
    Status.SCHEDULED.value: "primary",
    Status.PUBLISHED.value: "success",
    Status.FAILED.value: "danger",
    Status.CANCELLED.value: "default",
    Status.ROLLED_BACK.value: "warning",
}
"""Badge colour by status."""

FUNCTIONS: Mapping[str, Callable[..., None]] = {
    ReleaseTransition.PUBLISH: releases.publish_release_now,
    ReleaseTransition.CANCEL: releases.cancel_release,
    ReleaseTransition.REOPEN: releases.reopen_release,
    ReleaseTransition.ROLL_BACK: releases.roll_back_release,
    ReleaseTransition.DELETE: releases.delete_release,
}
"""The functions of the transitions with a confirmation."""

_UNDONE: Mapping[str, Promise] = {
    Action.PUBLISH: _("Readers will no longer see it. It will be approved and not scheduled."),
    Action.UPDATE: _("Readers will see the earlier text. The update stays approved and pending."),
    Action.UNPUBLISH: _("Readers will see it again."),
}


def page_of(release: Release, request: HttpRequest, *, may_change: bool) -> dict[str, Any]:
    """The template context."""
    now = read_database_clock()
    members = members_without_texts(release)
    problems = releases.preflight(release) if release.is_pending else []
    query = request.GET.get("q", "").strip()
    may_edit = may_change and release.is_pending
    return {
        "release": release,
        "badge": badge(release, is_overdue=_is_overdue(release, now)),
        "state": state(release, now),
        "left": round(max(release.publish_at - now, timedelta()) / timedelta(milliseconds=1))
        if release.publish_at
        else 0,
        "rows": _rows(members, problems, now),
        "fronts": _fronts(release, problems),
        "faulty": len({problem.member or problem.front for problem in problems}),
        "drafts": list(_drafts()) if may_edit and allows(PUBLISH, request.user) else [],
        "may_edit": may_edit,
        "may_change": may_change,
        "transitions": [
            (transition, RELEASE_TRANSITIONS[transition].label) for transition in _possible_transitions(release)
        ]
        if may_change
        else [],
        "name_form": ReleaseNameForm(initial={"name": release.name}),
        "time_form": TimeForm(initial={"publish_at": release.publish_at}),
        "query": query,
        "found": _found(query, request, now) if query and may_edit else [],
        "actions": [FITTING, *Action.choices],
        "record": history(release),
    }


def badge(release: Release, *, is_overdue: bool) -> tuple[str, str]:
    """The colour of its status and the status."""
    return ("danger", gettext("Overdue")) if is_overdue else (BADGES[release.status], release.get_status_display())


def _is_overdue(release: Release, now: datetime) -> bool:
    due = release.publish_at if release.status == Status.SCHEDULED else None
    return due is not None and due <= overdue_before(now)


def following_of(release: Release, request: HttpRequest, now: datetime) -> Following:
    """When the open page of the release asks again, and for what."""
    due = release.publish_at if release.status == Status.SCHEDULED else None
    entry = AuditEntry.objects.of_release(release).values_list("pk", flat=True).first()
    members = release.members.order_by("pk").values_list("pk", "action", *_SHOWN_OF_MEMBERS)
    versions = release.front_versions.order_by("pk").values_list("pk", "status", "updated_at")
    shown = (release.status, release.publish_at, release.name, entry, [*members], [*versions], due and due <= now)
    address = reverse("admin:articles_release_change", args=[release.pk])
    query = urlencode({"q": request.GET["q"]}) if "q" in request.GET else ""
    return Following(
        url=f"{address}?{query}" if query else address,
        version=version_of(request.user.pk, *shown),
        next=next_change(now, [], awaited=[due]),
        poll=POLL,
        happened={} if release.is_pending else {f"{release.status} {release.published_at}": state(release, now)},
    )


_SHOWN_OF_MEMBERS = ("article__status", "article__updated_at", "article__update__updated_at")


def state(release: Release, now: datetime) -> str:
    """Its state, when it was due if it came noticeably later, and what happens next."""
    moment = release.published_at or release.publish_at
    values = {"time": format_time_exactly(moment) if moment else "—"}
    if release.status == Status.SCHEDULED and moment is not None and moment <= now:
        return gettext("It was due on %(time)s. No worker has started it yet.") % values
    return " ".join((_SENTENCES[release.status]() % values, *_delay(release)))


def _delay(release: Release) -> Iterator[str]:
    if release.publish_at and release.published_at and release.published_at - release.publish_at >= NOTICEABLE:
        yield gettext("It was due on %(time)s.") % {"time": format_time_exactly(release.publish_at)}


_SENTENCES: Mapping[str, Callable[[], str]] = {
    Status.DRAFT: lambda: gettext("Not scheduled. Add articles, then schedule or publish it."),
    Status.SCHEDULED: lambda: gettext("Scheduled for %(time)s. All articles go live, or none."),
    Status.PUBLISHED: lambda: gettext("Published on %(time)s."),
    Status.FAILED: lambda: gettext(
        "Failed on %(time)s; no article was published. Fix the issues below, then schedule or publish it again."
    ),
    Status.CANCELLED: lambda: gettext("Cancelled. Its articles can join other releases."),
    Status.ROLLED_BACK: lambda: gettext("Published on %(time)s and rolled back."),
}


def question(transition: ReleaseTransition, release: Release) -> dict[str, Any]:
    """Context of the confirmation page, with the effect on each article."""
    problems = releases.preflight(release) if transition is ReleaseTransition.PUBLISH else []
    rule = RELEASE_TRANSITIONS[transition]
    is_possible = release.status in rule.sources
    return {
        "title": rule.label,
        "question": rule.confirmation,
        "problems": problems,
        "may_confirm": is_possible and not problems,
        "state": state(release, read_database_clock()),
        "is_dangerous": rule.is_removal,
        "lines": [
            *((member, _consequence(transition, member)) for member in members_without_texts(release)),
            *((version, _of_front(transition)) for version in release.front_versions.select_related("front__channel")),
        ],
    }


def _consequence(transition: ReleaseTransition, member: ReleaseMember) -> str:
    if transition is not ReleaseTransition.ROLL_BACK:
        return member.get_action_display() if transition is ReleaseTransition.PUBLISH else ""
    if member.article is None:
        return gettext("Deleted since; it stays deleted.")
    if member.article.status == Article.Status.RETRACTED:
        return gettext("Retracted since; it stays retracted.")
    return str(_UNDONE[member.action])


def _of_front(transition: ReleaseTransition) -> str:
    if transition is ReleaseTransition.ROLL_BACK:
        return gettext("Readers will see the version before it, or one that came later.")
    return gettext("Publish") if transition is ReleaseTransition.PUBLISH else ""


def _labelled(transitions: Iterable[ReleaseTransition]) -> list[tuple[ReleaseTransition, Promise]]:
    return [(transition, RELEASE_TRANSITIONS[transition].label) for transition in transitions]


def _possible_transitions(release: Release) -> Iterable[ReleaseTransition]:
    return [
        transition
        for transition in map(ReleaseTransition, FUNCTIONS)
        if release.status in RELEASE_TRANSITIONS[transition].sources
    ]


def _rows(
    members: Iterable[ReleaseMember], problems: Iterable[PreflightProblem], now: datetime
) -> list[dict[str, Any]]:
    load_releases([member.article for member in members if member.article])
    return [_row(member, problems, now) for member in members]


def _row(member: ReleaseMember, problems: Iterable[PreflightProblem], now: datetime) -> dict[str, Any]:
    article = member.article
    found = state_at(article, now) if article else None
    return {
        "member": member,
        "article": article,
        "badge": ARTICLE_BADGES[found.status] if found else "danger",
        "stage": found.label if found else "",
        "problems": [problem for problem in problems if problem.member == member],
        "instead": _alternative(member),
    }


def _fronts(release: Release, problems: Iterable[PreflightProblem]) -> list[dict[str, Any]]:
    """The versions of fronts that go live with it."""
    return [
        {"version": version, "problems": [problem for problem in problems if problem.front == version]}
        for version in release.front_versions.select_related("front__channel").order_by("pk")
    ]


def _drafts() -> Iterable[FrontVersion]:
    """The drafts of fronts that can be added, latest change first."""
    drafts = FrontVersion.objects.filter(status=FrontVersion.Status.DRAFT).select_related("front__channel")
    return drafts.order_by("-updated_at")[:FOUND]


def _alternative(member: ReleaseMember) -> tuple[str, Promise] | None:
    """The other possible action for a published article."""
    if member.action == Action.UPDATE:
        return Action.UNPUBLISH.value, _("Unpublish it instead")
    if member.action == Action.UNPUBLISH and member.article and member.article.pending_update:
        return Action.UPDATE.value, _("Publish its update instead")
    return None


def _found(query: str, request: HttpRequest, now: datetime) -> list[tuple[Article, ReaderState]]:
    """Articles that can be added and their states, latest change first."""
    gone = in_states([State.UNPUBLISHED, State.RETRACTED], now)
    free = Article.objects.exclude(gone).exclude(memberships__holds=True)
    screen = admin.site.get_model_admin(Article)
    found, _is_doubled = screen.get_search_results(request, with_releases(free.select_related("channel")), query)
    return [(article, state_at(article, now)) for article in found.order_by("-updated_at")[:FOUND]]
