"""Preflight checks of a release: its blocking issues, each with its article and what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from articles.fronts import problems_of, versions_in
from articles.models import Article, FrontVersion, Release, ReleaseMember, status_at
from articles.text import format_time_exactly
from scheduling.database import read_database_clock

Action = ReleaseMember.Action
Status = Article.Status


@dataclass(frozen=True)
class PreflightProblem:
    """A blocking issue."""

    code: str
    message: str
    member: ReleaseMember | None = None  #: None: a front, or the release as a whole
    front: FrontVersion | None = None

    def __str__(self) -> str:
        what = self.member or self.front
        return f"“{what}”: {self.message}" if what else self.message


_NEWER = ("article__update__draft", "article__update__approved")
_BODIES = [f"{owner}__body" for owner in ("article", *_NEWER)]

BlockingIssue = tuple[str, str]
"""A code for programs and a sentence for users."""


def preflight(release: Release) -> list[PreflightProblem]:
    """The blocking issues at the release's time, or now if that is past or not chosen yet."""
    now = read_database_clock()
    moment = max(release.publish_at or now, now)
    return find_problems(members_without_texts(release), versions_in(release), moment)


def find_problems(
    members: Sequence[ReleaseMember], versions: Sequence[FrontVersion], moment: datetime
) -> list[PreflightProblem]:
    """The blocking issues of articles and versions of fronts at `moment`."""
    if not members and not versions:
        return [PreflightProblem("empty", _("The release is empty."))]
    of_articles = ((member, issue) for member in members for issue in _issues(member, moment))
    of_fronts = ((version, issue) for version in versions for issue in problems_of(version, moment))
    return [
        *(PreflightProblem(*issue, member) for member, issue in of_articles),
        *(PreflightProblem(*issue, front=version) for version, issue in of_fronts),
    ]


def list_problems(problems: Sequence[PreflightProblem]) -> str:
    """All of them, a line each."""
    return "\n".join(str(problem) for problem in problems)


def loaded_members(release: Release) -> list[ReleaseMember]:
    """Its members with their articles and updates, in the order of the articles' ids."""
    return list(_members(release))


def members_without_texts(release: Release) -> list[ReleaseMember]:
    """The same without the long texts, for display."""
    return list(_members(release).defer(*_BODIES))


def _members(release: Release) -> QuerySet[ReleaseMember]:
    return release.members.select_related("article", *_NEWER).order_by("article", "pk")


def _issues(member: ReleaseMember, moment: datetime) -> Iterator[BlockingIssue]:
    if member.article is None:
        yield "deleted", _("It was deleted. Remove it from the release.")
    else:
        yield from _CHECKS[Action(member.action)](member.article, moment)


def _cannot_go_live(article: Article, moment: datetime) -> Iterator[BlockingIssue]:
    if not article.is_waiting or article.is_out_at(moment):
        yield _UNREADY.get(article.status, _live_already)()
    if article.embargo_until is not None and article.embargo_until > moment:
        text = _("It is under embargo until %(time)s. Lift the embargo or reschedule the release.")
        yield "under_embargo", text % {"time": format_time_exactly(article.embargo_until)}
    if article.unpublish_at is not None and article.unpublish_at <= moment:
        text = _("It will be unpublished on %(time)s, before it goes live. Change one of the two times.")
        yield "over", text % {"time": format_time_exactly(article.unpublish_at)}


def _cannot_be_updated(article: Article, moment: datetime) -> Iterator[BlockingIssue]:
    yield from _is_not_live(article, moment)
    pending_update = article.pending_update
    if pending_update is None:
        yield "no_newer_text", _("It has no pending update. Write one, or remove it from the release.")
    elif pending_update.approved_id is None:
        text = _("Its pending update is not approved yet: it is “%(status)s”.")
        yield "not_approved", text % {"status": pending_update.get_status_display()}


def _is_not_live(article: Article, moment: datetime) -> Iterator[BlockingIssue]:
    if not article.is_out_at(moment):
        yield (
            "not_out",
            _("Readers do not see it at that time (it is “%(status)s”), so there is nothing to change.")
            % {"status": status_at(article, moment).label},
        )


def _live_already() -> BlockingIssue:
    return "already_out", _("It is live already. Remove it from the release.")


_CHECKS: Mapping[ReleaseMember.Action, Callable[[Article, datetime], Iterator[BlockingIssue]]] = {
    Action.PUBLISH: _cannot_go_live,
    Action.UPDATE: _cannot_be_updated,
    Action.UNPUBLISH: _is_not_live,
}

_UNREADY: Mapping[int, Callable[[], BlockingIssue]] = {
    Status.DRAFT: lambda: ("not_approved", _("It is a draft. Submit it for review.")),
    Status.SUBMITTED: lambda: ("not_approved", _("It is still in automatic review.")),
    Status.REJECTED: lambda: ("not_approved", _("It was rejected. Edit it and submit it again.")),
    Status.MANUAL_REVIEW: lambda: ("not_approved", _("A reviewer has not decided yet.")),
    Status.UNPUBLISHED: lambda: ("unpublished", _("It was unpublished. Remove it from the release and republish it.")),
    Status.RETRACTED: lambda: ("retracted", _("It was retracted. Remove it from the release.")),
}
