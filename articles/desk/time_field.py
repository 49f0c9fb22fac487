"""Form field for an instant, entered as wall time in the zone that the form shows, without guessing.

A skipped wall time is invalid; one that occurs twice needs a choice. The form sends its zone along, because the user
may have chosen another one since it was opened.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, tzinfo
from typing import Any, cast

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy
from unfold.widgets import DATETIME_CLASSES, SELECT_CLASSES

from articles.exceptions import InvalidSchedule
from articles.limits import TIME_LENGTH
from articles.notifications import zone_named
from articles.publishing import checked_time
from articles.text import AmbiguousTime, NonexistentTime, happens_twice, local_time, offset_name, resolve, zone_label

FIRST, SECOND = "first", "second"

_WALL = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?", re.ASCII)
"""Not any ISO 8601: a date, or an hour without minutes, is a time that was cut off."""


class WallTimeInput(forms.TextInput):
    """A time in the newsroom's form and a button for the picker of the browser, which would show it in its own form."""

    template_name = "articles/desk/wall_time.html"

    def __init__(self, attrs: dict[str, Any] | None = None) -> None:
        # Translators: the form of a time in a field, such as 2026-11-21 07:00
        placeholder = gettext_lazy("YYYY-MM-DD hh:mm")
        # No keypad of figures: those of some phones have no hyphen, colon or space.
        typing = {"inputmode": "text", "autocomplete": "off", "autocapitalize": "off", "spellcheck": "false"}
        super().__init__({"placeholder": placeholder, **typing, "data-wall-time": True, **(attrs or {})})

    def format_value(self, value: Any) -> str | None:
        """What was typed in the newsroom's form; unchanged if it is no time."""
        return shown_wall(super().format_value(value) or "") or None


class ZonedTimeWidget(forms.MultiWidget):
    """Date and time to the second, the zone's name and, for a time that occurs twice, a choice."""

    template_name = "articles/desk/time.html"
    use_fieldset = False

    def __init__(self, attrs: dict[str, Any] | None = None) -> None:
        wall = WallTimeInput({"class": " ".join(DATETIME_CLASSES)})
        which = forms.Select({"class": " ".join(SELECT_CLASSES), "aria-label": gettext_lazy("Which occurrence")})
        super().__init__({"": wall, "which": which, "zone": forms.HiddenInput()}, attrs)

    @property
    def which(self) -> forms.Select:
        """The choice widget; looked up each time, because forms copy their widgets."""
        return cast(forms.Select, self.widgets[1])

    def id_for_label(self, id_: str) -> str:
        """The label belongs to the time."""
        return f"{id_}_0" if id_ else id_

    def decompress(self, value: datetime | str | None) -> list[str | None]:
        """Wall time, which occurrence and the zone, which is the current one; a string is taken as wall time."""
        zone = str(timezone.get_current_timezone())
        if not isinstance(value, datetime):
            return [value, None, zone]
        local = local_time(value)
        return [format_wall(local), SECOND if local.fold else FIRST, zone]

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        """Adds the zone, and the choice if the time occurs twice."""
        values = value if isinstance(value, list) else self.decompress(value)
        zone = _zone_of(values)
        with timezone.override(zone):
            return self._context(name, [*values[:2], str(zone)], attrs, zone)

    def _context(self, name: str, values: list[Any], attrs: dict[str, Any] | None, zone: tzinfo) -> dict[str, Any]:
        wall = parse_wall(values[0])
        both = happens_twice(wall, zone) if wall else None
        self.which.choices = _choices(both) if both else []
        context = super().get_context(name, values, attrs)
        context["widget"]["zone"] = zone_label(_label_moment(wall, both))
        context["widget"]["happens_twice"] = both is not None
        return context


class HiddenZonedTimeWidget(forms.MultiWidget):
    """What a form was opened with."""

    def __init__(self, attrs: dict[str, Any] | None = None) -> None:
        super().__init__({name: forms.HiddenInput() for name in ("", "which", "zone")}, attrs)

    def decompress(self, value: datetime | str | None) -> list[str | None]:
        """As the form shows it."""
        return ZonedTimeWidget().decompress(value)


