"""Breaking alerts: a banner on every page of the site, by the clock."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Self

from django.db import models
from django.db.models import Exists, ExpressionWrapper, F, OuterRef
from django.db.models.functions import Coalesce, Greatest
from django.utils.translation import gettext_lazy as _

from articles.limits import ALERT_LENGTH
from articles.models.article import Article
from articles.text import one_line

DURATION = timedelta(minutes=20)
"""How long a banner is shown unless the newsroom says otherwise: banners without an end are forgotten."""

DURATIONS = tuple(timedelta(minutes=minutes) for minutes in (5, 10, 20, 30, 60, 120, 240))
"""The durations that are offered."""

KEPT_OPEN = timedelta(days=1)
"""How long after its end an alert is still looked at: its article may be rescheduled until then."""


class AlertQuerySet(models.QuerySet["Alert"]):
    """Queries for alerts, which are about articles that readers may not see yet."""

    def timed(self) -> Self:
        """With `begins` and `ends`, as the times of their articles are now; None without such times."""
        with_article = F("article__goes_live_at")
        begins = Greatest(Coalesce("starts_at", with_article), with_article)
        ends = ExpressionWrapper(F("begins") + F("lasts"), output_field=models.DateTimeField())
        return self.annotate(begins=begins).annotate(ends=ends)

    def open(self) -> Self:
        """Those that readers see or may come to see, without those of the past."""
        return self.filter(is_open=True, enabled=True).timed()

    def shown(self, now: Any) -> Self:
        """Those in whose window `now` is and whose article is live then, latest first."""
        is_live = Exists(Article.objects.live(now).filter(pk=OuterRef("article")))
        return self.open().filter(is_live, begins__lte=now, ends__gt=now).order_by("-begins", "-pk")


class Alert(models.Model):
    """A line about an article that goes live with it, or at a later time.

    Readers see it while its window lasts and they see the article, by their own query: no worker is needed, and nothing
    of an article that is not out. The newest hides others.
    """

    article = models.OneToOneField(
        "articles.Article", on_delete=models.CASCADE, related_name="alert", verbose_name=_("article")
    )
    text = models.CharField(_("text"), max_length=ALERT_LENGTH, help_text=_("What readers see, in one line."))
    starts_at = models.DateTimeField(
        _("shown from"), null=True, blank=True, help_text=_("Empty: from the moment at which the article goes live.")
    )
    lasts = models.DurationField(_("shown for"), default=DURATION)
    enabled = models.BooleanField(_("enabled"), default=True, help_text=_("Readers see it when its time comes."))
    is_open = models.BooleanField(default=True, editable=False, help_text=_("False once it is over for a day."))

    objects = AlertQuerySet.as_manager()

    class Meta:
        verbose_name = _("breaking alert")
        verbose_name_plural = _("breaking alerts")
        default_permissions = ()
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
        return None if article is None else max(article, self.starts_at or article)

    @property
    def ends_at(self) -> datetime | None:
        """Until when readers see it."""
        begins = self.begins_at
        return None if begins is None else begins + self.lasts
