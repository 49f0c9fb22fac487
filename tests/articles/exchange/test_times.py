"""Times in other people's files: clear ones are kept with a note, unclear ones refused or held, none is invented."""

from __future__ import annotations

from datetime import UTC, datetime
from html import escape
from pathlib import Path

import pytest
from django.utils import timezone

from articles.models import Article
from tests.articles.factories import soon
from tests.articles.import_files import Result, counts, post, run_import, write_lines, write_wxr

pytestmark = pytest.mark.django_db
Status = Article.Status


def import_dates(folder: Path, *dates: str) -> Result:
    """A feed with an entry for each of these dates, imported."""
    entries = "".join(
        f"<item><title>Story</title><guid>https://gazette.example/{number}</guid>"
        f"<pubDate>{escape(date)}</pubDate><description>Text.</description></item>"
        for number, date in enumerate(dates)
    )
    (folder / "feed.rss").write_text(f"<rss><channel>{entries}</channel></rss>", encoding="utf-8")
    return run_import(folder / "feed.rss")


CLEAR = {
    "Mon, 02 Mar 2020 10:00:00 +08": datetime(2020, 3, 2, 2, tzinfo=UTC),
    "Mon, 02 Mar 2020 10:00:00 -05": datetime(2020, 3, 2, 15, tzinfo=UTC),
    "Mon, 02 Mar 2020 10:00:00 +02:00": datetime(2020, 3, 2, 8, tzinfo=UTC),
    "Mon, 02 Mar 2020 10:00:00 GMT+2": datetime(2020, 3, 2, 8, tzinfo=UTC),
    "Mon, 02 Mar 2020 10:00:00 UTC+0200": datetime(2020, 3, 2, 8, tzinfo=UTC),
    "Mon, 02 Mar 2020 10:00:00 GMT+0100 (CET)": datetime(2020, 3, 2, 9, tzinfo=UTC),
    "Mon Mar 02 2020 10:00:00 +0200": datetime(2020, 3, 2, 8, tzinfo=UTC),
    "22-Sept-17 10:00 GMT": datetime(2017, 9, 22, 10, tzinfo=UTC),
    "Sat, 31 Dec 2016 23:59:60 GMT": datetime(2017, 1, 1, tzinfo=UTC),
    "2016-12-31T23:59:60Z": datetime(2017, 1, 1, tzinfo=UTC),
    "2020-03-02t10:00:00z": datetime(2020, 3, 2, 10, tzinfo=UTC),
    "2020-03-02 10:00:00 +0800": datetime(2020, 3, 2, 2, tzinfo=UTC),
    "2020-03-02 10:00:00 UTC": datetime(2020, 3, 2, 10, tzinfo=UTC),
    "20200302T100000Z": datetime(2020, 3, 2, 10, tzinfo=UTC),
    "2020-03-02T10:00:00+14:00": datetime(2020, 3, 1, 20, tzinfo=UTC),
    "2020-03-02T10:00:00-12": datetime(2020, 3, 2, 22, tzinfo=UTC),
    "Mon, 02 Mar 2020 10:00:00 -0000 (UTC)": datetime(2020, 3, 2, 10, tzinfo=UTC),
    "Mon, 02 Mar 2020 10:00:00 -0001 (LMT)": datetime(2020, 3, 2, 10, 1, tzinfo=UTC),
}

UNCLEAR = [
    "Mon, 02 Mar 2020 10:00:00 +1", "Mon, 02 Mar 2020 10:00:00 +800", "Mon, 02 Mar 2020 10:00:00 -5",
    "Mon, 02 Mar 2020 10:00:00 +2400", "Mon, 02 Mar 2020 10:00:00 +0875", "Mon, 02 Mar 2020 10:00:00 BST",
    "Mon, 02 Mar 2020 10:00:00 IST+2", "Mon, 02 Mar 2020 10:00:00 A", "Mon, 02 Mar 2020 10:00:00",
    "Mon, 02 Mar 120 10:00:00 GMT", "Mon, 02 Mar 0120 10:00:00 GMT", "Mon, 02 Mar -120 10:00:00 GMT",
    "Mon, 02 Mar 20200 10:00:00 GMT", "02/03/2020 10:00 GMT", "2020-03-02", "2020-3-2T10:00:00Z", "10:00 GMT",
    "Mon, 30 Feb 2020 10:00:00 GMT", "Mon, 02 Mar 2020 10:00:61 GMT", "1583143200", "Lun, 02 Mar 2020 10:00:00 GMT",
    "2020-03-02T10:00:00+08:60", "2020-03-02T10:00:00+0899", "2020-03-02T10:00:00+23:00", "2020-03-02T10:00:00-12:01",
    "2020-03-02T10:00:00+08:00:75",
]  # fmt: skip

ZERO = [
    "", "0000-00-00 00:00:00", "0000-00-00T00:00:00Z", "Mon, 30 Nov -0001 00:00:00 +0000", "0001-01-01T00:00:00Z",
    "Mon, 01 Jan 0001 00:00:00 GMT", "-0001-11-30T00:00:00+00:00",
]  # fmt: skip


