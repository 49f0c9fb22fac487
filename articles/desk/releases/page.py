"""What the page of a release shows: where it stands, its articles and what is wrong with each, and what can be done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from articles import releases
from articles.desk.articles.changelist import BADGES as ARTICLE_BADGES
from articles.desk.audit.admin import history
from articles.desk.releases.forms import FITTING, NameForm, TimeForm
from articles.models import Article, Release, ReleaseMember
from articles.releases import Problem, members_without_texts
from articles.text import spoken_exactly
from articles.workflow import RELEASE_STEPS, ReleaseStep
from scheduling.services import read_database_clock

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
"""The colour of each status."""

STEPS: Mapping[str, Callable[..., None]] = {
    ReleaseStep.PUBLISH: releases.publish_release_now,
    ReleaseStep.CANCEL: releases.cancel_release,
    ReleaseStep.REOPEN: releases.reopen_release,
    ReleaseStep.ROLL_BACK: releases.roll_back_release,
    ReleaseStep.DELETE: releases.delete_release,
}
"""The steps that are asked about before they are taken."""

_QUESTIONS: Mapping[ReleaseStep, Promise] = {
    ReleaseStep.PUBLISH: _("All of these go live at once, as soon as you confirm:"),
    ReleaseStep.CANCEL: _(
        "It does not go out. Its articles stay approved, have no times, and are free for other releases:"
    ),
    ReleaseStep.REOPEN: _("Its articles lose the times they have got meanwhile, and belong to it again:"),
    ReleaseStep.ROLL_BACK: _("Each article stands again where it stood before, all in the same instant:"),
    ReleaseStep.DELETE: _(
        "Nothing of it is left but its entries in the audit record. Its articles stay, without times:"
    ),
}

_UNDONE: Mapping[str, Promise] = {
    Action.PUBLISH: _("Readers no longer see it; it is approved and has no time."),
    Action.UPDATE: _("Readers see the earlier text; the newer one stays approved and waits."),
    Action.WITHDRAW: _("Readers see it again."),
}


def page_of(release: Release, request: HttpRequest, *, may_change: bool) -> dict[str, Any]:
    """Everything the template needs."""
    now = read_database_clock()
    members = members_without_texts(release)
    problems = releases.preflight(release) if release.is_pending else []
    query = request.GET.get("q", "").strip()
    may_edit = may_change and release.is_pending
    return {
        "release": release,
        "badge": BADGES[release.status],
        "standing": standing(release, now),
        "now": now,
        "rows": [_row(member, problems) for member in members],
        "faulty": len({problem.member for problem in problems}),
        "may_edit": may_edit,
        "may_change": may_change,
        "steps": [(step, RELEASE_STEPS[step].label) for step in _open_steps(release)] if may_change else [],
        "name_form": NameForm(initial={"name": release.name}),
        "time_form": TimeForm(initial={"publish_at": release.publish_at}),
        "query": query,
        "found": _found(query, request) if query and may_edit else [],
        "actions": [FITTING, *Action.choices],
        "record": history(release),
    }


def standing(release: Release, now: Any) -> str:
    """One sentence that says where a release stands and what happens next."""
    moment = release.published_at or release.publish_at
    values = {"time": spoken_exactly(moment) if moment else "—"}
    if release.status == Status.SCHEDULED and moment is not None and moment <= now:
        return gettext("It was to go out on %(time)s, and no worker has taken it up yet.") % values
    return _SENTENCES[release.status]() % values


_SENTENCES: Mapping[str, Callable[[], str]] = {
    Status.DRAFT: lambda: gettext("It has no time yet. Add articles, then schedule or publish it."),
    Status.SCHEDULED: lambda: gettext("It goes out on %(time)s, all of it or nothing."),
    Status.PUBLISHED: lambda: gettext("It went out on %(time)s."),
    Status.FAILED: lambda: gettext(
        "Nothing of it went out on %(time)s. Mend what is named, then schedule or publish it again."
    ),
    Status.CANCELLED: lambda: gettext("It does not go out, and its articles are free."),
    Status.ROLLED_BACK: lambda: gettext("It went out on %(time)s and was rolled back."),
}


def question(step: ReleaseStep, release: Release) -> dict[str, Any]:
    """What is asked before a step, with the articles and what would become of each."""
    problems = releases.preflight(release) if step is ReleaseStep.PUBLISH else []
    is_possible = release.status in RELEASE_STEPS[step].sources
    return {
        "title": RELEASE_STEPS[step].label,
        "question": _QUESTIONS[step],
        "problems": problems,
        "may_confirm": is_possible and not problems,
        "standing": standing(release, read_database_clock()),
        "is_dangerous": step in (ReleaseStep.ROLL_BACK, ReleaseStep.DELETE, ReleaseStep.CANCEL),
        "lines": [(member, _consequence(step, member)) for member in members_without_texts(release)],
    }


def _consequence(step: ReleaseStep, member: ReleaseMember) -> str:
    if step is not ReleaseStep.ROLL_BACK:
        return member.get_action_display() if step is ReleaseStep.PUBLISH else ""
    if member.article is None:
        return gettext("It was deleted meanwhile; it stays so.")
    if member.article.status == Article.Status.KILLED:
        return gettext("It was killed meanwhile; it stays so.")
    return str(_UNDONE[member.action])


def _open_steps(release: Release) -> Iterable[ReleaseStep]:
    return [step for step in map(ReleaseStep, STEPS) if release.status in RELEASE_STEPS[step].sources]


def _row(member: ReleaseMember, problems: Iterable[Problem]) -> dict[str, Any]:
    article = member.article
    return {
        "member": member,
        "article": article,
        "badge": ARTICLE_BADGES[Article.Status(article.status)] if article else "danger",
        "problems": [problem for problem in problems if problem.member == member],
        "instead": _alternative(member),
    }


def _alternative(member: ReleaseMember) -> tuple[str, Promise] | None:
    """What else could happen to an article that is out."""
    if member.action == Action.UPDATE:
        return Action.WITHDRAW.value, _("Take it off instead")
    if member.action == Action.WITHDRAW and member.article and member.article.newer:
        return Action.UPDATE.value, _("Put its newer text out instead")
    return None


def _found(query: str, request: HttpRequest) -> Iterable[Article]:
    """Articles that a release could take in, the latest changed first."""
    gone = (Article.Status.WITHDRAWN, Article.Status.KILLED)
    free = Article.objects.exclude(status__in=gone).exclude(memberships__holds=True)
    screen = admin.site.get_model_admin(Article)
    found, _is_doubled = screen.get_search_results(request, free.select_related("channel"), query)
    return list(found.order_by("-updated_at")[:FOUND])
