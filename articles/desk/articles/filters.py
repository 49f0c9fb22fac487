"""Filters of the article list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, datetime, time, timedelta
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy

from articles.desk.calendar.period import EARLIEST, LATEST
from articles.desk.parse import number_or_zero
from articles.models import (
    Article,
    Channel,
    State,
    Update,
    in_states,
    named_apart,
    not_over_at,
    overdue_at,
    scheduled_with_release,
)
from articles.text import zone_label
from scheduling.database import in_any, read_database_clock

Status = Article.Status
Choices = list[tuple[str, Any]]

SHOWABLE = [MinValueValidator(EARLIEST), MaxValueValidator(LATEST)]
"""Dates that are valid in every time zone."""


class ChoiceFilter(admin.SimpleListFilter):
    """A filter with a plain select."""

    template = "articles/desk/filter_choice.html"

    def choices(self, changelist: Any) -> Iterator[Any]:
        """Choices for the template, "all" first."""
        yield {"value": "", "display": _("All"), "selected": self.value() is None}
        for value, text in self.lookup_choices:
            yield {"value": value, "display": text, "selected": self.value() == str(value)}


class StageFilter(ChoiceFilter):
    """Status as editors see it: approved articles are split into scheduled and unscheduled."""

    title = gettext_lazy("status")
    parameter_name = "stage"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        """In workflow order."""
        return [
            ("draft", Status.DRAFT.label),
            ("submitted", Status.SUBMITTED.label),
            ("rejected", Status.REJECTED.label),
            ("review", Status.MANUAL_REVIEW.label),
            ("ready", _("Approved, not scheduled")),
            ("scheduled", _("Scheduled")),
            ("published", Status.PUBLISHED.label),
            ("newer", _("With a pending update")),
            ("unpublished", Status.UNPUBLISHED.label),
            ("retracted", Status.RETRACTED.label),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Articles in the chosen stage, by the clock."""
        if self.value() == "review":
            return queryset.needing_review()  # type: ignore[attr-defined,no-any-return]
        if self.value() == "newer":
            return queryset.filter(pk__in=in_any(Update.objects.values("article")))
        if self.value() == "scheduled":  # by ids: SQLite cannot parse the nested conditions of a search in them
            now = read_database_clock()
            timed = Q(status__in=Status.visible(), goes_live_at__gt=now) & not_over_at(now)
            return queryset.filter(timed | Q(pk__in=scheduled_with_release(now)))
        if state := _STATES.get(self.value() or ""):
            return queryset.filter(in_states([state], read_database_clock()))
        status = _UNAPPROVED.get(self.value() or "")
        return queryset if status is None else queryset.filter(status=status)


_UNAPPROVED: Mapping[str, Status] = {
    "draft": Status.DRAFT,
    "submitted": Status.SUBMITTED,
    "rejected": Status.REJECTED,
}
_STATES: Mapping[str, State] = {
    "ready": State.APPROVED,
    "published": State.LIVE,
    "unpublished": State.UNPUBLISHED,
    "retracted": State.RETRACTED,
}


