"""Files of every import format, generated: dates, states, ids, encodings and nesting, clear and unclear ones.

Each story knows what a reader of the source knows: from when it is public, if it is, and a word of its text. What is
unclear there has no instant, so it must not become public.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from html import escape
from random import Random
from typing import Any

OFFSETS = {
    "+0000": 0, "GMT": 0, "Z": 0, "-0000": 0, "+08": 480, "-05": -300, "+0530": 330, "+02:00": 120, "GMT+2": 120,
    "UTC-0330": -210, "EST": -300, "CEST": 120, "GMT+0100 (CET)": 60,
    "+8": None, "+800": None, "BST": None, "IST": None, "": None, "+2400": None, "+0899": None, "XYZ": None,
}  # fmt: skip
"""Minutes of what may stand behind a time of a mail; None is unclear."""

ISO_OFFSETS = {
    "Z": 0, "z": 0, "+00:00": 0, "+08:00": 480, "-0500": -300, "+05": 300, " UTC": 0, " +0800": 480, "-12:00": -720,
    "": None, "+8": None, " BST": None, "+800": None, "+08:0": None, "+99:00": None,
}  # fmt: skip
YEARS = {"2020": 2020, "2125": 2125, "20": 2020, "-0001": None, "0000": None, "120": None, "0020": None, "20200": None}
ISO_YEARS = {"2020": 2020, "2125": 2125, "0020": None, "20200": None, "20": None, "-0001": None}
ENCODINGS = {"utf-8": "utf-8", "gb2312": "gb18030", "gbk": "gb18030", "utf-16": "utf-16"}
TITLES = ["Fog", "港湾", "", "\u200b", "x" * 300, "A\x0bB", "&nbsp;", "<b>Fog</b>", "2 < 3", "\u202eFog"]
AROUND = [
    "%s", "<p>%s</p>", "<div>" * 30 + "%s", "<ul><li>" * 20 + "%s", "<table><tr><td>%s", "<noscript>%s</noscript>",
    "<form>%s</form>", "<b style='font-weight:normal'>%s</b>", "<textarea>%s</textarea>", "%s\n\n<pre>a</pre>",
    "<p>x</p>" * 20 + "%s", "<p style='mso-list:l0 level1'>%s</p>", "<!-- x -->%s", "<p>%s",
    "<iframe src='//x.example'></iframe>%s", "%s</div></p>", "<a href='#n'>x</a><a name='n'>%s</a>",
]  # fmt: skip
"""HTML that shows the word in it."""


@dataclass(frozen=True)
class Time:
    """A time as it is written, and its instant, or None if it is missing or unclear."""

    text: str
    instant: datetime | None


@dataclass(frozen=True)
class Story:
    """A story of a file: as it is written there, and what the source says about it."""

    written: Any
    word: str
    instant: datetime | None
    is_public: bool
    is_misspelt: bool = False


def mail_time(random: Random, *, bare: int | None = None) -> Time:
    """A time as in mails; `bare` is the offset in minutes of one that has none."""
    offset, year = random.choice([*OFFSETS, "GMT", "GMT"]), random.choice([*YEARS, "2020", "2020"])
    second = random.choice([0, 7, 59, 60])
    weekday = random.choice(["Mon, ", "", "mon "])
    text = f"{weekday}2 {random.choice(['Mar', 'March'])} {year} 23:59:{second:02} {offset}".strip()
    return Time(text, _instant(YEARS[year], OFFSETS[offset] if offset else bare, second))


def iso_time(random: Random, *, bare: int | None = None) -> Time:
    """A time as in ISO 8601; `bare` is the offset in minutes of one that has none."""
    offset, year = random.choice([*ISO_OFFSETS, "Z", "Z"]), random.choice([*ISO_YEARS, "2020", "2020"])
    second, fraction = random.choice([0, 7, 59, 60]), random.choice(["", "", ".000", ".5", ",999999"])
    text = f"{year}-03-02{random.choice('Tt ')}23:59:{second:02}{fraction}{offset}"
    return Time(text, _instant(ISO_YEARS[year], ISO_OFFSETS[offset] if offset else bare, second))


def stamp(random: Random) -> Time:
    """A time of a database: without a zone, zero or none."""
    year = random.choice(["2020", "2020", "2125", "0000", "0001"])
    if year < "1":
        return Time(
            random.choice([f"{year}-00-00 00:00:00", "", f"{year}-01-01 00:00:00"][: 3 if year == "0001" else 2]), None
        )
    return Time(f"{year}-03-02 23:59:07", _instant(int(year), 0, 7))


def _instant(year: int | None, minutes: int | None, second: int) -> datetime | None:
    if year is None or minutes is None:
        return None
    return datetime(year, 3, 2, 23, 59, tzinfo=timezone(timedelta(minutes=minutes))) + timedelta(seconds=second)


def _word(number: int) -> str:
    return f"word{number}x"


def _body(number: int, random: Random) -> str:
    return random.choice(AROUND) % _word(number)


def _xml_text(text: str, random: Random) -> str:
    return f"<![CDATA[{text}]]>" if random.random() < 0.5 else escape(text).replace("&amp;nbsp;", "&#160;")


def _xml(name: str, root: str, content: str, random: Random) -> bytes:
    declared = random.choice([*ENCODINGS])
    doctype = random.choice(["", "", f"<!DOCTYPE {name}>\n"])
    text = f'<?xml version="1.0" encoding="{declared}"?>\n{doctype}{root}{content}'
    return (random.choice(["", "\n\n"]) + text).encode(ENCODINGS[declared])


def rss(random: Random, count: int) -> tuple[bytes, list[Story]]:
    stories = [_item(number, random) for number in range(count)]
    app = random.choice(["http://www.w3.org/2007/app", "http://purl.org/atom/app#"])
    root = f'<rss xmlns:app="{app}" xmlns:thr="http://purl.org/syndication/thread/1.0"><channel>'
    return _xml("rss", root, "".join(one.written for one in stories) + "</channel></rss>", random), stories


def _item(number: int, random: Random) -> Story:
    time, state = mail_time(random), random.choice(["", "", "", "yes", "no"])
    control = f"<app:control><app:draft>{state}</app:draft></app:control>" if state else ""
    reply = random.choice(["", "", "", '<thr:in-reply-to ref="x"/>'])
    guid = random.choice([f"7{number}", f"urn:x:{number}", "y" * 300 + str(number), "same"])
    xml = (
        f"<item><title>{_xml_text(random.choice(TITLES), random)}</title><guid>{guid}</guid>"
        f"<link>https://x.example/{number}</link><pubDate>{time.text}</pubDate>"
        f"<description>{_xml_text(_body(number, random), random)}</description>{control}{reply}</item>"
    )
    return Story(xml, _word(number), time.instant, state != "yes" and not reply)


def atom(random: Random, count: int) -> tuple[bytes, list[Story]]:
    stories = [_entry(number, random) for number in range(count)]
    names = 'xmlns:app="http://www.w3.org/2007/app" xmlns:b="http://schemas.google.com/blogger/2018"'
    root = f'<feed xmlns="http://www.w3.org/2005/Atom" {names}><id>tag:x.example,2020:feed</id>'
    return _xml("feed", root, "".join(one.written for one in stories) + "</feed>", random), stories


def _entry(number: int, random: Random) -> Story:
    time, state = iso_time(random), random.choice(["", "", "yes", "no"])
    element = random.choice(["published", "updated"])
    kind = random.choice(["", "", "post", "comment", "page", "template", "settings"])
    category = f'<category scheme="http://schemas.google.com/g/2005#kind" term="http://x.example/kind#{kind}"/>'
    trashed = random.choice(["", "", "", "LIVE", "DRAFT", "SOFT_TRASHED"])
    xml = (
        f"<entry><id>{random.choice([f'tag:x,2020:{number}', f'{number}', 'same'])}</id>"
        f"<title>{_xml_text(random.choice(TITLES), random)}</title><{element}>{time.text}</{element}>"
        f'<link href="https://x.example/{number}"/>'
        f'<content type="html">{_xml_text(_body(number, random), random)}</content>'
        f"{f'<app:control><app:draft>{state}</app:draft></app:control>' if state else ''}"
        f"{category if kind else ''}{f'<b:status>{trashed}</b:status>' if trashed else ''}</entry>"
    )
    is_public = state != "yes" and kind in ("", "post") and trashed in ("", "LIVE")
    return Story(xml, _word(number), time.instant, is_public)


WXR_ROOT = (
    '<rss version="2.0" xmlns:excerpt="http://wordpress.org/export/1.2/excerpt/"'
    ' xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:dc="http://purl.org/dc/elements/1.1/"'
    ' xmlns:wp="http://wordpress.org/export/1.2/"><channel><wp:wxr_version>1.2</wp:wxr_version>'
    "<wp:base_blog_url>https://x.example</wp:base_blog_url>"
)


def wxr(random: Random, count: int) -> tuple[bytes, list[Story]]:
    stories = [_post(number, random) for number in range(count)]
    return _xml("rss", WXR_ROOT, "".join(one.written for one in stories) + "</channel></rss>", random), stories


def _post(number: int, random: Random) -> Story:
    utc, local = stamp(random), stamp(random)
    published = mail_time(random) if random.random() < 0.3 else Time("", None)
    status = random.choice(
        ["publish", "publish", "publish", "future", "draft", "private", "pending", "trash", "inherit"]
    )
    kind = random.choice(["post", "post", "post", "page", "attachment", "revision"])
    password = random.choice(["", "", "", "secret"])
    time = utc if utc.instant else _of_post(published, local)
    number_of = [f"https://x.example/?p={number}", "https://x.example/?p=0", "y" * 300 + str(number), ""]
    xml = (
        f"<item><title>{_xml_text(random.choice(TITLES), random)}</title><pubDate>{published.text}</pubDate>"
        f"<guid>{random.choice(number_of)}</guid>"
        f"<content:encoded>{_xml_text(_body(number, random), random)}</content:encoded>"
        f"<wp:post_id>{number}</wp:post_id><wp:post_date>{local.text}</wp:post_date>"
        f"<wp:post_date_gmt>{utc.text}</wp:post_date_gmt><wp:status>{status}</wp:status>"
        f"<wp:post_type>{kind}</wp:post_type><wp:post_password>{password}</wp:post_password></item>"
    )
    is_public = status in ("publish", "future") and kind == "post" and not password
    return Story(xml, _word(number), time.instant, is_public)


def _of_post(published: Time, local: Time) -> Time:
    """The time of a post without one in UTC; a local one counts only if it is past everywhere."""
    is_zero = any(year in published.text for year in (" 0000 ", " -0001 "))
    if published.text and not is_zero:
        return published
    is_past = local.instant is not None and local.instant.year < 2100  # noqa: PLR2004
    return local if is_past else Time("", None)


def ghost(random: Random, count: int) -> tuple[bytes, list[Story]]:
    stories = [_ghost_post(number, random) for number in range(count)]
    export = {"meta": {"version": "5"}, "data": {"posts": [one.written for one in stories]}}
    return json.dumps({"db": [export]} if random.random() < 0.7 else export).encode(), stories


def _ghost_post(number: int, random: Random) -> Story:
    written, instant = random.choice([_ghost_iso, _ghost_number, _ghost_mail])(random)
    status = random.choice(["published", "published", "published", "draft", "scheduled", "sent"])
    kind, visibility = (
        random.choice(["post", "post", "post", "page"]),
        random.choice(["public", "public", "members", "paid"]),
    )
    post = {
        "id": str(number), "uuid": f"00000000-0000-4000-8000-{number:012}", "title": random.choice([*TITLES, None]),
        "slug": f"p{number}", "html": _body(number, random), "type": kind, "status": status, "visibility": visibility,
        "published_at": written,
    }  # fmt: skip
    is_public = status in ("published", "scheduled") and kind == "post" and visibility == "public"
    return Story(post, _word(number), instant, is_public)


def _ghost_iso(random: Random) -> tuple[object, datetime | None]:
    time = iso_time(random, bare=0)
    return time.text, time.instant


def _ghost_number(random: Random) -> tuple[object, datetime | None]:
    value = random.choice([1_583_193_547_000, 1_583_193_547_000.5, 10**18, -(10**15), None, 4_900_000_000_000])
    is_clear = value is not None and 0 < value < 10**15
    return value, datetime.fromtimestamp(value / 1000, UTC) if value is not None and is_clear else None


def _ghost_mail(random: Random) -> tuple[object, datetime | None]:
    time = mail_time(random, bare=0)
    return time.text, time.instant


def _record(number: int, random: Random) -> Story:
    time, embargo = iso_time(random), random.choice([Time("", None), Time("", None), iso_time(random)])
    status = random.choice(
        ["published", "published", "publish", "9", "scheduled", "draft", "private", "", "pending", "limbo"]
    )
    fields: dict[str, object] = {
        "external_id": random.choice([f"r{number}", "y" * 300 + str(number)]), "title": random.choice(TITLES),
        "body": _body(number, random), "status": status, "publish_at": time.text, "embargo_until": embargo.text,
    }  # fmt: skip
    odd = random.choice([*[""] * 12, "embargo_untill", "Embargo", "password", "post_password", "unpublishAt"])
    if odd:
        fields[odd] = "2125-01-01T00:00:00Z"
    instants = [time.instant, embargo.instant] if embargo.text else [time.instant]
    latest = None if None in instants else max(one for one in instants if one)
    is_public = status in ("published", "publish", "9", "scheduled") and "password" not in odd
    return Story(fields, _word(number), latest, is_public, is_misspelt=bool(odd) and "password" not in odd)


def json_lines(random: Random, count: int) -> tuple[bytes, list[Story]]:
    stories = [_record(number, random) for number in range(count)]
    lines = "".join(
        json.dumps(one.written, ensure_ascii=random.random() < 0.5) + random.choice(["\n", "\r\n", "\n\n"])
        for one in stories
    )
    return (random.choice(["", "\ufeff"]) + lines).encode(), stories


def spreadsheet(random: Random, count: int) -> tuple[bytes, list[Story]]:
    stories = [_record(number, random) for number in range(count)]
    columns = list(dict.fromkeys(name for one in stories for name in one.written))
    sheet, delimiter = io.StringIO(), random.choice(",;\t")
    rows = csv.DictWriter(sheet, columns, delimiter=delimiter, restval="")
    rows.writeheader()
    rows.writerows(one.written for one in stories)
    named = f"sep={delimiter}\r\n" if random.random() < 0.3 else ""
    return (named + sheet.getvalue()).encode(random.choice(["utf-8", "utf-8-sig", "utf-16"])), stories


FORMATS: dict[str, Callable[[Random, int], tuple[bytes, list[Story]]]] = {
    "rss": rss, "atom": atom, "wxr": wxr, "ghost": ghost, "jsonl": json_lines, "csv": spreadsheet,
}  # fmt: skip
