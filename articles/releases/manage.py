"""Transitions of releases: preparing, scheduling, publishing, cancelling and rolling back.

Each is one transaction that locks the release first and then its articles, in the order of their ids.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from articles.audit import Action, Actor, record, record_release, recorded
from articles.exceptions import (
    BelongsToRelease,
    NotAMember,
    ReleaseGone,
    ReleaseNotReady,
    WrongState,
)
from articles.fronts import (
    free_versions,
    hold_again,
    join_release,
    leave_release,
    lock_versions,
    versions_in,
)
from articles.limits import MOST_MEMBERS, RELEASE_NAME_LENGTH
from articles.models import Article, FrontVersion, Notification, Release, ReleaseMember
from articles.notifications import notify_of_release
from articles.permissions import require
from articles.publishing import (
    checked_time,
    end_before_next_change,
    lock,
    membership,
    position_at,
    refusal_of,
    refuse_past,
    settle,
    settle_update,
    store_article,
    store_update,
)
from articles.releases.effects import apply_release, roll_back
from articles.releases.preflight_checks import find_problems, list_problems, loaded_members
from articles.releases.run import date_release_on_commit, settle_release
from articles.workflow import RELEASE_TRANSITIONS, TO_COME, ReleaseTransition
from scheduling.database import lock_by_ids, read_database_clock, retried

MemberAction = ReleaseMember.Action
Status = Article.Status

RIGHT = "articles.schedule_release"


@retried
def create_release(*, name: str, by: Actor) -> Release:
    """Create an empty release. Raises `NotAllowed`, and `WrongState` without a name."""
    require(RIGHT, by)
    release = Release(name=_checked_name(name), created_by_id=by.pk)
    release.save()
    record_release(Action.CREATE_RELEASE, release, by=by)
    return release


@retried
def rename_release(release: Release, *, name: str, by: Actor) -> None:
    """Rename the release."""
    with _transition(ReleaseTransition.CHANGE, release, by=by):
        old_name, release.name = release.name, _checked_name(name)
        record_release(ReleaseTransition.CHANGE, release, by=by, old_time=release.publish_at, old_name=old_name)


@retried
def add_member(release: Release, *, article: Article, action: str = "", by: Actor) -> ReleaseMember:
    """Have the article published, updated or unpublished with the release; from now on it has no time of its own.

    The default `action` is to publish an article that is not live, and to publish the update of one that is. An article
    that is in the release already gets the action. Raises `BelongsToRelease` if it is in another release
    that is pending, and `WrongState` if the action makes no sense for it or the release is full.
    """
    with _transition(ReleaseTransition.CHANGE, release, by=by):
        lock(article)
        found = settle(article)
        now = found.now
        end_before_next_change(article, now)
        if found.hold is not None and found.hold.release_id != release.pk:
            _refuse_other_release(release, article)
        chosen = _checked_action(article, action, now)
        with recorded(Action.JOINED_RELEASE, article, by=by, release=release) as notes:
            notes.details["planned"] = chosen.value
            member = release.members.filter(article=article).first() or ReleaseMember(release=release, article=article)
            is_new = member.pk is None
            member.action, member.title, member.holds = chosen, article.title, True
            member.save()
            _clear_time(article, chosen, now)
        if is_new and release.members.count() > MOST_MEMBERS:
            raise WrongState(_("A release has %(most)d articles at most.") % {"most": MOST_MEMBERS})
    return member


@retried
def remove_member(release: Release, *, member: ReleaseMember, by: Actor) -> None:
    """Remove an article, which keeps its text and approval, but has no time. Raises `NotAMember`."""
    with _transition(ReleaseTransition.CHANGE, release, by=by):
        found = release.members.filter(pk=member.pk).first()
        if found is None:
            raise NotAMember
        if found.article is not None:
            record(Action.LEFT_RELEASE, article=found.article, by=by, release=release)
        found.delete()


@retried
def add_front(release: Release, *, version: FrontVersion, by: Actor) -> None:
    """Have readers get a draft of a front with the release; under the two-person rule once it is approved.

    Raises `NotAllowed`, `FrontGone`, `FrontLive`, `BelongsToRelease`, `SensitiveText` and `WrongState`.
    """
    with _transition(ReleaseTransition.CHANGE, release, by=by):
        join_release(version, release, by=by)


@retried
def remove_front(release: Release, *, version: FrontVersion, by: Actor) -> None:
    """Make a version of a front in the release a draft again."""
    with _transition(ReleaseTransition.CHANGE, release, by=by):
        leave_release(version, release, by=by)


@retried
def schedule_release(release: Release, *, publish_at: datetime, by: Actor, at_once: bool = True) -> None:
    """Schedule or reschedule the release for `publish_at`; a past time means at once.

    Blocking issues can still be fixed until then. Raises `InvalidSchedule` as `schedule` does, and
    `ReleaseNotReady` for an empty one.
    """
    moment = checked_time(publish_at)
    with _transition(ReleaseTransition.SCHEDULE, release, by=by) as now:
        if not at_once:
            refuse_past(moment, now, by=by)
        lock_versions(release)  # no other change of one is stored after this
        if not release.members.exists() and not versions_in(release):
            raise ReleaseNotReady(_("The release is empty."))
        release.publish_at, release.reason = max(moment, now), ""


@retried
def publish_release_now(release: Release, *, by: Actor) -> None:
    """Publish all members at this instant. Raises `ReleaseNotReady`, naming the issues, and changes nothing."""
    with _transition(ReleaseTransition.PUBLISH, release, by=by):
        members = lock_members(release)
        now = read_database_clock()
        if problems := find_problems(members, versions_in(release), now):
            raise ReleaseNotReady(list_problems(problems))
        release.publish_at = release.published_at = now
        release.reason = ""
        date_release_on_commit(release)
        apply_release(release, members, at=now, by=by)
        notify_of_release(Notification.Kind.PUBLISHED, release, by=by)


@retried
def cancel_release(release: Release, *, by: Actor) -> None:
    """Cancel the release; its members are free again, and have no times."""
    with _transition(ReleaseTransition.CANCEL, release, by=by):
        lock_versions(release)
        free_versions(release)
        release.reason = ""


@retried
def reopen_release(release: Release, *, by: Actor) -> None:
    """Prepare a cancelled or rolled back release again. Raises `BelongsToRelease` if a member is in another by now."""
    with _transition(ReleaseTransition.REOPEN, release, by=by):
        members, now = lock_members(release), read_database_clock()
        for member in members:
            if member.article is not None:
                _refuse_other_release(release, member.article)
                with recorded(Action.JOINED_RELEASE, member.article, by=by, release=release):
                    _clear_time(member.article, MemberAction(member.action), now)
        hold_again(release, by=by)
        release.publish_at = release.published_at = None


@retried
def roll_back_release(release: Release, *, by: Actor) -> None:
    """Restore the state of every member before the release, in one commit.

    Members that were retracted, deleted or lost their approval since are not changed, nor are unpublished ones whose
    own time to be unpublished is past. Raises `UnderEmbargo`.
    """
    with _transition(ReleaseTransition.ROLL_BACK, release, by=by):
        members = lock_members(release)
        roll_back(release, members, at=read_database_clock(), by=by)
        notify_of_release(Notification.Kind.ROLLED_BACK, release, by=by)


@retried
def delete_release(release: Release, *, by: Actor) -> None:
    """Delete a release that was never published; its members are free again."""
    with _transition(ReleaseTransition.DELETE, release, by=by):
        lock_versions(release)
        free_versions(release)
    release.delete()


def lock_members(release: Release) -> list[ReleaseMember]:
    """Lock the articles, the members and the versions of fronts of a locked release; returns the members.

    No member can be added then, and one whose article is just being deleted is loaded without it.
    """
    ids = list(release.members.filter(article__isnull=False).values_list("article", flat=True))
    list(lock_by_ids(Article, ids).values_list("pk"))
    list(lock_by_ids(ReleaseMember, release.members.values_list("pk", flat=True)).values_list("pk"))
    lock_versions(release)
    members, now = loaded_members(release), read_database_clock()
    articles = [member.article for member in members if member.article is not None]
    for article in articles:
        end_before_next_change(article, now)
    settled = [article for article in articles if settle_update(article, now)]
    return loaded_members(release) if settled else members


def lock_release(release: Release) -> None:
    """Lock the row until the end of the transaction and load it. Raises `ReleaseGone`."""
    try:
        release.refresh_from_db(from_queryset=lock_by_ids(Release, [release.pk]))
    except Release.DoesNotExist as error:
        raise ReleaseGone from error


@contextmanager
def _transition(transition: ReleaseTransition, release: Release, *, by: Actor) -> Iterator[datetime]:
    """Lock the release and check that `by` may perform `transition`; set its status and commit at the end.

    Yields the database's time. Raises `NotAllowed`, `ReleaseGone` or `WrongState`.
    """
    require(RIGHT, by)
    with transaction.atomic():
        lock_release(release)
        settle_release(release, read_database_clock())
        rule, old_time = RELEASE_TRANSITIONS[transition], release.publish_at
        if release.status not in rule.sources:
            values = {"transition": rule.label, "status": release.get_status_display()}
            raise WrongState(_("“%(transition)s” is not possible: the release is “%(status)s”.") % values)
        yield read_database_clock()
        release.status = rule.target or release.status
        release.save()
        if transition is not ReleaseTransition.CHANGE:
            record_release(transition, release, by=by, old_time=old_time)


def _checked_name(name: str) -> str:
    checked = name.strip()
    if not checked or len(checked) > RELEASE_NAME_LENGTH:
        raise WrongState(_("Give the release a name of at most %(most)d characters.") % {"most": RELEASE_NAME_LENGTH})
    return checked


def _checked_action(article: Article, action: str, now: datetime) -> ReleaseMember.Action:
    status = position_at(article, now).article
    is_live = status == Status.PUBLISHED
    fitting = MemberAction.UPDATE if is_live and article.pending_update else MemberAction.PUBLISH
    chosen = MemberAction(action) if action else fitting
    if status in (Status.UNPUBLISHED, Status.RETRACTED):
        text = _("“%(article)s” is “%(status)s”: republish it first.")
        raise WrongState(text % {"article": article, "status": Status(status).label})
    if chosen == MemberAction.PUBLISH and is_live:
        text = _("“%(article)s” is live already: a release can publish its update, or unpublish it.")
        raise WrongState(text % {"article": article})
    if chosen != MemberAction.PUBLISH and not is_live and not (article.is_waiting and article.publish_at):
        raise WrongState(_("“%(article)s” is not live: a release can only publish it.") % {"article": article})
    return chosen


def _refuse_other_release(release: Release, article: Article) -> None:
    found = membership(article)
    if found is not None and found.release_id != release.pk:
        raise BelongsToRelease(refusal_of(found))


def _clear_time(article: Article, action: ReleaseMember.Action, now: datetime) -> None:
    """Clear the article's own time, or its update's. A live article keeps its date; the preflight check reports it.

    The row is written even without a time: on Galera, only that collides with another node that sets one.
    """
    update = article.pending_update
    if action == MemberAction.PUBLISH and position_at(article, now).article in TO_COME:
        article.publish_at = None
        store_article(article, always=True)
        return
    if action == MemberAction.UPDATE and update is not None:
        update.publish_at = None
        store_update(update)
    store_article(article)