class ConcernFilter(ChoiceFilter):
    """Articles that need attention."""

    title = gettext_lazy("attention")
    parameter_name = "concern"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        """At risk and overdue."""
        return [
            ("at_risk", _("At risk: due within 24 h, not approved")),
            ("overdue", _("Overdue: due and not published")),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """By the database clock."""
        if self.value() == "at_risk":
            return at_risk(queryset, read_database_clock())
        if self.value() == "overdue":
            return overdue(queryset, read_database_clock())
        return queryset


def at_risk(articles: QuerySet[Any], now: datetime) -> QuerySet[Any]:
    """Articles at risk, or with an update at risk; updates are queried first so that both indexes are used."""
    pending_update = list(Update.objects.at_risk(now).values_list("article", flat=True))
    own: QuerySet[Any] = articles.at_risk(now)  # type: ignore[attr-defined]
    return own | articles.filter(pk__in=pending_update)


def overdue(articles: QuerySet[Any], now: datetime) -> QuerySet[Any]:
    """Articles of which readers miss something."""
    return articles.filter(overdue_at(now))


class WhoseFilter(ChoiceFilter):
    """The articles that the user writes or has to finish."""

    title = gettext_lazy("ownership")
    parameter_name = "whose"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        return [("mine", _("Mine")), ("assigned", _("Assigned to me"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() == "assigned":
            return queryset.filter(owner=request.user.pk)
        return queryset.of_user(request.user.pk) if self.value() == "mine" else queryset  # type: ignore[attr-defined]


class ChannelFilter(ChoiceFilter):
    """Articles of one channel."""

    title = gettext_lazy("channel")
    parameter_name = "channel"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        """In site order."""
        return [(str(pk), name) for pk, name in Channel.objects.values_list("pk", "name")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return _narrowed(queryset, "channel", self.value())


class AuthorFilter(ChoiceFilter):
    """Articles of one author."""

    title = gettext_lazy("author")
    parameter_name = "author"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        """Authors with articles, by name."""
        writes = Exists(Article.objects.filter(author=OuterRef("pk")))
        users = named_apart(get_user_model().objects.filter(writes))
        return sorted(((str(pk), name) for pk, name in users.items()), key=lambda choice: choice[1].lower())

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return _narrowed(queryset, "author", self.value())


class DaysForm(forms.Form):
    """A date range; either end may be empty."""

    days_from = forms.DateField(label=gettext_lazy("From"), required=False, validators=SHOWABLE)
    days_to = forms.DateField(label=gettext_lazy("To"), required=False, validators=SHOWABLE)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for name, field in self.fields.items():
            field.widget = forms.DateInput({"type": "date", "class": "desk-input"}, format="%Y-%m-%d")
            field.widget.attrs["id"] = f"filter_{name}"

    def clean(self) -> dict[str, Any]:
        """Validate the order of the dates."""
        typed = super().clean() or {}
        first, last = typed.get("days_from"), typed.get("days_to")
        if first and last and last < first:
            raise ValidationError(_("The end date is before the start date."))
        return typed


DAYS = frozenset({"days_from", "days_to"})
"""Query parameters of `DaysFilter`."""


class DaysFilter(admin.ListFilter):
    """Date range of publish times, in the current time zone."""

    title = gettext_lazy("goes live")
    template = "articles/desk/filter_days.html"

    def __init__(self, request: HttpRequest, params: dict[str, Any], model: Any, model_admin: Any) -> None:
        super().__init__(request, params, model, model_admin)
        given = {name: params.pop(name, [""])[-1] for name in self.expected_parameters()}
        self.used_parameters = {name: value for name, value in given.items() if value}
        self.form = DaysForm(given if self.used_parameters else None)

    def has_output(self) -> bool:
        return True

    def expected_parameters(self) -> list[str]:  # type: ignore[override]
        return sorted(DAYS)

    def choices(self, changelist: Any) -> Iterator[Any]:
        """The form and its time zone."""
        yield {"form": self.form, "zone": zone_label()}

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Articles in the date range; all articles if the range is invalid (the form shows the error)."""
        if not self.form.is_valid():
            return queryset
        first, last = self.form.cleaned_data["days_from"], self.form.cleaned_data["days_to"]
        if first:
            queryset = queryset.filter(goes_live_at__gte=_midnight(first))
        if last:
            queryset = queryset.filter(goes_live_at__lt=_midnight(last + timedelta(days=1)))
        return queryset


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time.min, tzinfo=timezone.get_current_timezone())


def _narrowed(queryset: QuerySet[Any], name: str, value: str | None) -> QuerySet[Any]:
    if not value:
        return queryset
    return queryset.filter(**{name: number_or_zero(value)})


FILTERS = [StageFilter, ConcernFilter, WhoseFilter, ChannelFilter, AuthorFilter, DaysFilter]
PARAMETERS = DAYS | {"stage", "concern", "whose", "channel", "author", "q", "o", "status__exact"}
"""Query parameters of the list, except the page."""
