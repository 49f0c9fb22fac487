"""The filters of the list of articles."""

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
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from articles.desk.calendar.period import EARLIEST, LATEST
from articles.desk.parse_int import whole_number
from articles.models import Article, Channel, Update, named_apart
from articles.text import zone_label
from scheduling.services import read_database_clock

Status = Article.Status
Choices = list[tuple[str, Any]]

SHOWABLE = [MinValueValidator(EARLIEST), MaxValueValidator(LATEST)]
"""The days that are days in every zone."""


class ChoiceFilter(admin.SimpleListFilter):
    """One of some choices, in a plain select."""

    template = "articles/desk/filter_choice.html"

    def choices(self, changelist: Any) -> Iterator[Any]:
        """The choices for the template, "all" first."""
        yield {"value": "", "display": _("All"), "selected": self.value() is None}
        for value, text in self.lookup_choices:
            yield {"value": value, "display": text, "selected": self.value() == str(value)}


class StageFilter(ChoiceFilter):
    """Where an article stands, as editors speak of it: what is approved has a time or needs one."""

    title = gettext_lazy("status")
    parameter_name = "stage"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        """In the order in which articles go through them."""
        return [
            ("draft", Status.DRAFT.label),
            ("submitted", Status.SUBMITTED.label),
            ("rejected", Status.REJECTED.label),
            ("review", Status.MANUAL_REVIEW.label),
            ("ready", _("Approved, without a time")),
            ("scheduled", _("Scheduled")),
            ("published", Status.PUBLISHED.label),
            ("newer", _("With a newer text on its way")),
            ("unpublished", Status.UNPUBLISHED.label),
            ("retracted", Status.RETRACTED.label),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Articles of the chosen stage; an approved one whose time has come is scheduled until a worker notes it."""
        condition = _STAGES.get(self.value() or "")
        return queryset if condition is None else queryset.filter(condition)


_STAGES: Mapping[str, Q] = {
    "draft": Q(status=Status.DRAFT),
    "submitted": Q(status=Status.SUBMITTED),
    "rejected": Q(status=Status.REJECTED),
    "review": Q(status=Status.MANUAL_REVIEW) | Q(update__draft__isnull=False, update__status=Status.MANUAL_REVIEW),
    "ready": Q(status__in=Status.waiting(), publish_at__isnull=True),
    "scheduled": Q(status__in=Status.waiting(), publish_at__isnull=False),
    "published": Q(status=Status.PUBLISHED),
    "newer": Q(update__isnull=False),
    "unpublished": Q(status=Status.UNPUBLISHED),
    "retracted": Q(status=Status.RETRACTED),
}


class ConcernFilter(ChoiceFilter):
    """What somebody should worry about."""

    title = gettext_lazy("concern")
    parameter_name = "concern"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        """What will miss its time, and what has."""
        return [("at_risk", _("At risk: due within a day, not approved")), ("overdue", _("Overdue: should be out"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """By the database's clock."""
        if self.value() == "at_risk":
            return at_risk(queryset, read_database_clock())
        if self.value() == "overdue":
            return queryset.overdue(read_database_clock())  # type: ignore[attr-defined,no-any-return]
        return queryset


def at_risk(articles: QuerySet[Any], now: datetime) -> QuerySet[Any]:
    """Articles that will miss their time, or whose newer text will; that is asked first, to use both indexes."""
    pending_update = list(Update.objects.at_risk(now).values_list("article", flat=True))
    own: QuerySet[Any] = articles.at_risk(now)  # type: ignore[attr-defined]
    return own | articles.filter(pk__in=pending_update)


class WhoseFilter(ChoiceFilter):
    """One's own articles."""

    title = gettext_lazy("whose")
    parameter_name = "whose"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        """Mine, or everybody's."""
        return [("mine", _("Mine"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """What this person wrote."""
        return queryset.filter(author=request.user.pk) if self.value() == "mine" else queryset


class ChannelFilter(ChoiceFilter):
    """Articles of one channel."""

    title = gettext_lazy("channel")
    parameter_name = "channel"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        """In the site's order."""
        return [(str(pk), name) for pk, name in Channel.objects.values_list("pk", "name")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """A channel that is gone has no articles."""
        return _narrowed(queryset, "channel", self.value())


class AuthorFilter(ChoiceFilter):
    """Articles of one author."""

    title = gettext_lazy("author")
    parameter_name = "author"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        """Whoever has written something, by name."""
        writes = Exists(Article.objects.filter(author=OuterRef("pk")))
        users = named_apart(get_user_model().objects.filter(writes))
        return sorted(((str(pk), name) for pk, name in users.items()), key=lambda choice: choice[1].lower())

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """What this author wrote."""
        return _narrowed(queryset, "author", self.value())


class DaysForm(forms.Form):
    """A span of days; either end may be left open."""

    days_from = forms.DateField(label=gettext_lazy("From"), required=False, validators=SHOWABLE)
    days_to = forms.DateField(label=gettext_lazy("To"), required=False, validators=SHOWABLE)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for name, field in self.fields.items():
            field.widget = forms.DateInput({"type": "date", "class": "desk-input"}, format="%Y-%m-%d")
            field.widget.attrs["id"] = f"filter_{name}"

    def clean(self) -> dict[str, Any]:
        """The last day does not come before the first."""
        typed = super().clean() or {}
        first, last = typed.get("days_from"), typed.get("days_to")
        if first and last and last < first:
            raise ValidationError(_("The last day comes before the first."))
        return typed


class DaysFilter(admin.ListFilter):
    """The days on which articles go, or went, live, in the zone in which times are shown."""

    title = gettext_lazy("goes live")
    template = "articles/desk/filter_days.html"

    def __init__(self, request: HttpRequest, params: dict[str, Any], model: Any, model_admin: Any) -> None:
        super().__init__(request, params, model, model_admin)
        given = {name: params.pop(name, [""])[-1] for name in self.expected_parameters()}
        self.used_parameters = {name: value for name, value in given.items() if value}
        self.form = DaysForm(given if self.used_parameters else None)

    def has_output(self) -> bool:
        """Always."""
        return True

    def expected_parameters(self) -> list[str]:  # type: ignore[override]
        """The two ends."""
        return ["days_from", "days_to"]

    def choices(self, changelist: Any) -> Iterator[Any]:
        """The form, and the zone that its days are of."""
        yield {"form": self.form, "zone": zone_label()}

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Articles whose time falls on these days; all of them if the days make no sense, which the form says."""
        if not self.form.is_valid():
            return queryset
        first, last = self.form.cleaned_data["days_from"], self.form.cleaned_data["days_to"]
        if first:
            queryset = queryset.filter(publish_at__gte=_midnight(first))
        if last:
            queryset = queryset.filter(publish_at__lt=_midnight(last + timedelta(days=1)))
        return queryset


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time.min, tzinfo=timezone.get_current_timezone())


def _narrowed(queryset: QuerySet[Any], name: str, value: str | None) -> QuerySet[Any]:
    if not value:
        return queryset
    return queryset.filter(**{name: whole_number(value)})


FILTERS = [StageFilter, ConcernFilter, WhoseFilter, ChannelFilter, AuthorFilter, DaysFilter]
PARAMETERS = frozenset(
    {"stage", "concern", "whose", "channel", "author", "days_from", "days_to", "q", "o", "status__exact"}
)
"""What an address of the list may say, but for the page."""
