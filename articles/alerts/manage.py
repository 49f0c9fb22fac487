"""Setting breaking alerts, whose text is read on every page of the site."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from articles.audit import Action, Actor, record_annotation
from articles.cache import SITE, purge_tags
from articles.exceptions import AlertChanged, AlertTaken, ArticleGone, NotAllowed
from articles.models import Alert, Article, ProposedChange, minutes_of
from articles.permissions import DELETE, IN_QUIET_HOURS, PUBLISH, allows, require
from articles.review import applies, discard_changes, needs_second_person, propose, refuse_sensitive, set_values, waits
from scheduling.database import lock_by_ids, read_database_clock, retried

SHOWN = ("article_id", "text", "starts_at", "lasts", "push", "in_quiet_hours")
"""The fields that decide what readers see of an alert, and when."""


@retried
def save_alert(article_id: int, values: Mapping[str, Any], *, by: Actor, pk: int | None = None) -> Alert:
    """Change these values of the alert `pk` of an article, or store a new one.

    Under the two-person rule a new alert, or one of which readers would see something else, is off until another person
    has approved it. Who may publish turns one off alone, whatever its text: that must not wait.

    Raises `NotAllowed`, `ArticleGone`, `AlertTaken` if the article has one already, `AlertChanged` if it no longer has
    this one, `NotEditable` and `SensitiveText`.
    """
    require(PUBLISH, by)
    alert = _locked(article_id, pk)
    is_new = alert.pk is None
    was_meant = not is_new and (alert.enabled or waits(alert))
    if values.get("in_quiet_hours") and not alert.in_quiet_hours:
        require(IN_QUIET_HOURS, by)
    is_meant = bool(values.get("enabled", is_new or was_meant))
    given = {name: values[name] for name in SHOWN if name in values}
    changed = {name: value for name, value in given.items() if is_new or value != getattr(alert, name)}
    if changed and alert.in_quiet_hours and not allows(IN_QUIET_HOURS, by):
        changed["in_quiet_hours"] = False  # it was allowed for what the alert said then
    if not is_new and not changed and is_meant == was_meant:
        return alert
    set_values(alert, {"text": "", **changed} if is_new else changed)
    if is_meant:
        refuse_sensitive(alert.text)
    needs_approval = is_meant and needs_second_person() and (bool(changed) or not alert.enabled)
    now = read_database_clock()
    if needs_approval or not is_meant:
        alert.enabled = False
    elif not alert.enabled:
        _show(alert, now)
    elif "push" in changed:
        _wait_for_article(alert, now)
    _store(alert, now, by=by)
    if needs_approval:
        propose(alert, {"enabled": True}, name=alert.text, by=by)
    else:
        discard_changes(alert)
    return alert


def _locked(article_id: int, pk: int | None) -> Alert:
    """The alert `pk` of an article, locked, or a new one, which is off."""
    article = lock_by_ids(Article, [article_id]).first()  # as everywhere: the article, its alert, the proposed change
    if article is None:
        raise ArticleGone
    alert = Alert.objects.select_for_update().filter(article=article_id).first()
    if (alert and alert.pk) != pk:
        raise AlertTaken if pk is None else AlertChanged
    alert = alert or Alert(enabled=False)
    alert.article = article
    return alert


def may_delete_alert(by: Actor) -> bool:
    """Whether `by` may delete alerts: with an article its alert is deleted, too."""
    return allows(PUBLISH, by) or allows(DELETE, by)


@retried
def delete_alert(alert: Alert, *, by: Actor) -> None:
    """Delete an alert: readers no longer see it. Raises `NotAllowed`, and `ArticleGone`."""
    if not may_delete_alert(by):
        raise NotAllowed
    article = lock_by_ids(Article, [alert.article_id]).first()
    if article is None:
        raise ArticleGone
    record_annotation(Action.DELETE_ALERT, article, by=by, alert=alert.text)
    alert.delete()


@applies(ProposedChange.Subject.ALERT, Alert, shown=SHOWN)
def _apply(alert: Alert, values: Mapping[str, Any], by: Actor) -> None:
    """Put an approved alert on. The list of sensitive words may have changed since it was proposed."""
    was_on = alert.enabled
    set_values(alert, values)
    refuse_sensitive(alert.text)
    now = read_database_clock()
    if alert.enabled and not was_on:
        _show(alert, now)
    _store(alert, now, by=by)


def _show(alert: Alert, now: datetime) -> None:
    """Put an alert on. If its time has passed and its article is live, it begins now: else no reader would see it."""
    alert.enabled = True
    _wait_for_article(alert, now)
    is_over = alert.ends_at is not None and alert.ends_at <= now
    if is_over and Article.objects.live(now).filter(pk=alert.article_id).exists():
        alert.starts_at = now


def _wait_for_article(alert: Alert, now: datetime) -> None:
    """Only a publication from now on lets it be pushed: nothing is sent because an alert was saved."""
    is_pushed = alert.pk is not None and alert.pushes.exists()
    alert.push_since = now if alert.push and not is_pushed else None


def _store(alert: Alert, now: datetime, *, by: Actor) -> None:
    """Store a locked alert, on whatever pages readers see it."""
    if not (alert.enabled and alert.push):
        alert.push_since = None
    alert.save()
    Alert.objects.filter(pk=alert.pk).sync_open(now)
    record_annotation(Action.SET_ALERT, alert.article, by=by, alert=alert.text, **_times(alert))
    purge_tags(SITE)


def _times(alert: Alert) -> dict[str, Any]:
    return {"alert_from": alert.starts_at and alert.starts_at.isoformat(), "alert_minutes": minutes_of(alert.lasts)}


@retried
def sync_open_alerts() -> int:
    """Open the alerts that readers may come to see, and close the others, so that their queries find few."""
    return Alert.objects.sync_open(read_database_clock())
