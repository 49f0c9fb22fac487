"""Movable calendar subjects: a time of an article, or a release."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import datetime

from django.core.exceptions import ValidationError
from django.utils.functional import Promise
from django.utils.translation import gettext as _

from articles.desk.calendar import reschedule
from articles.desk.calendar.entries import EntryKind
from articles.desk.calendar.reschedule import AT_ONCE, Moment, time_of
from articles.desk.transitions import may_take
from articles.models import Article, Release
from articles.permissions import allows
from articles.publishing import Actor, possible_transitions
from articles.releases import RIGHT
from articles.text import format_time_exactly
from articles.workflow import RELEASE_TRANSITIONS, TRANSITIONS, ReleaseTransition
from scheduling.database import read_database_clock

RELEASE = "release"
KINDS = {
    Moment.PUBLISH: EntryKind.PUBLISH,
    Moment.UPDATE: EntryKind.UPDATE,
    Moment.UNPUBLISH: EntryKind.UNPUBLISHING,
    Moment.EMBARGO: EntryKind.EMBARGO,
}


class MovableSubject(ABC):
    """A subject with a movable time. Its methods raise `ArticleError`."""

    key: str  #: its name, such as "publish_at:12"
    title: str
    kind: EntryKind
    time: datetime | None  #: the stored one

    @abstractmethod
    def reschedule(self, to: datetime, *, seen: datetime, by: Actor) -> None:
        """Replace the time that the user saw."""

    @abstractmethod
    def do_now(self, *, seen: datetime, by: Actor) -> None:
        """Make the event happen now."""

    @abstractmethod
    def transition_at_once(self, by: Actor) -> str | Promise | None:
        """Label of the immediate transition, if the user may make it."""

    def may_be_seen(self, by: Actor) -> bool:
        """Whether a user of the calendar may see it."""
        return True

    @property
    def state(self) -> str:
        """Event and time."""
        return f"{self.kind.label}: {format_time_exactly(self.time) if self.time else '—'}"


class ArticleTime(MovableSubject):
    """A time of an article."""

    def __init__(self, moment: Moment, article: Article) -> None:
        self.moment, self.article = moment, article
        self.key, self.kind = f"{moment}:{article.pk}", KINDS[moment]
        self.title = (
            article.pending_update.headline if moment is Moment.UPDATE and article.pending_update else article.title
        )
        self.time = time_of(article, moment)

    def reschedule(self, to: datetime, *, seen: datetime, by: Actor) -> None:
        reschedule.reschedule_article(self.article, self.moment, to=to, seen=seen, by=by)

    def do_now(self, *, seen: datetime, by: Actor) -> None:
        reschedule.do_now(self.article, self.moment, seen=seen, by=by)

    def transition_at_once(self, by: Actor) -> str | Promise | None:
        """Publish the article or its update."""
        transition = AT_ONCE.get(self.moment)
        if transition is None or transition not in possible_transitions(self.article, read_database_clock()):
            return None
        return TRANSITIONS[transition].label if may_take(transition, by, self.article) else None


class ReleaseTime(MovableSubject):
    """The time of a release."""

    kind = EntryKind.RELEASE

    def __init__(self, release: Release) -> None:
        self.release = release
        self.key, self.title, self.time = f"{RELEASE}:{release.pk}", release.name, release.publish_at

    def reschedule(self, to: datetime, *, seen: datetime, by: Actor) -> None:
        reschedule.reschedule_release(self.release, to=to, seen=seen, by=by)

    def do_now(self, *, seen: datetime, by: Actor) -> None:
        reschedule.do_release_now(self.release, seen=seen, by=by)

    def may_be_seen(self, by: Actor) -> bool:
        """Releases have their own permission."""
        return by.has_perm("articles.view_release")  # type: ignore[union-attr]

    def transition_at_once(self, by: Actor) -> str | Promise | None:
        """Publish the release."""
        transition = RELEASE_TRANSITIONS[ReleaseTransition.PUBLISH]
        return transition.label if self.release.status in transition.sources and allows(RIGHT, by) else None


def subject_named(key: str) -> MovableSubject:
    """The subject with the key "publish_at:12" or "release:3". Raises `ValidationError`."""
    kind, _colon, pk = key.partition(":")
    if kind not in [RELEASE, *Moment] or not (pk.isascii() and pk.isdecimal() and len(pk) < 19):
        raise ValidationError(_("This entry does not exist."))
    if kind == RELEASE:
        if (release := Release.objects.filter(pk=pk).first()) is None:
            raise ValidationError(_("The release has been deleted."))
        return ReleaseTime(release)
    if (article := Article.objects.filter(pk=pk).first()) is None:
        raise ValidationError(_("The article has been deleted."))
    return ArticleTime(Moment(kind), article)
