"""What the clock will change for readers: one list of kinds, for caches, previews and the newsroom."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from django.db import models
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Value
from django.utils.translation import gettext_lazy as _

from articles.models.alert import Alert
from articles.models.article import Article, Instant
from articles.models.front import Card, FrontVersion, has_readers, is_live_version
from articles.models.front_series import FrontSeries, first_occurrences
from articles.models.release import Release, ReleaseMember
from articles.models.update import Update
from scheduling.database import EpochMicroseconds, compiled_once, first_rows

Subject = Article | Update | Release | FrontVersion | Card | Alert

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class ChangeKind(models.TextChoices):
    """What changes for readers."""

    LIVE = "live", _("Goes live")
    UNPUBLISH = "unpublish", _("Unpublish")
    UPDATE = "update", _("Update")
    RELEASE = "release", _("Release")
    FRONT = "front", _("Front goes live")
    CARD_SHOWN = "card_shown", _("Card of a front appears")
    CARD_HIDDEN = "card_hidden", _("Card of a front goes")
    ALERT_BEGINS = "alert_begins", _("Breaking alert begins")
    ALERT_ENDS = "alert_ends", _("Breaking alert ends")


@dataclass(frozen=True)
class TimedRows:
    """Rows of which readers notice something at the instant in `column`.

    A cache ends with any of `rows`, found by an index. Readers notice those with the condition `noticed` only.
    """

    kind: ChangeKind
    rows: QuerySet[Any]
    column: str
    noticed: Callable[[], Q] = Q

    def after(self, moment: Instant) -> QuerySet[Any]:
        """Those that readers notice after `moment`, soonest first."""
        return self.rows.filter(self.noticed(), **{f"{self.column}__gt": moment}).order_by(self.column)


@dataclass(frozen=True)
class ComingChange:
    """What the clock changes for readers at an instant."""

    at: datetime
    kind: ChangeKind
    subject: Any  #: a `Subject`

    @property
    def article(self) -> Article | None:
        """The article that it is about."""
        found: Article | None = self.subject if isinstance(self.subject, Article) else None
        return found or getattr(self.subject, "article", None)

    @property
    def ends_embargo(self) -> bool:
        """Whether the article goes live only now because of its embargo."""
        article = self.article
        return (
            self.kind is ChangeKind.LIVE
            and article is not None
            and article.embargo_until == self.at != article.publish_at
        )


@dataclass(frozen=True)
class Stop:
    """An instant at which the clock changes something, and how much of each kind."""

    at: datetime
    numbers: Mapping[ChangeKind, int]


def timed_rows() -> list[TimedRows]:
    """What the clock changes. A new kind is one more row here."""
    K, scheduled = ChangeKind, FrontVersion.Status.SCHEDULED  # noqa: N806 (a class)
    # One for each status, because the index is sorted within a status only.
    visible = [Article.objects.filter(status=status) for status in Article.Status.visible()]
    return [
        *(TimedRows(K.LIVE, articles, "goes_live_at", is_seen_to_begin) for articles in visible),
        *(TimedRows(K.UNPUBLISH, articles, "unpublish_at", is_seen_to_end) for articles in visible),
        TimedRows(K.ALERT_BEGINS, Alert.objects.open(), "begins"),
        TimedRows(K.ALERT_ENDS, Alert.objects.open(), "ends"),
        TimedRows(K.UPDATE, Update.objects.filter(approved__isnull=False), "publish_at"),
        TimedRows(K.RELEASE, Release.objects.scheduled(), "publish_at"),
        TimedRows(
            K.FRONT, FrontVersion.objects.filter(status=scheduled, repeats__isnull=True), "live_from", has_readers
        ),
        TimedRows(K.CARD_SHOWN, Card.objects.all(), "shows_from", partial(_on_a_live_front, "shows_from")),
        TimedRows(K.CARD_HIDDEN, Card.objects.all(), "shows_until", partial(_on_a_live_front, "shows_until")),
    ]


def is_seen_to_begin() -> Q:
    """Whether readers notice when an approved article goes live: one that ends before that is never seen."""
    return Q(unpublish_at=None) | Q(unpublish_at__gt=F("goes_live_at"))


def is_seen_to_end() -> Q:
    """Whether readers notice when an approved article is unpublished: they have had it, or get it before."""
    return Q(goes_live_at__lt=F("unpublish_at")) | Q(goes_live_at=None) & _in_release()


def coming_changes(after: datetime, *, limit: int) -> list[ComingChange]:
    """The first changes after `after`, soonest first: two statements, and one for each kind that is found."""
    kinds = [rows.kind for rows in timed_rows()]
    recurring = [(kinds.index(ChangeKind.FRONT), *one) for one in _recurring(after, limit)]
    stored = first_rows(_keys, limit, after=after)
    found = sorted([*stored, *recurring], key=lambda row: (row[1], row[0], row[2]))[:limit]
    wanted = defaultdict[type[models.Model], set[int]](set)
    for number, _at, pk in found:
        wanted[_MODELS[kinds[number]]].add(pk)
    loaded = {model: _loaded(model).in_bulk(pks) for model, pks in wanted.items()}
    changes = ((_instant(at), kinds[number], loaded[_MODELS[kinds[number]]].get(pk)) for number, at, pk in found)
    return [ComingChange(at, kind, subject) for at, kind, subject in changes if subject is not None]


def stops(after: datetime, *, limit: int) -> list[Stop]:
    """The first instants after `after` at which the clock changes something: two statements."""
    kinds = [rows.kind for rows in timed_rows()]
    found = defaultdict[int, dict[ChangeKind, int]](dict)
    for number, at, count in first_rows(_numbers, limit, after=after):
        found[at][kinds[number]] = found[at].get(kinds[number], 0) + count
    for at, _version in _recurring(after, limit):
        found[at][ChangeKind.FRONT] = found[at].get(ChangeKind.FRONT, 0) + 1
    return [Stop(_instant(at), found[at]) for at in sorted(found)[:limit]]


def number_at(moment: datetime) -> int:
    """How much the clock changes at this very instant."""
    first = stops(moment - timedelta(microseconds=1), limit=1)
    return sum(first[0].numbers.values()) if first and first[0].at == moment else 0


_MODELS: Mapping[ChangeKind, type[models.Model]] = {
    ChangeKind.LIVE: Article,
    ChangeKind.UNPUBLISH: Article,
    ChangeKind.UPDATE: Update,
    ChangeKind.RELEASE: Release,
    ChangeKind.FRONT: FrontVersion,
    ChangeKind.CARD_SHOWN: Card,
    ChangeKind.CARD_HIDDEN: Card,
    ChangeKind.ALERT_BEGINS: Alert,
    ChangeKind.ALERT_ENDS: Alert,
}


def _loaded(model: type[models.Model]) -> QuerySet[Any]:
    """With what names them, and without long texts."""
    found: dict[type[models.Model], QuerySet[Any]] = {
        Article: Article.objects.select_related("channel").defer("body"),
        Update: Update.objects.select_related("article__channel", "approved").defer("article__body", "approved__body"),
        Release: Release.objects.annotate(number=Count("members")),
        FrontVersion: FrontVersion.objects.select_related("front__channel"),
        Card: Card.objects.select_related("block__version__front__channel", "article").defer("article__body"),
        Alert: Alert.objects.select_related("article__channel").defer("article__body"),
    }
    return found[model]


def _keys(limit: int, after: Instant) -> Iterator[QuerySet[Any]]:
    """For each of `timed_rows`: its number, instants in microseconds, and keys."""
    for number, rows in enumerate(timed_rows()):
        yield rows.after(after).values_list(Value(number), EpochMicroseconds(rows.column), "pk")[:limit]


def _numbers(limit: int, after: Instant) -> Iterator[QuerySet[Any]]:
    """For each of `timed_rows`: its number, instants in microseconds, and how many rows each has."""
    for number, rows in enumerate(timed_rows()):
        grouped = rows.after(after).values(rows.column).annotate(number=Count("pk"))
        yield grouped.values_list(Value(number), EpochMicroseconds(rows.column), "number")[:limit]


def _recurring(after: datetime, limit: int) -> list[tuple[int, int]]:
    """The instants, in microseconds, and versions of the first occurrences of recurring versions of fronts."""
    found = first_occurrences(compiled_once(_series, limit, after=after), after=after, limit=limit)
    return [((one.at - _EPOCH) // timedelta(microseconds=1), one.version) for one in found]


def _series(limit: int, after: Instant) -> QuerySet[Any]:
    return FrontSeries.objects.filter(has_readers()).soonest(after)[:limit]


def _instant(microseconds: int) -> datetime:
    return _EPOCH + timedelta(microseconds=microseconds)


def _in_release() -> Q:
    """Whether a scheduled release gives the article its time."""
    published = ReleaseMember.objects.filter(
        action=ReleaseMember.Action.PUBLISH, release__in=Release.objects.scheduled()
    )
    return Q(Exists(published.filter(article=OuterRef("pk"))))


def _on_a_live_front(column: str) -> Q:
    """Whether the version of a card is the one that readers get then."""
    is_live = is_live_version(OuterRef("block__version"), OuterRef("block__version__front"), OuterRef(column))
    return is_live & has_readers("block__version__")
