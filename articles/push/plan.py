"""What is pushed and when: once an article with such an alert is published, or when a person says so."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Exists, OuterRef
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from articles.audit import Action, Actor, record_annotation
from articles.cache import as_readers_see
from articles.exceptions import ArticleError, ArticleGone, ChangeAltered, NotAllowed
from articles.models import Alert, Article, Event, Push, PushSubscription
from articles.permissions import IN_QUIET_HOURS, PUBLISH, allows, require
from articles.push.subscriptions import reach
from scheduling.database import lock_by_ids, read_database_clock, retried

State, Reason = Push.State, Push.Reason


class PushRefused(ArticleError):
    """This alert cannot be pushed now."""

    code = "push_refused"
    message = _("An alert can be pushed only while readers see it.")


def is_quiet(now: datetime) -> bool:
    """Whether it is in quiet hours, in the site's time zone."""
    if settings.PUSH_QUIET_HOURS is None:
        return False
    begin, end = settings.PUSH_QUIET_HOURS
    local = now.astimezone(timezone.get_default_timezone()).time()
    return begin <= local < end if begin <= end else local >= begin or local < end


def plan() -> None:
    """Begin the pushes of alerts whose article was published since they were set, or cancel them."""
    armed = Alert.objects.filter(push_since__isnull=False, enabled=True)
    published = Event.objects.filter(
        kind=Event.Kind.PUBLISHED, object_id=OuterRef("article"), happened_at__gte=OuterRef("push_since")
    )
    for pk, article_id in armed.filter(Exists(published)).values_list("pk", "article"):
        _begin(pk, article_id)


@retried
def _begin(pk: int, article_id: int) -> None:
    article = lock_by_ids(Article, [article_id]).first()
    alert = Alert.objects.select_for_update().filter(pk=pk, push_since__isnull=False, enabled=True).first()
    if article is None or alert is None:
        return
    now = read_database_clock()
    reason = why_not(alert, now)
    if not reason and alert.begins_at is not None and alert.begins_at > now:
        return
    if not reason and is_quiet(now) and not alert.in_quiet_hours:
        reason = Reason.QUIET
    assert alert.push_since is not None  # noqa: S101 (the query says so)
    _create(alert, f"{alert.pk} {alert.push_since.isoformat()}", now, reason=reason)
    Alert.objects.filter(pk=alert.pk).update(push_since=None)


def why_not(alert: Alert, now: datetime) -> str:
    """Why nothing of an alert may be sent now; "" if it may, or its own time has not come."""
    if not alert.enabled:
        return Reason.OFF
    with as_readers_see():
        is_live = Article.objects.live(now).filter(pk=alert.article_id).exists()
    if not is_live:
        return Reason.NOT_LIVE
    return Reason.OVER if alert.ends_at is None or alert.ends_at <= now else ""


def _create(alert: Alert, key: str, now: datetime, *, reason: str = "", by: Actor | None = None) -> Push:
    last = PushSubscription.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    state = State.CANCELLED if reason else State.SENDING
    values = {
        "alert": alert,
        "article_id": alert.article_id,
        "text": alert.text,
        "by": by,
        "state": state,
        "reason": reason,
        "last_subscription": last,
        "created_at": now,
        "due_at": now,
        "ended_at": now if reason else None,
    }
    push, _is_new = Push.objects.get_or_create(key=key, defaults=values)
    return push


REPEATED_WITHIN = timedelta(minutes=1)


@retried
def push_now(alert: Alert, *, after: int | None = None, text: str | None = None, by: Actor) -> Push:
    """Push an alert that readers see, if its last push is `after`: for live articles, and after a correction.

    `text` is the one that `by` has seen.

    Else the response is that last push: a second click, or one on a page from before it, wakes no reader twice. Who
    does not name the last push gets it instead of a new one for a minute.

    Raises `NotAllowed`, `ArticleGone`, `PushRefused`, and `ChangeAltered` if it has another text.
    """
    require(PUBLISH, by)
    article = lock_by_ids(Article, [alert.article_id]).first()
    if article is None:
        raise ArticleGone
    current = Alert.objects.select_for_update().filter(pk=alert.pk).first()
    now = read_database_clock()
    if not settings.PUSH_KEY or current is None or not Alert.objects.shown(now).filter(pk=current.pk).exists():
        raise PushRefused
    if is_quiet(now) and not allows(IN_QUIET_HOURS, by):
        raise NotAllowed(_("In quiet hours only the editor-in-chief may push."))
    last = current.pushes.first()
    if last is not None and last.state != State.CANCELLED:
        # Who knows an earlier one, or none, does not know that it has been pushed since, perhaps by a worker.
        is_repeated = now - REPEATED_WITHIN < last.created_at <= now if after is None else last.pk != after
        if is_repeated:
            return last
    if text not in (None, current.text):
        raise ChangeAltered
    push = _create(current, f"{current.pk} after {last.pk if last else 0}", now, by=by)
    Alert.objects.filter(pk=current.pk).update(push_since=None)  # it would be the same push again
    record_annotation(Action.PUSH_ALERT, article, by=by, alert=current.text)
    return push


@dataclass(frozen=True)
class PushPlan:
    """What the newsroom sees of pushing an alert."""

    reach: int
    is_quiet: bool
    last: Push | None
    is_corrected: bool  #: since the last push


def plan_of(alert: Alert | None, article: Article) -> PushPlan | None:
    """How many would hear of it and what has become of it; None while push is off."""
    if not settings.PUSH_KEY:
        return None
    now = read_database_clock()
    last = alert.pushes.first() if alert is not None else None
    corrections = Event.objects.filter(kind=Event.Kind.CORRECTED, object_id=article.pk)
    is_corrected = last is not None and corrections.filter(happened_at__gt=last.created_at).exists()
    begins = alert.begins_at if alert is not None else article.goes_live_at
    return PushPlan(reach(article.channel_id), is_quiet(max(now, begins or now)), last, is_corrected)