def test_clear_times_are_kept_however_they_are_written(tmp_path: Path) -> None:
    import_dates(tmp_path, *CLEAR)

    found = {
        int((article.external_id or "").rpartition("/")[2]): article.publish_at for article in Article.objects.all()
    }
    assert {date: found.get(number) for number, date in enumerate(CLEAR)} == CLEAR


def test_what_is_unusual_in_a_time_is_noted(tmp_path: Path) -> None:
    result = import_dates(tmp_path, *CLEAR, "Mon, 02 Mar 2020 10:00:00 CST", "2020-03-02 10:00:00 CST")

    assert [line for line in result.remarks if line.startswith("note: ")] == [
        "note: 1 record: the offset +08 is read as +08:00",
        "note: 1 record: the offset -05 is read as -05:00",
        "note: 1 record: the offset GMT+2 is read as +02:00",
        "note: 1 record: the offset UTC+0200 is read as +02:00",
        "note: 1 record: the offset GMT+0100 is read as +01:00",
        "note: 1 record: the year 17 is read as 2017",
        "note: 2 records: a leap second is read as the second after it",
        "note: 2 records: CST is read as −06:00, American time, as RFC 822 says",
    ]


def test_unclear_times_are_held_and_named(tmp_path: Path) -> None:
    result = import_dates(tmp_path, *UNCLEAR)

    assert result.summary == counts(created=len(UNCLEAR))
    assert all(
        f'note: publish_at: "{date}" ' in line and line.endswith("; imported as a draft")
        for date, line in zip(UNCLEAR, result.remarks, strict=True)
    )
    assert set(Article.objects.values_list("status", "publish_at")) == {(Status.DRAFT, None)}


def test_the_report_says_what_is_unclear_in_a_time(tmp_path: Path) -> None:
    times = ["2026-11-21T07:00:00", "21.11.2026 07:00", 1_800_000_000, "0001-01-01T00:00:00+14:00", "tomorrow"]

    result = run_import(write_lines(tmp_path / "a.jsonl", *({"title": "A", "publish_at": time} for time in times)))

    assert result.summary == counts(created=5)
    assert [line.partition(": note: ")[2] for line in result.remarks] == [
        'publish_at: "2026-11-21T07:00:00" has no known time zone; add an offset such as +08:00 or Z',
        'publish_at: "21.11.2026 07:00" is not a time such as 2026-11-21T07:00:00+08:00',
        'publish_at: "1800000000" is not a time such as 2026-11-21T07:00:00+08:00',
        'publish_at: "0001-01-01T00:00:00+14:00" lies outside the years 1000 to 9999',
        'publish_at: "tomorrow" is not a time such as 2026-11-21T07:00:00+08:00',
    ]


@pytest.mark.parametrize("name", ["publish_at", "published_at", "embargo_until", "unpublish_at"])
def test_no_article_is_public_with_an_unclear_time_until_a_later_file_gives_it(tmp_path: Path, name: str) -> None:
    times = {"publish_at": "2020-01-01T00:00:00Z", "embargo_until": "2020-01-02T00:00:00Z"}
    words = ["published", "scheduled", "9", "unpublished", "retracted", "submitted", "draft"]
    records = [
        {"external_id": word, "title": "Budget", "status": word, **times, name: "2.3.2126 10:00"} for word in words
    ]
    file = write_lines(tmp_path / "a.jsonl", *records)

    result = run_import(file)

    assert (result.code, result.summary) == (0, counts(created=7))
    assert all(f': note: {name}: "2.3.2126 10:00" is not a time' in line for line in result.remarks)
    found = Article.objects.values_list("status", "publish_at")
    assert all(status in Status.unapproved() for status, _time in found)
    assert {time for _status, time in found} <= {None} or name in ("published_at", "unpublish_at")
    assert run_import(file).summary == counts(skipped=7)
    later = [record | {name: "2126-03-02T10:00:00Z"} for record in records]
    assert run_import(write_lines(file, *later)).summary == counts(updated=7)


def test_entries_with_no_date_or_a_zero_one_are_held(tmp_path: Path) -> None:
    result = import_dates(tmp_path, *ZERO)

    assert result.summary == counts(created=len(ZERO))
    assert all(line.endswith("note: has no date; imported as a draft") for line in result.remarks)
    assert set(Article.objects.values_list("status", "publish_at")) == {(Status.DRAFT, None)}


def test_a_held_entry_goes_live_with_the_date_that_a_later_file_gives(tmp_path: Path) -> None:
    import_dates(tmp_path, "")

    assert import_dates(tmp_path, "Mon, 02 Mar 2020 10:00:00 GMT").summary == counts(updated=1)
    assert Article.objects.get().publish_at == datetime(2020, 3, 2, 10, tzinfo=UTC)


