"""The API of the calendar: what happens when, and other times for it."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError as DjangoValidationError
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from drf_spectacular.helpers import forced_singular_serializer
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from articles.api.base import NewsroomView
from articles.api.fields import InstantField
from articles.desk.calendar.conflicts import mark_conflicts
from articles.desk.calendar.entries import EntryKind, Mark
from articles.desk.calendar.grid import Sheet
from articles.desk.calendar.parameters import ME, Choice
from articles.desk.calendar.period import EARLIEST, LATEST, View
from articles.desk.calendar.sources import SOURCES
from articles.desk.calendar.subjects import MovableSubject, subject_named
from articles.exceptions import NotAllowed
from articles.limits import ENTRY_KEY_LENGTH
from articles.models import Article, Channel
from scheduling.api.bounded_fields import BoundedSlugField
from scheduling.api.strict import Strict
from scheduling.database import read_database_clock


class CalendarFilterSerializer(serializers.Serializer[Any]):
    """The period, and filters."""

    view = serializers.ChoiceField(View.choices, default=View.MONTH.value, help_text=_("How long the period is."))
    date = serializers.DateField(required=False, help_text=_("A day of the period; left out, today."))
    channel = BoundedSlugField(
        slug_field="slug", queryset=Channel.objects.all(), required=False, help_text=_("Slug of a channel.")
    )
    author = serializers.IntegerField(required=False, min_value=1, max_value=2**63 - 1, help_text=_("Id of an author."))
    own = serializers.BooleanField(required=False, help_text=_("Only articles of the signed-in user."))

    def validate_date(self, day: Any) -> Any:
        """Within the calendar. Raises `ValidationError`."""
        if not EARLIEST <= day <= LATEST:
            raise serializers.ValidationError(_("The calendar does not have this day."))
        return day


class EntrySerializer(serializers.Serializer[Any]):
    """Something that happens, or happened, at an instant."""

    key = serializers.CharField(help_text=_("Names the time, to reschedule it."))
    kind = serializers.ChoiceField(EntryKind.choices)
    at = InstantField()
    title = serializers.CharField()
    channel = serializers.CharField()
    author = serializers.CharField()
    state = serializers.CharField(source="state_name", help_text=_("What readers see, by name."))
    note = serializers.CharField()
    seen = serializers.CharField(help_text=_("To send when it is rescheduled; empty if it cannot be."))
    marks = serializers.ListField(child=serializers.ChoiceField(Mark.choices))
    article = serializers.IntegerField(allow_null=True)
    release = serializers.IntegerField(allow_null=True)


class CalendarSerializer(serializers.Serializer[Any]):
    """A period, with as many entries of each day or hour as the newsroom's calendar shows."""

    first = serializers.DateField()
    last = serializers.DateField()
    time_zone = serializers.CharField()
    entries = EntrySerializer(many=True)
    hidden = serializers.IntegerField(help_text=_("Further entries; a shorter period shows more."))


class NewTimeSerializer(Strict):
    """An entry and its new time."""

    key = serializers.CharField(max_length=ENTRY_KEY_LENGTH)
    seen = InstantField(help_text=_("The time that you saw: if it has changed since, nothing is rescheduled."))
    at = InstantField(required=False, help_text=_("The new time; left out, it happens now."))


class CalendarViewSet(NewsroomView):
    """The newsroom's calendar."""

    read_permissions = ("articles.view_article", "articles.change_article")
    serializer_class = CalendarSerializer
    filter_class = CalendarFilterSerializer
    queryset = Article.objects.none()
    pagination_class = None

    @extend_schema(
        operation_id="desk_calendar_list", summary="A month, week or day of the calendar",
        parameters=[CalendarFilterSerializer], responses=forced_singular_serializer(CalendarSerializer),  # type: ignore[no-untyped-call]
    )  # fmt: skip
    def list(self, request: Request) -> Response:
        """Days are those of the signed-in user's time zone."""
        now, asked = read_database_clock(), self.asked()
        sheet = Sheet(_choice(asked, now), by=request.user, now=now)
        for source in SOURCES:
            source(sheet)
        sheet.fold()
        mark_conflicts(sheet)
        period = sheet.choice.period
        shown = {
            "first": period.first,
            "last": period.last,
            "time_zone": str(timezone.get_current_timezone()),
            "entries": sorted(sheet.entries, key=lambda entry: entry.at),
            "hidden": sum(slot.hidden for slot in sheet.slots),
        }
        return Response(CalendarSerializer(shown).data)

    @extend_schema(
        operation_id="desk_calendar_reschedule", summary="Reschedule an entry", request=NewTimeSerializer,
        responses={204: None},
    )  # fmt: skip
    @action(detail=False, methods=["post"])
    def reschedule(self, request: Request) -> Response:
        """Another time for it, or now, unless it has another one since you looked."""
        values = self.checked(NewTimeSerializer)
        subject = _subject(values["key"])
        if not subject.may_be_seen(request.user):
            raise NotAllowed
        if "at" in values:
            subject.reschedule(values["at"], seen=values["seen"], by=request.user)
        else:
            subject.do_now(seen=values["seen"], by=request.user)
        return Response(status=204)


def _choice(asked: dict[str, Any], now: Any) -> Choice:
    author = ME if asked.get("own") else str(asked.get("author", ""))
    return Choice(
        view=View(asked["view"]),
        day=asked.get("date") or timezone.localtime(now).date(),
        channel=str(asked["channel"].pk) if "channel" in asked else "",
        author=author,
    )


def _subject(key: str) -> MovableSubject:
    try:
        return subject_named(key)
    except DjangoValidationError as error:
        raise ValidationError({"key": error.messages}, code="unknown") from error