class ZonedTimeField(forms.MultiValueField):
    """An aware instant in UTC, entered as wall time of the zone that the form shows."""

    widget = ZonedTimeWidget
    hidden_widget = HiddenZonedTimeWidget
    default_error_messages = {
        "invalid": gettext_lazy("Enter a date and a time, such as 2026-11-21 07:00."),
        "nonexistent": gettext_lazy(
            "%(time)s does not exist in %(zone)s: clocks go forward that night. Did you mean %(moved)s?"
        ),
        "ambiguous": gettext_lazy("%(time)s occurs twice in %(zone)s: clocks go back that night. Choose one."),
    }

    def __init__(self, **options: Any) -> None:
        fields = [forms.CharField(required=False, max_length=TIME_LENGTH) for _part in range(3)]
        super().__init__(fields, require_all_fields=False, **options)

    def compress(self, values: Sequence[str]) -> datetime | None:
        """The instant of the wall time."""
        if not values or not values[0]:
            if self.required:  # Django asks for it only if the zone is missing, too
                raise ValidationError(self.error_messages["required"], code="required")
            return None
        wall, zone = parse_wall(values[0]), _zone_of(values)
        if wall is None or _is_unknown_zone(values):
            raise ValidationError(self.error_messages["invalid"], code="invalid")
        second = {FIRST: False, SECOND: True}.get(values[1] if len(values) > 1 else "")
        try:
            return checked_time(resolve(wall, zone, second=second))
        except InvalidSchedule as error:
            raise ValidationError(str(error), code="invalid") from error
        except NonexistentTime as error:
            raise self._refused("nonexistent", wall, zone, moved=f"{error.moved:%H:%M}") from error
        except AmbiguousTime as error:
            raise self._refused("ambiguous", wall, zone) from error
        except OverflowError as error:
            raise ValidationError(self.error_messages["invalid"], code="invalid") from error

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Whether the instant differs from the initial one, or what a form has sent of it; so does what is invalid."""
        shown = initial if isinstance(initial, list) else ZonedTimeWidget().decompress(initial)
        try:
            return bool(self.clean(data) != self.clean(shown))
        except ValidationError:
            return True

    def _refused(self, code: str, wall: datetime, zone: tzinfo, **more: str) -> ValidationError:
        parameters = {"time": f"{wall:%Y-%m-%d %H:%M}", "zone": str(zone), **more}
        return ValidationError(self.error_messages[code], code=code, params=parameters)


def sent_zone(name: str | None) -> tzinfo:
    """The zone of this name, which a form has sent; the current one if there is none, or no such zone."""
    return zone_named(name or "") or timezone.get_current_timezone()


def _zone_of(values: Sequence[str | None]) -> tzinfo:
    return sent_zone(values[2] if len(values) > 2 else None)


def _is_unknown_zone(values: Sequence[str | None]) -> bool:
    name = values[2] if len(values) > 2 else None
    return bool(name) and zone_named(name or "") is None


def parse_wall(text: str | None) -> datetime | None:
    """A naive time, with a space or a T before its hour; None if invalid."""
    try:
        return datetime.fromisoformat(text) if _WALL.fullmatch(text := (text or "").strip()) else None
    except ValueError:
        return None


def format_wall(time: datetime) -> str:
    """The newsroom's form, such as "2026-11-21 07:00"; with seconds, and milliseconds, only if they are not zero."""
    is_whole = not (time.second or time.microsecond)
    timespec = "milliseconds" if time.microsecond else "minutes" if is_whole else "seconds"
    return time.replace(tzinfo=None).isoformat(" ", timespec)


def shown_wall(text: str) -> str:
    """A typed time in the newsroom's form; unchanged if it is no time."""
    wall = parse_wall(text)
    return format_wall(wall) if wall else text


def two_times(values: Sequence[str | None]) -> list[tuple[str, str]]:
    """Choices for a field whose time occurs twice; otherwise empty."""
    wall = parse_wall(values[0])
    both = happens_twice(wall, _zone_of(values)) if wall else None
    return _choices(both)[1:] if both else []


def _choices(both: AmbiguousTime) -> list[tuple[str, str]]:
    return [
        ("", _("Which one?")),
        (FIRST, _("the first, %(offset)s") % {"offset": offset_name(both.first)}),
        (SECOND, _("the second, %(offset)s") % {"offset": offset_name(both.second)}),
    ]


def _label_moment(wall: datetime | None, both: AmbiguousTime | None) -> datetime | None:
    """The instant whose offset the label shows: the entered one if unambiguous, else now."""
    if wall is None or both is not None:
        return None
    try:
        return resolve(wall, timezone.get_current_timezone())
    except (NonexistentTime, OverflowError):
        return None