def test_a_post_without_a_utc_date_has_its_local_one(tmp_path: Path) -> None:
    zero = "0000-00-00 00:00:00"
    local = "<wp:post_date>2019-04-05 09:00:00</wp:post_date>"
    to_come = f"<wp:post_date>{timezone.now():%Y-%m-%d %H:%M:%S}</wp:post_date>"

    result = run_import(
        write_wxr(
            tmp_path / "a.xml", *(post(n, date=zero, terms=terms) for n, terms in enumerate((local, to_come, "")))
        )
    )

    assert "note: 1 record: its date has no UTC time; it is read in the time zone UTC" in result.remarks
    assert list(Article.objects.order_by("title").values_list("status", "publish_at")) == [
        (Status.PUBLISHED, datetime(2019, 4, 5, 9, tzinfo=UTC)),
        (Status.DRAFT, None),
        (Status.DRAFT, None),
    ]


def test_a_published_record_without_a_time_is_held(tmp_path: Path) -> None:
    until = soon(hours=1).isoformat()

    result = run_import(
        write_lines(
            tmp_path / "a.jsonl",
            {"title": "Now?", "status": "published"},
            {"title": "Later", "status": "published", "embargo_until": until},
        )
    )

    assert result.remarks == ["line 1: note: has no date; imported as a draft"]
    assert dict(Article.objects.values_list("title", "status")) == {"Now?": Status.DRAFT, "Later": Status.APPROVED}


SHOWN = {"title": "Budget", "status": "published", "publish_at": "2026-01-02T00:00:00Z"}


@pytest.mark.parametrize("name", ["embargo_untill", "publishAt", "post_date_gmt", "Unpublish_at", "visibility"])
def test_an_unknown_field_of_an_article_for_readers_refuses_the_file(tmp_path: Path, name: str) -> None:
    file = write_lines(tmp_path / "a.jsonl", {"title": "Fine"}, SHOWN | {name: soon(days=3).isoformat()})

    result = run_import(file)

    assert (result.code, Article.objects.count()) == (2, 0)
    assert f'line 2: the field "{name}" is unknown, and readers would see the article' in result.error


def test_nothing_is_public_before_it_went_live_in_the_file(tmp_path: Path) -> None:
    later = soon(days=3)

    result = run_import(write_lines(tmp_path / "a.jsonl", SHOWN | {"published_at": later.isoformat()}))

    assert "line 1: note: was due at 2026-01-02 00:00:00 UTC; goes live at " in result.remarks[0]
    assert [(one.status, one.goes_live_at) for one in Article.objects.all()] == [(Status.APPROVED, later)]


@pytest.mark.parametrize("status", ["published\0", "\x01publish", "\ufeffpublished", " 9\x7f"])
def test_control_characters_in_a_status_hide_no_unknown_field(tmp_path: Path, status: str) -> None:
    later = soon(days=3).isoformat()
    file = write_lines(tmp_path / "a.jsonl", SHOWN | {"status": status, "embargo_untill": later})

    assert (run_import(file).code, Article.objects.count()) == (2, 0)


def test_a_misspelt_column_refuses_a_spreadsheet_only_if_a_cell_is_filled(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    head = "title,status,publish_at,embargo_untill\n"
    file.write_text(f"{head}A,draft,,2126-01-01T00:00:00Z\nB,future,2126-01-01T00:00:00Z,\n", encoding="utf-8")
    assert run_import(file).summary == counts(created=2)

    file.write_text(f"{head}C,9,2026-01-01T00:00:00Z,2126-01-01T00:00:00Z\n", encoding="utf-8")
    assert run_import(file).code == 2


def test_a_filled_column_without_a_name_is_an_unknown_one(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    head = "title,status,publish_at,\n"
    file.write_text(f"{head}A,published,2026-01-01T00:00:00Z,\nB,draft,,x\n", encoding="utf-8")
    assert run_import(file).remarks == ['note: the unknown field "#4" of 1 record is ignored']

    file.write_text(f"{head}C,9,2026-01-01T00:00:00Z,2126-01-01T00:00:00Z\n", encoding="utf-8")
    assert (run_import(file).code, Article.objects.count()) == (2, 2)


def test_unknown_fields_can_be_accepted(tmp_path: Path) -> None:
    file = write_lines(tmp_path / "a.jsonl", SHOWN | {"embargo_untill": "x"})

    result = run_import(file, "--ignore-unknown")

    assert result.remarks == ['note: the unknown field "embargo_untill" of 1 record is ignored']
    assert Article.objects.get().status == Status.PUBLISHED


def test_a_text_behind_a_password_is_never_public(tmp_path: Path) -> None:
    file = write_lines(tmp_path / "a.jsonl", SHOWN | {"post_password": "x"}, {**SHOWN, "title": "Two", "password": "y"})

    run_import(file, "--ignore-unknown")

    assert set(Article.objects.values_list("status", flat=True)) == {Status.DRAFT}
