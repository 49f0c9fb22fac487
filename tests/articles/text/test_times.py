"""Wall times: hours that clocks skip, and hours that occur twice."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone, translation

from articles.desk.time_field import ZonedTimeField, ZonedTimeWidget
from articles.text.times import AmbiguousTime, NonexistentTime, format_time, format_time_exactly, offset_name, resolve

BERLIN = ZoneInfo("Europe/Berlin")
LORD_HOWE = ZoneInfo("Australia/Lord_Howe")


class TimeForm(forms.Form):
    when = ZonedTimeField(required=False)


def typed(wall: str, which: str = "") -> TimeForm:
    return TimeForm({"when": wall, "when_which": which})


def test_an_ordinary_wall_time_means_one_instant() -> None:
    assert resolve(datetime(2026, 7, 1, 7), BERLIN) == datetime(2026, 7, 1, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("wall", "zone", "moved"),
    [
        (datetime(2026, 3, 29, 2, 30), BERLIN, "03:30"),
        (datetime(2026, 3, 29, 2), BERLIN, "03:00"),
        (datetime(2026, 10, 4, 2, 15), LORD_HOWE, "02:45"),
    ],
)
def test_a_skipped_wall_time_does_not_exist(wall: datetime, zone: ZoneInfo, moved: str) -> None:
    with pytest.raises(NonexistentTime) as error:
        resolve(wall, zone)
    assert f"{error.value.moved:%H:%M}" == moved


def test_an_ambiguous_wall_time_needs_a_choice() -> None:
    wall = datetime(2026, 10, 25, 2, 30)
    with pytest.raises(AmbiguousTime) as error:
        resolve(wall, BERLIN)
    assert [offset_name(error.value.first), offset_name(error.value.second)] == ["UTC+2", "UTC+1"]
    assert resolve(wall, BERLIN, second=False) == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    assert resolve(wall, BERLIN, second=True) == datetime(2026, 10, 25, 1, 30, tzinfo=UTC)


@pytest.mark.parametrize("hour", [1, 3])
def test_the_hours_around_a_clock_change_are_ordinary(hour: int) -> None:
    resolve(datetime(2026, 3, 29, hour), BERLIN)
    resolve(datetime(2026, 10, 25, hour), BERLIN)


@pytest.mark.parametrize(
    ("moment", "name"),
    [
        (datetime(2026, 1, 1, tzinfo=UTC), "UTC"),
        (datetime(2026, 1, 1, tzinfo=ZoneInfo("Asia/Kolkata")), "UTC+5:30"),
        (datetime(2026, 1, 1, tzinfo=ZoneInfo("America/St_Johns")), "UTC−3:30"),
    ],
)
def test_an_offset_has_a_name(moment: datetime, name: str) -> None:
    assert offset_name(moment) == name


def test_times_are_formatted_with_their_zone() -> None:
    moment = datetime(2026, 7, 1, 5, 0, 7, tzinfo=UTC)
    with timezone.override(BERLIN):
        assert format_time(moment) == "1 Jul 2026, 07:00 UTC+2"
        assert format_time_exactly(moment) == "1 Jul 2026, 07:00:07 Europe/Berlin (UTC+2)"
    with timezone.override(UTC):
        assert format_time_exactly(moment) == "1 Jul 2026, 05:00:07 UTC"


@timezone.override(BERLIN)
def test_the_field_reads_the_wall_time_of_its_zone() -> None:
    form = typed("2026-07-01T07:00")
    assert form.is_valid()
    assert form.cleaned_data["when"] == datetime(2026, 7, 1, 5, tzinfo=UTC)


@timezone.override(BERLIN)
def test_the_field_explains_a_time_that_does_not_exist() -> None:
    form = typed("2026-03-29T02:30")
    assert "does not exist in Europe/Berlin" in str(form.errors)
    assert "03:30" in str(form.errors)


@timezone.override(BERLIN)
def test_the_field_asks_for_the_occurrence_and_remembers_the_choice() -> None:
    form = typed("2026-10-25T02:30")
    assert "occurs twice" in str(form.errors)
    assert "the first, UTC+2" in str(form)
    assert "the second, UTC+1" in str(form)
    form = typed("2026-10-25T02:30", "second")
    assert form.is_valid()
    assert form.cleaned_data["when"] == datetime(2026, 10, 25, 1, 30, tzinfo=UTC)
    assert '<option value="second" selected>' in str(TimeForm(initial=form.cleaned_data))


@timezone.override(BERLIN)
def test_an_ordinary_time_needs_no_choice() -> None:
    assert "<select" not in str(typed("2026-07-01T07:00"))
    assert "Europe/Berlin (UTC+2)" in str(typed("2026-07-01T07:00"))


@pytest.mark.parametrize(
    "text", ["tomorrow", "2026-13-01T00:00", "2026-07-01T07:00+02:00", "0001-01-01T00:00", "2026-07-01T25:00"]
)
@timezone.override(ZoneInfo("Asia/Tokyo"))
def test_the_field_refuses_an_invalid_time(text: str) -> None:
    assert "Enter a date and a time" in str(typed(text).errors)


def test_an_empty_time_is_valid() -> None:
    form = typed("")
    assert form.is_valid()
    assert form.cleaned_data["when"] is None
    with pytest.raises(ValidationError):
        ZonedTimeField().clean(["", ""])


def test_a_time_finer_than_browsers_show_is_not_changed_by_saving_the_form() -> None:
    stored = datetime(2026, 7, 1, 5, 0, 0, 123456, tzinfo=UTC)
    field = ZonedTimeField()
    shown = ZonedTimeWidget().decompress(stored)
    assert shown[0] == "2026-07-01 05:00:00.123"
    assert not field.has_changed(stored, shown)
    assert field.has_changed(stored, ["2026-07-01T05:00:01", ""])


def test_dates_are_written_in_the_readers_language() -> None:
    with translation.override("zh-hans"):
        assert "2026" in format_time(datetime(2026, 7, 1, tzinfo=UTC))


def test_a_time_means_the_zone_of_its_form_whatever_the_user_has_chosen_since() -> None:
    stored = datetime(2026, 7, 1, 5, tzinfo=UTC)
    with timezone.override(BERLIN):
        shown = ZonedTimeWidget().decompress(stored)
    sent = dict(zip(("when", "when_which", "when_zone"), shown, strict=True))
    with timezone.override(ZoneInfo("Asia/Tokyo")):
        form = TimeForm(sent, initial={"when": stored})
        assert form.is_valid()
        assert form.cleaned_data["when"] == stored
        assert not form.has_changed()
        assert "Europe/Berlin (UTC+2)" in str(form)
        assert 'name="when_zone" value="Europe/Berlin"' in str(form)
        assert "does not exist in Europe/Berlin" in str(TimeForm({**sent, "when": "2026-03-29T02:30"}).errors)


@pytest.mark.parametrize("cut", ["2030-11-21", "2030-11-21T07", "2030-11-21T07:3", "20301121T0730", "2030-W47-4"])
def test_a_time_that_was_cut_off_is_refused(cut: str) -> None:
    form = TimeForm({"when": cut, "when_zone": "UTC"})
    assert "Enter a date and a time" in str(form.errors)


def test_the_zone_of_a_time_is_sent_before_it() -> None:
    names = re.findall(r'name="(\w+)"', str(TimeForm()))
    assert names == ["when_zone", "when"]


@pytest.mark.parametrize("forged", ["Europe", "Nowhere", "../UTC", "x" * 64])
def test_a_time_in_a_forged_zone_is_refused(forged: str) -> None:
    form = TimeForm({"when": "2026-07-01T07:00", "when_zone": forged})
    assert "Enter a date and a time" in str(form.errors)
    assert "2026-07-01 07:00" in str(form), "it is shown again, in the current zone"
