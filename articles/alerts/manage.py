"""Setting breaking alerts, whose text is read on every page of the site."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any

from django.db.models import Q

from articles.audit import Action, Actor, record_annotation
from articles.cache import SITE, purge_tags
from articles.exceptions import AlertTaken
from articles.models import KEPT_OPEN, Alert, Article, ProposedChange
from articles.permissions import PUBLISH, require
from articles.review import applies, discard_changes, needs_second_person, propose, refuse_sensitive, set_values
from scheduling.database import among, lock_by_ids, read_database_clock, retried

READ = ("text", "starts_at", "lasts", "enabled")
"""The fields that decide what readers see, and when."""


@retried
def save_alert(alert: Alert, *, by: Actor) -> None:
    """Store a new or changed alert. Raises `NotAllowed`, `SensitiveText`, and `AlertTaken` if the article has one.

    Under the two-person rule another person approves its text, and that readers see a new one; it is disabled until
    then. Those who may publish hide or shorten one alone: that must not wait.
    """
    require(PUBLISH, by)
    refuse_sensitive(alert.text)
    lock_by_ids(Article, [alert.article_id]).get()  # first, as everywhere: the article, its alert, the proposed change
    stored = Alert.objects.select_for_update().filter(article=alert.article_id).first()
    if (stored and stored.pk) != alert.pk:
        raise AlertTaken
    values = _proposed(alert, stored) if needs_second_person() else {}
    shown = copy(alert)
    for name in values:
        setattr(shown, name, getattr(stored, name) if stored else False)
    _store(shown, by=by)
    alert.pk = shown.pk
    if values:
        propose(shown, values, name=alert.text, by=by)


def _proposed(alert: Alert, stored: Alert | None) -> dict[str, Any]:
    """What needs another person: a new text, and that readers see an alert."""
    if stored is None:
        return {"enabled": True} if alert.enabled else {}
    values = {name: getattr(alert, name) for name in ("text", "enabled")}
    return {name: value for name, value in values.items() if value and value != getattr(stored, name)}


@retried
def delete_alert(alert: Alert, *, by: Actor) -> None:
    """Delete an alert: readers no longer see it. Raises `NotAllowed`."""
    require(PUBLISH, by)
    lock_by_ids(Article, [alert.article_id]).get()
    discard_changes(alert)
    record_annotation(Action.DELETE_ALERT, alert.article, by=by, alert=alert.text)
    alert.delete()
    purge_tags(SITE)


@applies(ProposedChange.Subject.ALERT, Alert, shown=("text",))
def _apply(alert: Alert, values: Mapping[str, Any], by: Actor) -> None:
    set_values(alert, values)
    _store(alert, by=by)


def _store(alert: Alert, *, by: Actor) -> None:
    """Store an alert of a locked article, on whatever pages readers see it."""
    alert.is_open = True
    alert.save()
    record_annotation(Action.SET_ALERT, alert.article, by=by, alert=alert.text, **_times(alert))
    purge_tags(SITE)


def _times(alert: Alert) -> dict[str, Any]:
    return {
        "alert_from": alert.starts_at and alert.starts_at.isoformat(),
        "alert_minutes": int(alert.lasts.total_seconds() // 60),
    }


@retried
def close_past_alerts() -> int:
    """Close the alerts that were over a day ago, so that readers' queries find the few others; their number."""
    over = Q(ends__lte=read_database_clock() - KEPT_OPEN)
    past = list(Alert.objects.timed().filter(over, is_open=True).values_list("pk", flat=True)[:1000])
    return Alert.objects.filter(pk__in=among(past)).update(is_open=False) if past else 0
