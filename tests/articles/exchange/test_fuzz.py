"""Generated files: nothing is earlier or more public than they say, or lost without a line in the report."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from random import Random

import pytest

from articles.exchange import READERS, Checker, PastDue, Record, Timetable, Unreadable, shows_unknown
from articles.exchange.outside_times import Parsed
from articles.exchange.records import Refused
from articles.models import Article
from tests.articles.exchange.generated import FORMATS, Story

pytestmark = pytest.mark.django_db

FILES = int(os.environ.get("FUZZED_FILES", "120"))
NOW = datetime(2026, 11, 26, tzinfo=UTC)
MANY = 300
"""Files in which each mutant is found."""


def faults(form: str, path: Path, stories: list[Story]) -> Iterator[str]:
    """What the import of the file gets wrong."""
    try:
        found = [
            one for one in READERS["rss" if form == "atom" else form](path, encoding="utf-8") if one.place != path.name
        ]
    except Unreadable as error:
        yield f"refused: {error}"
        return
    if any(shows_unknown(one) for one in found if isinstance(one, Record)):
        if not any(one.is_misspelt and one.is_public for one in stories):
            yield "the whole file is refused"
        return
    if len(found) != len(stories):
        yield f"{len(stories) - len(found)} stories lost"
    checker = Checker(Timetable(now=NOW, past_due=PastDue.HOLD))
    seen: dict[str, str] = {}
    for story, record in zip(stories, found, strict=False):
        if isinstance(record, Record):
            yield from (f"{fault}: {story.written}" for fault in _faults(story, record, checker, seen))


def _faults(story: Story, record: Record, checker: Checker, seen: dict[str, str]) -> Iterator[str]:
    try:
        article, note = checker.check(record)
    except Refused:
        return  # a line of the report
    if story.word not in article.body + article.lines["title"] and not (note or record.notes):
        yield f"its text is lost without a note: {article.body}"
    if seen.setdefault(article.external_id, story.word) != story.word:
        yield "it has the id of another one"
    if article.status not in Article.Status.visible():
        return
    live = max(filter(None, [article.publish_at, article.embargo_until]), default=None)
    if not story.is_public or story.instant is None or story.is_misspelt:
        yield "it is public"
    elif live is None or live < story.instant:
        yield f"it is public from {live} on"


def all_faults(folder: Path, files: int, *, forms: tuple[str, ...] = tuple(FORMATS)) -> Iterator[str]:
    for seed in range(files):
        random, form = Random(seed), forms[seed % len(forms)]  # noqa: S311 (repeatable)
        content, stories = FORMATS[form](random, random.randint(1, 4))
        path = folder / "file"
        path.write_bytes(content)
        yield from (f"{form}, seed {seed}: {fault}" for fault in faults(form, path, stories))


def test_generated_files_are_neither_early_nor_public_nor_lost(tmp_path: Path) -> None:
    """`make fuzz` generates 100,000."""
    assert next(all_faults(tmp_path, FILES), None) is None


def _guess(_name: str, value: object, **_zone: object) -> Parsed:
    try:
        found = parsedate_to_datetime(str(value))
    except ValueError:
        try:
            found = datetime.fromisoformat(str(value))
        except ValueError:
            found = NOW
    return Parsed(found if found.tzinfo else found.replace(tzinfo=UTC))


MUTANTS: dict[str, tuple[str, str, Callable[..., object]]] = {
    "times of feeds are guessed": ("rss", "articles.exchange.feeds.parse_time", _guess),
    "times of records are guessed": ("jsonl", "articles.exchange.fields.parse_time", _guess),
    "times of cells are guessed": ("csv", "articles.exchange.fields.parse_time", _guess),
    "times of entries are guessed": ("atom", "articles.exchange.feeds.parse_time", _guess),
    "times of Ghost are guessed": ("ghost", "articles.exchange.fields.parse_time", _guess),
    "drafts of feeds are public": ("atom", "articles.exchange.feeds.Entry._status", lambda _entry: "published"),
    "passwords are ignored": ("jsonl", "articles.exchange.validate._status", lambda source: source["status"]),
    "misspelt fields are ignored": ("csv", "tests.articles.exchange.test_fuzz.shows_unknown", lambda _record: ""),
    "restricted posts are public": ("ghost", "articles.exchange.ghost._status", lambda post, _meta: post["status"]),
    "copied ids are one": ("rss", "articles.exchange.feeds._shared", lambda _entries: set()),
    "copied ids of posts are one": (
        "wxr", "articles.exchange.wordpress.Site.ids", lambda _site, post: (post.get("guid") or "x",),
    ),
}  # fmt: skip
"""A format, what is replaced and by what: each breaks the rule that it names."""


@pytest.mark.parametrize("name", MUTANTS)
def test_a_reader_that_breaks_a_rule_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    form, target, replacement = MUTANTS[name]
    monkeypatch.setattr(target, replacement)

    assert next(all_faults(tmp_path, MANY, forms=(form,)), None) is not None
