"""Reading what readers saw at a past instant: the rows of a request, with the events since then undone.

Events say when something changed for readers, and to which revision, until they are pruned. Fronts need nothing of
this: their versions stay, and the query chooses the one of the instant.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from django.db.models import F, Max, Min, Q, QuerySet, Window
from django.db.models.functions import RowNumber
from django.utils.translation import gettext as _

from articles.audit import APPROVED, Action
from articles.distribution import LEADS_TO, catch_up
from articles.exceptions import TooMany
from articles.models import FEED_EPOCH, Article, AuditEntry, Correction, Event, ProposedChange, Release, Revision
from articles.releases.due import Composition, composed, plan_of_due
from articles.workflow import Transition
from scheduling.database import among

Kind, State, Status = Event.Kind, Event.State, Article.Status

MOST_UNDONE = 1_000
"""Events that are undone: it costs in proportion to them."""

_NEW_TEXTS = (Kind.PUBLISHED, Kind.UPDATED, Kind.CORRECTED)
_OF_RELEASES = (Kind.RELEASE_PUBLISHED, Kind.RELEASE_ROLLED_BACK)
_SHOWN = (*LEADS_TO, *_OF_RELEASES, Kind.FRONT_LIVE)
_TEXT_GOT_LIVE = APPROVED | Q(action__in=(Action.PUBLISHED, Action.UPDATED, Transition.PUBLISH_UPDATE))


@dataclass(frozen=True)
class Past:
    """What is known of an instant: for how many articles, the text that readers saw is not recorded."""

    unknown: int = 0


def recorded_since(now: datetime, moment: datetime) -> datetime:
    """From when on, as far as `moment` is concerned, all events are still there; the latest are entered first."""
    head = catch_up()
    restored = datetime.fromtimestamp(head.sequence // FEED_EPOCH, tz=UTC)  # a restored backup begins an epoch
    # Two statements, each of which reads one row of the index: with a condition in one, all would be read.
    of_backup = Event.objects.filter(numbered_at__lt=restored).aggregate(last=Max("numbered_at"))["last"]
    if of_backup and of_backup <= moment < restored:  # what followed, that backup does not have
        return restored
    first = Event.objects.aggregate(first=Min("numbered_at"))["first"] or now
    return max(first, head.pruned_until or first)


def past_changes_beside(moment: datetime, *, since: datetime) -> tuple[datetime | None, datetime | None]:
    """The last instant between `since` and a past `moment`, and the first after it, at which something changed."""
    shown = Event.objects.filter(kind__in=_SHOWN)
    before = shown.filter(happened_at__gte=since, happened_at__lt=moment).order_by("-happened_at")
    after = _since(shown, moment).order_by("happened_at")
    first, last = (rows.values_list("happened_at", flat=True).first() for rows in (before, after))
    return first, last


@contextmanager
def as_was(moment: datetime) -> Iterator[Past]:
    """Let the statements of this block, whose "now" is the past `moment`, read what readers saw then.

    Raises `TooMany`.
    """
    plan = plan_of_due()
    _undo_releases(plan, moment)
    past = _undo_articles(plan, moment)
    with composed(plan):
        yield past


def _since(events: QuerySet[Event], moment: datetime) -> QuerySet[Event]:
    """Those after `moment`; they got their numbers later, by which an index finds them."""
    return events.filter(Q(numbered_at__gt=moment) | Q(numbered_at=None), happened_at__gt=moment)


def _undo_releases(plan: Composition, moment: datetime) -> None:
    events = _since(Event.objects.filter(kind__in=_OF_RELEASES), moment).order_by("-happened_at", "-pk")
    for pk, kind in dict(events.values_list("object_id", "kind")).items():  # the first counts
        plan.change_release(pk, Release.Status.PUBLISHED if kind == Kind.RELEASE_ROLLED_BACK else Release.Status.DRAFT)


def _undo_articles(plan: Composition, moment: datetime) -> Past:
    first = _first_since(moment)
    articles = Article.objects.defer("body").in_bulk(first)
    before, changed, published = _last_until(moment, articles)
    states = _states({pk: first[pk] for pk in articles}, before, moment)
    live = [pk for pk, state in states.items() if state == State.LIVE]
    texts, corrections = _texts(live, before, moment), Correction.objects.filter(article__in=articles)
    articles |= Article.objects.in_bulk(texts)  # with their bodies, which are compared
    plan.hide_corrections(corrections.filter(published_at__gt=moment).values_list("pk", flat=True))
    noted = {*corrections.filter(published_at__lte=moment).values_list("revision", flat=True)}
    retracted = {pk for pk, state in states.items() if state == State.RETRACTED}
    shown = _retraction_texts(retracted, moment)
    plan.show_retractions(shown)
    for pk, article in articles.items():
        if states[pk] != State.LIVE:
            plan.hide_article(article, Status.RETRACTED if pk in retracted else Status.UNPUBLISHED)
            continue
        text = texts.get(pk)
        since = _shown_since(article, published.get(pk) or before.get(pk), moment)
        plan.show_article(article, text, since=since, changed=changed.get(pk))
        if text is not None and text.correction and text.pk not in noted:  # it was rolled back since
            plan.add_correction(text)
    return Past(unknown=len(live) - len(texts) + len(retracted - shown.keys()))


def _retraction_texts(retracted: Collection[int], moment: datetime) -> dict[int, str]:
    """What readers saw of these retracted articles and others approved since; "" for the standard text.

    Under the two-person rule an entry has none, but the next approval.
    """
    approved_since = Article.objects.retracted().filter(updated_at__gt=moment).values_list("pk", flat=True)
    entries = AuditEntry.objects.filter(
        article_id__in=among({*retracted, *approved_since}), action=Transition.RETRACT, at__lte=moment
    )
    last = {one.article_id or 0: (one.at, one.details.get("notice")) for one in entries.order_by("pk")}
    proposed = {pk: at for pk, (at, notice) in last.items() if notice is None}
    shown = {pk: notice or "" for pk, (_at, notice) in last.items()}
    if proposed:
        approvals = AuditEntry.objects.filter(
            action=Action.APPROVE_CHANGE, at__gt=min(proposed.values()), at__lte=moment
        )
        for at, details in approvals.order_by("pk").values_list("at", "details"):
            pk = int(details["subject"]) if details["about"] == ProposedChange.Subject.ARTICLE else 0
            if pk in proposed and at > proposed[pk]:
                shown[pk] = details["values"].get("retraction_notice", shown[pk])
    return shown


def _first_since(moment: datetime) -> dict[int, Event]:
    """The first event after `moment` of each article that changed for readers since. Raises `TooMany`."""
    events = list(_since(Event.objects.filter(kind__in=LEADS_TO), moment)[: MOST_UNDONE + 1])
    if len(events) > MOST_UNDONE:
        raise TooMany(_("Too much has changed since then to show it: choose a later time."))
    return {one.object_id: one for one in sorted(events, key=_order, reverse=True)}


def _last_until(
    moment: datetime, ids: Collection[int]
) -> tuple[dict[int, Event], dict[int, datetime], dict[int, Event]]:
    """The last event until `moment` of each article, when readers had last got another text, and its publication."""
    until = Event.objects.filter(object_id__in=among(ids), kind__in=LEADS_TO, happened_at__lte=moment).defer("payload")
    # Of each kind the last one: an article that is updated all day has thousands.
    order = [F("happened_at").desc(), F("pk").desc()]
    place = Window(RowNumber(), partition_by=[F("object_id"), F("kind")], order_by=order)
    ordered = sorted(until.annotate(place=place).filter(place=1), key=_order)
    changed = {one.object_id: one.happened_at for one in ordered if one.kind in _NEW_TEXTS}
    published = {one.object_id: one for one in ordered if one.kind == Kind.PUBLISHED}
    return {one.object_id: one for one in ordered}, changed, published


def _order(event: Event) -> tuple[datetime, int]:
    return event.happened_at, event.pk


def _states(first: Mapping[int, Event], before: Mapping[int, Event], moment: datetime) -> dict[int, Event.State | None]:
    """What readers saw of each article at `moment`, of which the events before it may be deleted by now."""
    retracted = [pk for pk, one in first.items() if pk not in before and one.kind == Kind.RETRACTED]
    entries = AuditEntry.objects.filter(article_id__in=among(retracted), action=Transition.RETRACT, at__gt=moment)
    was = dict(entries.order_by("-pk").values_list("article_id", "old_status"))  # the earliest counts

    def state(pk: int) -> Event.State | None:
        if pk in before:
            return LEADS_TO[before[pk].kind]
        if first[pk].kind == Kind.RETRACTED:  # it may have been unpublished before
            return State.LIVE if was.get(pk) == Status.PUBLISHED else State.UNPUBLISHED
        return None if first[pk].kind in (Kind.PUBLISHED, Kind.REPUBLISHED) else State.LIVE

    return {pk: state(pk) for pk in first}


def _texts(live: Sequence[int], before: Mapping[int, Event], moment: datetime) -> dict[int, Revision]:
    """The revision of each article that readers saw at `moment`, where that is recorded."""
    numbers = {pk: before[pk].revision for pk in live if pk in before and before[pk].revision}
    entries = AuditEntry.objects.filter(
        _TEXT_GOT_LIVE, article_id__in=among([pk for pk in live if pk not in numbers]), at__lte=moment
    )
    for pk, number, details in entries.order_by("pk").values_list("article_id", "revision", "details"):
        if number and pk and "update" not in details:  # the approval of an update is not its publication
            numbers[pk] = number
    # Not by both columns at once: texts are long, and most articles have a revision of each number.
    named = Revision.objects.filter(article__in=among(numbers), number__in={*numbers.values()})
    ids = [pk for pk, *which in named.values_list("pk", "article", "number") if which[1] == numbers[which[0]]]
    return {one.article_id: one for one in Revision.objects.filter(pk__in=among(ids))}


def _shown_since(article: Article, published: Event | None, moment: datetime) -> datetime:
    """The date that readers saw above the article; its row has none any more after the roll-back of its release."""
    known = (article.goes_live_at, article.published_at, published.happened_at if published else None)
    return next((at for at in known if at is not None and at <= moment), moment)
