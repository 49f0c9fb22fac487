"""Versions of fronts and breaking alerts whose time came between a backup and its restore: held like articles.

A recurring version that readers had goes on by its rule. One whose first time has passed begins with its next one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.apps.registry import Apps
from django.db.models import Min

from articles import fronts
from articles.audit import Action, record_annotation, record_beside
from articles.models import WEEK, Alert, FrontVersion
from scheduling.database import among, read_database_clock

FRONT, ALERT = "front", "alert"


@dataclass(frozen=True)
class _Kind:
    """A table with a time, which rows have one, and what takes it away."""

    model: str
    column: str
    timed: Mapping[str, Any]
    held: Mapping[str, Any]


_Status = FrontVersion.Status
_KINDS = {
    FRONT: _Kind(
        "FrontVersion", "live_from", {"status": _Status.SCHEDULED}, {"status": _Status.DRAFT, "live_from": None}
    ),
    ALERT: _Kind("Alert", "starts_at", {"enabled": True}, {"enabled": False}),
}


def hold(apps: Apps, taken: datetime, now: datetime) -> dict[str, dict[int, datetime]]:
    """Take away the times between the backup and now; by kind, the old ones. Earlier versions have no such tables."""
    models = {model.__name__: model for model in apps.get_app_config("articles").get_models()}
    found: dict[str, dict[int, datetime]] = {}
    for name, kind in _KINDS.items():
        if kind.model in models:
            span = {f"{kind.column}__gt": taken, f"{kind.column}__lte": now}
            rows = models[kind.model]._default_manager.all()
            if name == FRONT and "FrontSeries" in models:
                rows = rows.filter(repeats__isnull=True)  # recurring ones go on by their rules
            found[name] = dict(rows.filter(**kind.timed, **span).values_list("pk", kind.column))
            rows.filter(pk__in=among(found[name])).update(**kind.held)
    return found


def begin_later(apps: Apps, taken: datetime, now: datetime) -> dict[int, tuple[datetime, datetime]]:
    """Take the times that have passed from recurring versions that readers did not have; the old first and the next.

    One without a time that is to come does not recur any more: it is to be held.
    """
    models = {model.__name__: model for model in apps.get_app_config("articles").get_models()}
    if "FrontSeries" not in models:
        return {}
    found: dict[int, tuple[datetime, datetime]] = {}
    due: Any = models["FrontVersion"]._default_manager.filter(live_from__gt=taken, live_from__lte=now)
    for version in due.filter(**_KINDS[FRONT].timed, repeats__isnull=False).order_by("live_from"):
        for row in version.series.filter(first__lte=now):
            row.first += ((now - row.first) // WEEK + 1) * WEEK
            if row.first > row.last:
                row.delete()
            else:
                row.save()
        following = version.series.aggregate(first=Min("first"))["first"]
        if following is None:
            version.repeats = None
        else:
            found[version.pk] = version.live_from, following
            version.live_from = following
        version.save(update_fields=["live_from", "repeats"])
    return found


def record_later(later: Mapping[int, tuple[datetime, datetime]]) -> None:
    """Write the audit entries of what begins later."""
    for version in FrontVersion.objects.filter(pk__in=later).select_related("front__channel"):
        live_from = later[version.pk][1].isoformat()
        record_beside(Action.SCHEDULE_FRONT, title=str(version), front_version=version.pk, live_from=live_from)


def record_held(held: Mapping[str, Mapping[int, datetime]]) -> None:
    """Write the audit entries of what is held."""
    for version in FrontVersion.objects.filter(pk__in=held.get(FRONT, {})).select_related("front__channel"):
        was = held[FRONT][version.pk].isoformat()
        record_beside(Action.UNSCHEDULE_FRONT, title=str(version), front_version=version.pk, live_from=was)
    for alert in Alert.objects.filter(pk__in=held.get(ALERT, {})).select_related("article"):
        record_annotation(Action.SET_ALERT, alert.article, by=None, alert=alert.text)


def set_time(kind: str, pk: int, moment: datetime) -> None:
    """Let readers get it from this instant on."""
    if kind == FRONT:
        version = FrontVersion.objects.select_related("front__channel").get(pk=pk)
        version.status, version.live_from = _Status.SCHEDULED, moment
        version.save(update_fields=["status", "live_from", "updated_at"])
        record_beside(Action.SCHEDULE_FRONT, title=str(version), front_version=pk, live_from=moment.isoformat())
    else:
        Alert.objects.filter(pk=pk).update(enabled=True, starts_at=moment)
        Alert.objects.filter(pk=pk).sync_open(read_database_clock())
        alert = Alert.objects.select_related("article").get(pk=pk)
        record_annotation(Action.SET_ALERT, alert.article, by=None, alert=alert.text)


def is_taken(kind: str, pk: int, moment: datetime) -> bool:
    """Whether another version of the front has this instant."""
    return kind == FRONT and fronts.taken_by(FrontVersion.objects.get(pk=pk), moment) is not None
