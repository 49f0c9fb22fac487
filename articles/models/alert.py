"""Breaking alerts: a banner on every page of the site, by the clock."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Self

from django.db import models
from django.db.models import Case, Exists, ExpressionWrapper, F, OuterRef, Q, Value, When
from django.db.models.functions import Cast, Coalesce, Greatest, Least
from django.utils.translation import gettext_lazy as _

from articles.limits import ALERT_LENGTH
from articles.models.article import Article, Instant
from articles.models.proposed_change import ProposedChange
from articles.text import one_line
from scheduling.database import LATEST, among

DURATION = timedelta(minutes=20)
"""How long a banner is shown unless the newsroom says otherwise: banners without an end are forgotten."""

MINUTES = (5, 10, 20, 30, 60, 120, 240)
"""The durations that are offered."""

KEPT_OPEN = timedelta(days=7)
"""How long after its end an alert is still looked at: its article may be rescheduled until then."""

_MOST = 1000  # alerts that are opened or closed at once


def minutes_of(duration: timedelta) -> int:
    """The duration in minutes."""
    return int(duration.total_seconds() // 60)


class AlertQuerySet(models.QuerySet["Alert"]):
    """Queries for alerts, which are about articles that readers may not see yet."""

    def timed(self) -> Self:
        """With `begins` and `ends`, as the times of their articles are now; None without such times.

        One of the last day of all begins with that day: for its end there would be no time, and no page without it.
        """
        with_article = F("article__goes_live_at")
        begins = Least(Greatest(Coalesce("starts_at", with_article), with_article), Value(LATEST))
        ends = ExpressionWrapper(F("begins") + F("lasts"), output_field=models.DateTimeField())
        return self.annotate(begins=begins).annotate(ends=ends)

    def state_at(self, now: Instant) -> Self:
        """With `state`: what readers see of them at `now`, a datetime or `database_now()`."""
        State = Alert.State  # noqa: N806 (a class)
        proposed = ProposedChange.objects.filter(
            subject=ProposedChange.Subject.ALERT, subject_id=Cast(OuterRef("pk"), models.CharField(max_length=36))
        )
        state = Case(
            When(Q(enabled=False) & Exists(proposed), then=Value(State.WAITS_FOR_APPROVAL)),
            When(enabled=False, then=Value(State.OFF)),
            When(ends__lte=now, then=Value(State.OVER)),
            When(_is_live(now) & Q(begins__lte=now), then=Value(State.LIVE)),
            When(begins__gt=now, then=Value(State.SCHEDULED)),
            default=Value(State.WAITS_FOR_ARTICLE),
            output_field=models.CharField(),
        )
        return self.timed().annotate(state=state)

    def open(self) -> Self:
        """Those that readers see or may come to see, without those of the past."""
        # "IN": SQLite takes no index for a column that is a condition by itself, as Django writes it.
        return self.filter(is_open__in=[True], enabled=True).timed()

    def shown(self, now: Instant) -> Self:
        """Those in whose window `now` is and whose article is live then, latest first."""
        return self.open().filter(_is_live(now), begins__lte=now, ends__gt=now).order_by("-begins", "-pk")

    def sync_open(self, now: datetime) -> int:
        """Open those that readers may come to see, and close the others; how many were changed.

        Readers' queries look at the open ones only: not at those of articles that are not approved, or of the past.
        """
        wanted = Q(article__status__in=Article.Status.visible()) & (Q(ends=None) | Q(ends__gt=now - KEPT_OPEN))
        rows = self.timed().annotate(wanted=Case(When(wanted, then=True), default=False)).exclude(is_open=F("wanted"))
        wrong = list(rows.order_by().values_list("pk", "wanted")[:_MOST])
        for is_open in {is_open for _pk, is_open in wrong}:
            ids = [pk for pk, is_wanted in wrong if is_wanted == is_open]
            Alert.objects.filter(pk__in=among(ids)).update(is_open=is_open)
        return len(wrong)


def _is_live(now: Instant) -> Exists:
    return Exists(Article.objects.live(now).filter(pk=OuterRef("article")))


class Alert(models.Model):
    """A line about an article that goes live with it, or at a later time.

    Readers see it while its window lasts and they see the article, by their own query: no worker is needed, and nothing
    of an article that is not out. The newest hides others.
    """

    class State(models.TextChoices):
        """What readers see of it at an instant."""

        LIVE = "live", _("Live")
        SCHEDULED = "scheduled", _("Scheduled")
        WAITS_FOR_ARTICLE = "waits_for_article", _("Waits for its article")
        WAITS_FOR_APPROVAL = "waits_for_approval", _("Waits for approval")
        OFF = "off", _("Off")
        OVER = "over", _("Over")

    article = models.OneToOneField(
        "articles.Article", on_delete=models.CASCADE, related_name="alert", verbose_name=_("article")
    )
    text = models.CharField(_("text"), max_length=ALERT_LENGTH, help_text=_("What readers see, in one line."))
    starts_at = models.DateTimeField(
        _("shown from"), null=True, blank=True, help_text=_("Empty: from the moment at which the article goes live.")
    )
    lasts = models.DurationField(_("shown for"), default=DURATION)
    enabled = models.BooleanField(_("enabled"), default=True, help_text=_("Readers see it when its time comes."))
    push = models.BooleanField(
        _("push"), default=False, help_text=_("Also sent to readers who want it, once the article is published.")
    )
    in_quiet_hours = models.BooleanField(_("push in quiet hours"), default=False)
    push_since = models.DateTimeField(null=True, editable=False, db_index=True)  # waits for its article since then
    is_open = models.BooleanField(default=True, editable=False, help_text=_("Whether readers may come to see it."))

    objects = AlertQuerySet.as_manager()

    class Meta:
        verbose_name = _("breaking alert")
        verbose_name_plural = _("breaking alerts")
        default_permissions = ()
        permissions = [("push_in_quiet_hours", _("Can push breaking alerts in quiet hours"))]
        ordering = ["-pk"]
        indexes = [models.Index(fields=["is_open"], name="alert_open")]

    def __str__(self) -> str:
        return str(self.text)

    def clean_fields(self, exclude: Any = None) -> None:
        """The text is one line, with something to see."""
        self.text = one_line(self.text)
        super().clean_fields(exclude=exclude)

    @property
    def begins_at(self) -> datetime | None:
        """From when readers see it; None while its article has no time."""
        article = self.article.goes_live_at
        return None if article is None else min(max(article, self.starts_at or article), LATEST)

    @property
    def ends_at(self) -> datetime | None:
        """Until when readers see it."""
        begins = self.begins_at
        return None if begins is None else begins + self.lasts
