"""The rule of a recurring version in the editor: its form, and its next times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django import forms
from django.utils import timezone
from django.utils.dates import WEEKDAYS
from django.utils.translation import gettext as _, gettext_lazy
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
)

from articles.desk.time_field import sent_zone
from articles.exceptions import ArticleError, DoubleTime, MissingTime
from articles.fronts import DAYS, IfMissing, IfTwice, Recurrence
from articles.limits import TIME_LENGTH
from articles.models import FrontVersion
from articles.notifications import zone_named
from articles.text import format_time_exactly
from scheduling.database import read_database_clock

NEXT_TIMES = 8
"""Times of a rule that are offered to be skipped."""

_ASK = ("", gettext_lazy("—"))


class DayInput(UnfoldAdminTextInputWidget):
    """A date."""

    input_type = "date"


class DayForm(forms.Form):
    """A day of a rule."""

    day = forms.DateField(input_formats=["%Y-%m-%d"])


class EndForm(forms.Form):
    """The last day of a rule; empty for its end now."""

    until = forms.DateField(
        label=gettext_lazy("Last day"),
        required=False,
        input_formats=["%Y-%m-%d"],
        widget=DayInput,
        help_text=gettext_lazy("Empty: it is over now."),
    )


class RepeatForm(forms.Form):
    """Days of the week, a wall time and its time zone, from when until when."""

    days = forms.MultipleChoiceField(
        label=gettext_lazy("Days"),
        choices=[(name, WEEKDAYS[number]) for number, name in enumerate(DAYS)],
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
    )
    time = forms.TimeField(
        label=gettext_lazy("Time"),
        input_formats=["%H:%M", "%H:%M:%S"],
        # Translators: the form of a time of day in a field, such as 06:00
        widget=UnfoldAdminTextInputWidget({"placeholder": gettext_lazy("hh:mm"), "autocomplete": "off"}),
    )
    zone = forms.CharField(max_length=TIME_LENGTH, required=False, widget=forms.HiddenInput)
    starts = forms.DateField(label=gettext_lazy("From"), required=False, input_formats=["%Y-%m-%d"], widget=DayInput)
    until = forms.DateField(label=gettext_lazy("Until"), required=False, input_formats=["%Y-%m-%d"], widget=DayInput)
    if_missing = forms.ChoiceField(
        label=gettext_lazy("If clocks skip the time"),
        choices=[_ASK, *IfMissing.choices],
        required=False,
        widget=UnfoldAdminSelectWidget,
    )
    if_twice = forms.ChoiceField(
        label=gettext_lazy("If the time occurs twice"),
        choices=[_ASK, *IfTwice.choices],
        required=False,
        widget=UnfoldAdminSelectWidget,
    )

    def clean_zone(self) -> str:
        """The zone that the form shows."""
        name: str = self.cleaned_data["zone"]
        if name and zone_named(name) is None:
            raise forms.ValidationError(_("There is no such time zone."))
        return str(sent_zone(name))

    def rule(self) -> Recurrence:
        """The rule of a valid form."""
        sent = self.cleaned_data
        return Recurrence(
            days=tuple(sorted(DAYS.index(day) for day in sent["days"])),
            wall=sent["time"],
            zone=sent["zone"],
            starts=sent["starts"] or read_database_clock().astimezone(ZoneInfo(sent["zone"])).date(),
            until=sent["until"],
            if_missing=sent["if_missing"],
            if_twice=sent["if_twice"],
        )

    def refuse(self, refusal: ArticleError) -> None:
        """Show why the rule was refused, at the field that it is about."""
        fields: Mapping[type[ArticleError], str] = {MissingTime: "if_missing", DoubleTime: "if_twice"}
        self.add_error(fields.get(type(refusal)), str(refusal))

    @property
    def asks(self) -> bool:
        """Whether it says, or needs to say, what happens when clocks change."""
        return any(self[name].errors or self[name].value() for name in ("if_missing", "if_twice"))


@dataclass(frozen=True)
class NextTime:
    """A time of a rule."""

    day: date
    at: str
    is_skipped: bool


def repeat_form(version: FrontVersion | None) -> RepeatForm:
    """A form with the rule of a version, or of the one that it was made of."""
    before = version.based_on if version else None
    like = (version.repeats if version else None) or (before.repeats if before else None)
    if not like:
        return RepeatForm(initial={"days": DAYS[:5], "zone": str(timezone.get_current_timezone())})
    return RepeatForm(initial={**like, "starts": None})


def recurring_context(version: FrontVersion | None, now: datetime) -> Mapping[str, Any]:
    """What the page says of a recurring version; empty for another one."""
    if version is None or version.repeats is None:
        return {}
    rule = Recurrence.of(version.repeats)
    shown = rule.shown(now + timedelta(seconds=2), most=NEXT_TIMES)
    times = [NextTime(day, format_time_exactly(at), is_skipped) for day, at, is_skipped in shown]
    return {"rule": rule, "times": times, "end_form": EndForm() if times else None}
