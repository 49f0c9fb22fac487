"""Generated feeds: nothing is earlier or more public than the file says, and no entry is lost without a remark."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
from html import escape
from pathlib import Path
from random import Random

import pytest

from articles.exchange import READERS, Checker, PastDue, Remark, Timetable
from articles.exchange.outside_times import Parsed
from articles.exchange.records import Refused
from articles.models import Article

pytestmark = pytest.mark.django_db

FILES = int(os.environ.get("FUZZED_FILES", "200"))
NOW = datetime(2026, 11, 26, tzinfo=UTC)
OFFSETS = {
    "+0000": 0, "GMT": 0, "Z": 0, "-0000": 0, "+08": 480, "-05": -300, "+0530": 330, "+02:00": 120, "GMT+2": 120,
    "UTC-0330": -210, "EST": -300, "CEST": 120, "GMT+0100 (CET)": 60,
    "+8": None, "+800": None, "BST": None, "IST": None, "": None, "+2400": None, "+0899": None, "XYZ": None,
}  # fmt: skip
"""Minutes of what may stand behind a time; None is unclear."""

YEARS = {"2020": 2020, "2125": 2125, "20": 2020, "-0001": None, "0000": None, "120": None, "0020": None, "20200": None}
ENCODINGS = {"utf-8": "utf-8", "gb2312": "gb18030", "gbk": "gb18030", "utf-16": "utf-16"}
TITLES = ["Fog", "港湾", "", "\u200b", "x" * 300, "A\x0bB", "&nbsp;"]


@dataclass(frozen=True)
class Entry:
    """An entry of a feed, and when and whether readers may see it."""

    xml: str
    instant: datetime | None
    is_public: bool


def entry(number: int, random: Random) -> Entry:
    offset, year = random.choice([*OFFSETS]), random.choice([*YEARS, "2020", "2020"])
    minutes, full_year = OFFSETS[offset], YEARS[year]
    second = random.choice([0, 7, 59, 60])
    instant = None
    if minutes is not None and full_year is not None:
        zone = timezone(timedelta(minutes=minutes))
        instant = datetime(full_year, 3, 2, 23, 59, tzinfo=zone) + timedelta(seconds=second)
    weekday = random.choice(["Mon, ", "", "mon "])
    date = f"{weekday}2 {random.choice(['Mar', 'March'])} {year} 23:59:{second:02} {offset}".strip()
    state = random.choice(["", "", "", "yes", "no"])
    control = f"<app:control><app:draft>{state}</app:draft></app:control>" if state else ""
    reply = random.choice(["", "", "", '<thr:in-reply-to ref="x"/>'])
    title = escape(random.choice(TITLES)).replace("&amp;nbsp;", "&#160;")
    xml = (
        f"<item><title>{title}</title><guid>{random.choice(['7', 'urn:x:', 'y' * 300])}{number}</guid>"
        f"<pubDate>{date}</pubDate><description>Text.</description>{control}{reply}</item>"
    )
    return Entry(xml, instant, state != "yes" and not reply)


def write(path: Path, entries: list[Entry], random: Random) -> None:
    declared = random.choice([*ENCODINGS])
    app = random.choice(["http://www.w3.org/2007/app", "http://purl.org/atom/app#"])
    head = f'<rss xmlns:app="{app}" xmlns:thr="http://purl.org/syndication/thread/1.0"><channel>'
    text = f'<?xml version="1.0" encoding="{declared}"?>{head}{"".join(one.xml for one in entries)}</channel></rss>'
    path.write_bytes((random.choice(["", "\n\n"]) + text).encode(ENCODINGS[declared]))


def faults(path: Path, entries: list[Entry]) -> Iterator[str]:
    """What the import of the file gets wrong."""
    checker = Checker(Timetable(now=NOW, past_due=PastDue.HOLD))
    found = [one for one in READERS["rss"](path, encoding="utf-8") if one.place != path.name]
    if len(found) != len(entries):
        yield f"{len(entries) - len(found)} entries lost"
    for given, record in zip(entries, found, strict=False):
        if isinstance(record, Remark):
            continue
        try:
            article, _note = checker.check(record)
        except Refused:
            continue
        if article.status not in Article.Status.visible():
            continue
        if not given.is_public or given.instant is None:
            yield f"public: {given.xml}"
        elif article.publish_at is None or article.publish_at < given.instant:
            yield f"early: {article.publish_at}: {given.xml}"


def all_faults(folder: Path, files: int) -> Iterator[str]:
    for seed in range(files):
        random, path = Random(seed), folder / "feed.xml"  # noqa: S311 (repeatable)
        entries = [entry(number, random) for number in range(random.randint(1, 4))]
        write(path, entries, random)
        yield from faults(path, entries)


def test_generated_feeds_are_neither_early_nor_public_nor_lost(tmp_path: Path) -> None:
    """`make fuzz` generates 100,000."""
    assert next(all_faults(tmp_path, FILES), None) is None


def test_a_parser_that_guesses_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def guess(_name: str, value: object) -> Parsed:
        try:
            found = parsedate_to_datetime(str(value))
        except ValueError:
            found = NOW
        return Parsed(found if found.tzinfo else found.replace(tzinfo=UTC))

    monkeypatch.setattr("articles.exchange.feeds.parse_time", guess)

    assert next(all_faults(tmp_path, 50), None) is not None


def test_a_reader_that_ignores_drafts_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("articles.exchange.feeds.Entry._status", lambda _entry: "published")

    assert next(all_faults(tmp_path, 50), None) is not None
