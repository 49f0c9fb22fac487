"""The dry run of a release: the same code, rolled back."""

from __future__ import annotations

from dataclasses import dataclass, field

from django.db import transaction
from django.utils.translation import gettext as _

from articles.audit import Actor
from articles.fronts import versions_in
from articles.models import FrontVersion, Release, ReleaseMember
from articles.permissions import require
from articles.releases.effects import apply_release
from articles.releases.manage import RIGHT, lock_members, lock_release
from articles.releases.preflight_checks import PreflightProblem, find_problems, loaded_members
from articles.text import format_time_exactly
from scheduling.database import read_database_clock, retried


@dataclass(frozen=True)
class Effect:
    """The effect on one member, or on a front (`member` is None then)."""

    member: ReleaseMember | None
    before: str
    after: str
    front: FrontVersion | None = None


@dataclass(frozen=True)
class DryRun:
    """The effects of a release, or its blocking issues."""

    problems: list[PreflightProblem]
    effects: list[Effect] = field(default_factory=list)


def dry_run_release(release: Release, *, by: Actor) -> DryRun:
    """Run the release as at its time, describe the effects, and roll back."""
    require(RIGHT, by)
    dry_run = _dry_run(release, by)
    release.refresh_from_db()
    return dry_run


@retried
def _dry_run(release: Release, by: Actor) -> DryRun:
    lock_release(release)
    dry_run = _outcome(release, by)
    transaction.set_rollback(True)
    return dry_run


def _outcome(release: Release, by: Actor) -> DryRun:
    members, now = lock_members(release), read_database_clock()
    moment = max(release.publish_at or now, now)
    versions = versions_in(release)
    if problems := find_problems(members, versions, moment):
        return DryRun(problems)
    before = [_described(member) for member in members]
    release.publish_at = moment
    apply_release(release, members, at=moment, by=by)
    after = [_described(member) for member in loaded_members(release)]
    of_fronts = [
        Effect(None, str(version.get_status_display()), format_time_exactly(moment), version) for version in versions
    ]
    return DryRun([], [*(Effect(*values) for values in zip(members, before, after, strict=True)), *of_fronts])


def _described(member: ReleaseMember) -> str:
    if member.article is None:
        return ""
    values = {"status": member.article.get_status_display(), "number": member.article.revision}
    return _("%(status)s, revision %(number)d") % values
