"""A newsroom moves to another installation: readers, editors and the engine find all of it there."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import F

from articles import demo, fronts, notes, publishing, releases
from articles.fronts import Operation, Recurrence
from articles.limits import MOST_CARDS, MOST_DRAFTS, MOST_REPLIES, NOTE_LENGTH, THREAD_LENGTH
from articles.models import (
    MICROSECOND,
    Article,
    Card,
    Channel,
    Front,
    FrontSeries,
    FrontVersion,
    Image,
    Note,
    Release,
    SavedView,
    SensitiveWord,
    Tag,
    Update,
)
from articles.text import Selector
from scheduling.database import read_database_clock
from scheduling.models import TaskInfo
from tests.articles.exchange.installations import addresses_of_site, crawl, read_as_staff, tasks
from tests.articles.exchange.test_export import run_export
from tests.articles.factories import approve, make_article, make_channel, make_editor, make_release, soon
from tests.articles.import_files import counts, run_import, write_lines
from tests.harness.processes import run_python
from tests.harness.schema import SQLITE, load

Status = Article.Status
DAY = timedelta(days=1)
OLD = datetime(2024, 2, 29, 23, 59, 59, 123456, tzinfo=UTC)

Other = Callable[..., str]
"""Runs a program on the other installation, and returns what it printed."""


@pytest.fixture
def other(tmp_path: Path, transactional_db: None) -> Other:
    """An empty installation on another database, with the account of its administrator and its own media folder."""
    data = tmp_path / "other"
    data.mkdir()
    if connection.vendor == "sqlite":
        shutil.copyfile(Path(os.environ["TEST_DIRECTORY"]) / SQLITE, data / "db.sqlite3")
        url = f"sqlite:///{data / 'db.sqlite3'}"
    else:
        url = f"{os.environ['DATABASE_URL'].rpartition('/')[0]}/moved_{os.environ.get('PYTEST_XDIST_WORKER', 'main')}"
        with connection.cursor() as cursor:
            cursor.execute(f"DROP DATABASE IF EXISTS {url.rpartition('/')[2]}")
        load(url)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("REDIS")}
    environment |= {"DATABASE_URL": url, "DATA_DIR": str(data), "DJANGO_SETTINGS_MODULE": "tests.settings"}
    environment |= {"TEST_SETTINGS": json.dumps({"DEBUG": False, "ALLOWED_HOSTS": ["*"]})}

    def run(*command: str) -> str:
        done = run_python(*command, env=environment)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def lived_in() -> None:
    """The demo newsroom, in which everything that can be has been done once."""
    demo.found(password="headline")
    postpone_what_goes_live_soon()
    by, author = make_editor("maya"), User.objects.get(username="author")
    make_channel("Weather", description="No article yet.", position=2)
    Channel.objects.filter(pk=make_channel("Archive").pk).update(enabled=False)
    Tag.objects.create(name="Unused", slug="nothing-here")
    moved = live("Old address", author=author, slug="old-address")
    for slug in ("newer-address", "港口-新地址"):
        change(moved, by, slug=slug)
    change(moved, by, body="<p>It was 6, not 7.</p>", correction="The number was wrong.")
    publishing.retract(live("Not true"), by=by, notice="It was not true.")
    publishing.unpublish(live("Unpublished"), by=by)
    waiting = make_article("Tomorrow", status=Status.APPROVED, publish_at=soon(days=1), unpublish_at=soon(days=2))
    publishing.edit(waiting, by=by, changes={"owner": author, "due_at": soon(hours=5)})
    make_article("Held", status=Status.APPROVED, publish_at=OLD, embargo_until=soon(hours=3))
    make_article("Over", status=Status.PUBLISHED, publish_at=OLD, published_at=OLD, unpublish_at=soon(days=-1))
    discussed(moved, by, author)
    updated = live("To be updated")
    prepared(updated, by, title="Updated tomorrow")
    publishing.schedule_update(updated, publish_at=soon(days=1), by=by)
    publishing.edit(updated, by=by, changes={"summary": "A draft after that."})
    release = make_release(waiting_without_time("Budget"), waiting_without_time("Comment"), by=by)
    releases.schedule_release(release, publish_at=soon(days=1), by=by)
    composed(by, release, moved, updated)
    done = make_release(waiting_without_time("Done"), by=by, name="Over and done")
    releases.publish_release_now(done, by=by)
    SensitiveWord.objects.create(text="forbidden word", level=SensitiveWord.Level.BLOCK)
    query = f"author={author.pk}&channel={Channel.objects.get(name='City').pk}&o=-1"
    SavedView.objects.create(owner=by, name="City by the author", query=query, shared=True)
    SavedView.objects.create(owner=by, name="Private", query="q=x")


def composed(by: User, release: Release, first: Article, second: Article) -> None:
    """A live front with everything that a card can have, one of a channel, and versions of each status."""
    front = fronts.open_front(language="en", by=by)
    live = fronts.start_draft(front, by=by)
    block = live.blocks.earliest("position")
    values = {"kind": "strip", "title": "港口", "backfill": "tag", "tag": Tag.objects.earliest("pk").pk, "size": 3}
    links = [{"article": second.pk, "headline": "And this"}, {"url": "https://weather.example/", "headline": "Sun"}]
    image = Image.objects.filter(focus_x=50).latest("created_at").pk
    texts = {"headline": "Its own headline", "kicker": "Now", "summary": "Its own summary.", "size": "large"}
    card = texts | {"article": first.pk, "image": image, "sublinks": links, "shows_until": soon(days=3)}
    later = {"url": "/latest/", "headline": "All news", "no_image": True, "shows_from": soon(days=2)}
    operations = [
        Operation(op="add_block", uuid=(strip := uuid4()), values=values),
        Operation(op="add_card", uuid=uuid4(), block=block.uuid, values=card),
        Operation(op="add_card", uuid=uuid4(), block=strip, values=later),
    ]
    fronts.edit_draft(live, operations, base=0, by=by)
    fronts.publish_version(live, by=by)
    fronts.schedule_version(fronts.start_draft(front, by=by), live_from=soon(days=1), by=by)
    releases.add_front(release, version=fronts.start_draft(front, by=by), by=by)
    draft = fronts.start_draft(front, by=by)
    fronts.edit_draft(draft, [Operation(op="add_block", uuid=uuid4(), values={"title": "Draft"})], base=0, by=by)
    fronts.start_draft(front, like=draft, by=by)
    city = fronts.open_front(language="en", channel=Channel.objects.get(name="City"), by=by)
    fronts.publish_version(fronts.start_draft(city, by=by), by=by)
    recurring(front, by)
    deleted = make_article("On a front, and deleted")
    Card.objects.filter(block__version=draft, url="").update(article=deleted)
    deleted.delete()


def recurring(front: Front, by: User) -> None:
    """Versions that recur: since three weeks, to come with a skipped day, and with a rule that is over."""
    now = read_database_clock()
    today, hour = now.date(), now + timedelta(hours=3)
    rule = Recurrence(days=tuple(range(7)), wall=hour.time().replace(second=0, microsecond=0), zone="UTC", starts=today)
    old, new, over = (fronts.start_draft(front, by=by) for _number in range(3))
    old_rule = replace(rule, starts=today - 21 * DAY, skipped=frozenset({today + 9 * DAY, today - 9 * DAY}))
    has_recurred(old, old_rule, now)
    has_recurred(over, replace(rule, wall=time(0, 1), starts=today - 29 * DAY, until=today - 22 * DAY), now)
    evening = replace(
        rule, days=(1, 3, 6), wall=time(2, 30), zone="Europe/Berlin", if_missing="later", if_twice="first"
    )
    fronts.repeat_version(new, rule=replace(evening, starts=today + DAY), by=by)
    day = next(day for day in (today + 9 * DAY, today + 10 * DAY, today + 11 * DAY) if day.weekday() in evening.days)
    fronts.skip_occurrence(new, day=day, by=by)


def has_recurred(version: FrontVersion, rule: Recurrence, now: datetime) -> None:
    """Let a version have recurred since its rule starts."""
    instants = fronts.occurrences_of(version, rule, now, since=now - 30 * DAY)
    values = {"status": FrontVersion.Status.SCHEDULED, "live_from": instants[0], "repeats": rule.as_json()}
    FrontVersion.objects.filter(pk=version.pk).update(**values, edited_by=[])
    fronts.store_occurrences(version, instants)


def later_fronts() -> list[str]:
    """The addresses of the front at instants beside its next times, and after changes of clocks."""
    now, found = read_database_clock(), FrontSeries.objects.all()
    soonest = [one.at for one in found.first_after(now, limit=12)[::3]]
    instants = [*soonest, soonest[-1] - MICROSECOND, now + 220 * DAY, now + 3000 * DAY]
    return [f"/en/?{urlencode({'at': at.isoformat()})}" for at in instants]


def postpone_what_goes_live_soon() -> None:
    """By a day: however busy the machine is, nothing of the demo changes for readers during the test."""
    for article in Article.objects.filter(publish_at__gt=soon()):
        for name in ("publish_at", "unpublish_at", "embargo_until"):
            moment = getattr(article, name)
            setattr(article, name, moment and moment + DAY)
        article.save()
    FrontVersion.objects.filter(live_from__gt=soon()).update(live_from=F("live_from") + DAY)
    for release in Release.objects.scheduled():
        assert release.publish_at is not None
        release.publish_at += DAY
        release.save()


def live(title: str, **values: Any) -> Article:
    published = {"status": Status.PUBLISHED, "publish_at": OLD, "published_at": OLD}
    return make_article(title, body=f"<p>{title}</p>", **published, **values)


def waiting_without_time(title: str) -> Article:
    return make_article(title, status=Status.APPROVED)


def prepared(article: Article, by: User, *, correction: str = "", **changes: Any) -> None:
    """An approved update."""
    publishing.edit(article, by=by, changes=changes, correction=correction)
    publishing.submit(article, by=by)
    approve(article)


def change(article: Article, by: User, **changes: Any) -> None:
    """Change a live article for readers."""
    prepared(article, by, **changes)
    publishing.publish_update(article, by=by)


def discussed(article: Article, by: User, author: User) -> None:
    """Two threads: an open one about a passage with spaces around it, and one that is resolved."""
    thread = notes.add_note(article, by=by, text="Sure?\nReally?", about=Selector("6", "It was ", ", not 7."))
    notes.reply(thread, by=author, text="@maya yes")
    notes.resolve_note(notes.add_note(article, by=author, text="Done."), by=by)


def moved(source: Path, other: Other, *options: str) -> list[str]:
    return other("manage.py", "import_articles", str(source), *options).splitlines()


def test_a_site_moves_with_all_that_readers_and_the_newsroom_have(other: Other, tmp_path: Path) -> None:
    """R0.1"""
    lived_in()
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    shutil.copytree(settings.MEDIA_ROOT, tmp_path / "other" / "media", dirs_exist_ok=True)
    total = Article.objects.count()

    assert run_export(first, "--whole-site").lines == [f"exported={total}"]
    dry_run = moved(first, other, "--dry-run")
    imported = moved(first, other)
    again = moved(first, other)
    other("manage.py", "export_articles", str(second), "--whole-site")

    assert dry_run == imported
    assert imported[-1] == counts(created=total)
    assert len(imported) == 2
    assert again == [counts(skipped=total)]
    assert second.read_text(encoding="utf-8").splitlines() == first.read_text(encoding="utf-8").splitlines()
    compare_readers(other, tmp_path)


def compare_readers(other: Other, tmp_path: Path) -> None:
    """Each page, feed, sitemap and response of the API is the same, and each task has the same time."""
    here = crawl(addresses_of_site()) | read_as_staff(later_fronts())
    path = tmp_path / "addresses.json"
    path.write_text(json.dumps(list(here)), encoding="utf-8")
    there = json.loads(other("-m", "tests.articles.exchange.installations", str(path)))
    assert {200, 301, 404, 410} <= {status for status, _place, _text in here.values()}
    assert differences(here, there["pages"]) == {}
    assert there["tasks"] == tasks()


def differences(here: dict[str, list[Any]], there: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """The addresses with other responses, and where those begin to differ."""
    found = {}
    for address, response in here.items():
        if there[address] != response:
            start = len(os.path.commonprefix([response[2], there[address][2]]))
            found[address] = [[*one[:2], one[2][max(start - 60, 0) : start + 60]] for one in (response, there[address])]
    return found


# Single records


def record(title: str, **fields: Any) -> dict[str, Any]:
    """A published article of a file."""
    return {"external_id": title, "title": title, "body": "x", "status": "published", "publish_at": str(OLD), **fields}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("unknown", "name"),
    [
        ({"kind": "chanel", "name": "City"}, "kind"),
        ({"kind": "channel", "name": "City", "descripton": "x"}, "descripton"),
        ({"kind": "release", "name": "A", "members": [{"artcle": "x"}]}, "members.artcle"),
        ({"kind": "front_version", "blocks": [{"cards": [{"showsFrom": "x"}]}]}, "blocks.cards.showsFrom"),
        ({"kind": "front_version", "repeats": {"untill": "2030-01-01"}}, "repeats.untill"),
        (record("A", update={"approved": {"title": "B"}, "publishAt": "2099-01-01T00:00:00Z"}), "update.publishAt"),
        (record("A", notes=[{"txt": "x"}]), "notes.txt"),
        (record("A", notes=[{"text": "x", "replies": [{"txt": "x"}]}]), "notes.replies.txt"),
    ],
)
def test_an_unknown_field_in_any_record_refuses_the_file(tmp_path: Path, unknown: dict[str, Any], name: str) -> None:
    path = write_lines(tmp_path / "a.jsonl", {"kind": "channel", "name": "Sport"}, record("First"), unknown)

    result = run_import(path)

    assert result.code == 2
    assert f'"{name}"' in result.error
    assert not Article.objects.exists()
    assert not Channel.objects.exists()


@pytest.mark.django_db
def test_numbers_are_kept_where_they_are_free(tmp_path: Path) -> None:
    """An article that must take another number takes none of a later one."""
    taken, deleted = make_article("Here"), make_article("Deleted")
    deleted_number = deleted.pk
    deleted.delete()
    free = deleted_number + 2
    numbers = {"A": taken.pk, "B": free, "C": deleted_number, "D": free + 9, "E": None, "F": free}
    path = write_lines(tmp_path / "a.jsonl", *(record(title, number=number) for title, number in numbers.items()))

    result = run_import(path)

    found = dict(Article.objects.exclude(pk=taken.pk).values_list("title", "pk"))
    assert (found["B"], found["D"]) == (free, free + 9)
    assert min(found["A"], found["C"], found["F"]) > free + 9
    assert result.lines == [
        "note: 3 articles have other numbers here, since their own are taken",
        counts(created=6),
    ]


@pytest.mark.django_db
@pytest.mark.parametrize("number", [-1, 10**9 + 1, "x", 1.5])
def test_an_impossible_number_is_refused(tmp_path: Path, number: object) -> None:
    assert run_import(write_lines(tmp_path / "a.jsonl", record("A", number=number))).summary == counts(failed=1)


@pytest.mark.django_db
def test_accounts_have_no_password_no_rights_and_no_address_of_another(tmp_path: Path) -> None:
    here = User.objects.create_superuser("Root", "root@gazette.example", "secret")
    lines = [
        {"kind": "user", "number": here.pk, "username": "root", "email": "other@gazette.example"},
        {"kind": "user", "number": here.pk, "username": "mei", "first_name": "Mei", "email": "ROOT@gazette.example"},
        {"kind": "user", "number": here.pk + 5, "username": "gone", "is_active": False},
        {"kind": "user", "username": "not a name!"},
        record("A", author="mei", owner="gone"),
    ]

    result = run_import(write_lines(tmp_path / "a.jsonl", *lines))

    here.refresh_from_db()
    assert here.email == "root@gazette.example"
    mei, gone = User.objects.get(username="mei"), User.objects.get(username="gone")
    assert not any((mei.is_staff, mei.is_superuser, mei.has_usable_password(), mei.email, gone.is_active))
    assert (mei.pk, gone.pk) == (here.pk + 6, here.pk + 5)
    assert (Article.objects.get().author, Article.objects.get().owner) == (mei, gone)
    assert result.summary == counts(created=1, failed=1)
    assert any("another account has it" in remark for remark in result.remarks)


@pytest.mark.django_db
@pytest.mark.parametrize(("policy", "is_kept"), [("hold", False), ("publish", True)])
def test_what_waited_for_a_time_that_is_past_is_held(tmp_path: Path, policy: str, *, is_kept: bool) -> None:
    """R0.1"""
    past = str(soon(hours=-1))
    release = {"kind": "release", "name": "Budget", "status": "scheduled", "publish_at": past, "created_at": str(OLD)}
    lines = [
        record("A", update={"approved": {"title": "B", "body": "y"}, "publish_at": past}),
        record("C", status="approved", publish_at=None),
        release | {"members": [{"article": "C", "title": "C", "action": "publish"}]},
    ]

    result = run_import(write_lines(tmp_path / "a.jsonl", *lines), "--past-due", policy)

    assert result.summary == counts(created=2)
    assert Update.objects.filter(publish_at__isnull=True).exists() is not is_kept
    assert Release.objects.filter(status=Release.Status.SCHEDULED).exists() is is_kept
    assert Article.objects.get(external_id="A").title == "A"
    kinds = set(TaskInfo.objects.values_list("task_type", flat=True))
    assert {"articles.update", "articles.release"}.isdisjoint(kinds) is not is_kept, kinds


@pytest.mark.django_db
def test_a_release_is_not_published_without_a_member_that_is_missing(tmp_path: Path) -> None:
    """R0.1"""
    members = [{"article": name, "title": name, "action": "publish"} for name in ("A", "Missing")]
    release = {"kind": "release", "name": "Budget", "status": "draft", "created_at": str(OLD), "members": members}
    lines = [record("A", status="approved", publish_at=None), release]

    result = run_import(write_lines(tmp_path / "a.jsonl", *lines))

    assert any("“Missing” is not here" in remark for remark in result.remarks)
    assert [member.title for member in Release.objects.get().members.filter(article=None)] == ["Missing"]


def version_record(number: int, *cards: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A version of the English front in a file, which readers got."""
    placed = [{"uuid": str(uuid4()), "size": "normal", **card} for card in cards]
    block = {"uuid": str(uuid4()), "kind": "list", "backfill": "none", "size": 5, "cards": placed}
    live_from, created_at = str(OLD + number * DAY), str(OLD + number * DAY)
    known = {"number": number, "status": "live", "live_from": live_from, "created_at": created_at, "blocks": [block]}
    return {"kind": "front_version", "front": "en", **known, **fields}


FRONT = {"kind": "front", "slug": "en", "language": "en", "channel": ""}


@pytest.mark.django_db
def test_what_cannot_be_on_a_front_here_is_noted_or_refused(tmp_path: Path) -> None:
    """Nothing goes live that was not to, or that editors could not have composed; a second import changes nothing."""
    SensitiveWord.objects.create(text="forbidden", level=SensitiveWord.Level.BLOCK)
    link = {"url": "/latest/", "headline": "Now"}
    release = {"name": "Not here", "created_at": str(OLD)}
    later = str(soon(days=1))
    lines = [
        FRONT,
        {**FRONT, "slug": "fr", "language": "fr"},
        version_record(
            1, link, {"article": "Not here", "title": "Gone", "image": str(uuid4()), "sublinks": [link] * 9}
        ),
        version_record(2, link, live_from=str(OLD + DAY)),
        version_record(3, link, status="scheduled", live_from=str(soon(hours=-1))),
        version_record(4, {**link, "headline": "forbidden"}, status="scheduled", live_from=later),
        version_record(5, link, status="in_release", release=release),
        version_record(6, {"url": "javascript:alert(1)"}),
        version_record(7, *[link] * 101, status="scheduled", live_from=later, author="unknown"),
        version_record(8, link, front="fr"),
        *(version_record(number, link, status="draft") for number in range(9, 27)),
    ]
    path = write_lines(tmp_path / "a.jsonl", *lines)

    result = run_import(path)

    kept = FrontVersion.objects.order_by("number").exclude(number__gt=8).values_list("number", "status")
    assert dict(kept) == {1: "scheduled", 2: "draft", 3: "draft", 4: "draft", 5: "draft", 7: "scheduled"}
    assert FrontVersion.objects.filter(status="draft").count() == MOST_DRAFTS
    assert Card.objects.filter(block__version__number=7).count() == MOST_CARDS
    assert [len(card.sublinks) for card in Card.objects.filter(title="Gone")] == [6]
    remarks = "\n".join(result.remarks)
    for expected in (
        "“Gone” is not here", "image of “Gone”", "sublinks: the first 6", "goes live at its time", "was due at",
        "forbidden", "its release is not here", "javascript", "101 cards", '"fr" is not known', "20 drafts at most",
    ):  # fmt: skip
        assert expected in remarks, expected
    assert result.summary == counts(failed=3)
    before = list(FrontVersion.objects.values().order_by("pk"))
    run_import(path)
    assert list(FrontVersion.objects.values().order_by("pk")) == before


@pytest.mark.django_db
def test_a_rule_that_cannot_be_kept_is_noted_or_refused(tmp_path: Path) -> None:
    """Readers get nothing that they would not have got, and nothing earlier; a second import changes nothing."""
    now, link = read_database_clock(), {"url": "/latest/", "headline": "Now"}
    clock, days = f"{now - timedelta(hours=2):%H:%M}", list(fronts.DAYS)
    due = datetime.fromisoformat(f"{now - timedelta(hours=2):%Y-%m-%dT%H:%M}:00+00:00")
    begin, earlier = due - 21 * DAY, due - timedelta(hours=1)
    rule = {"days": days, "time": clock, "zone": "UTC", "starts": "2020-01-01"}
    other = {**rule, "time": f"{earlier:%H:%M}"}
    night = {"time": "02:30", "zone": "Europe/Berlin", "if_twice": "first"}
    scheduled = {"status": "scheduled", "live_from": str(earlier)}
    wrongs: list[dict[str, Any]] = [
        {"days": []}, {"days": ["noday"]}, {"time": "6"}, {"time": "25:00"}, {"starts": ""}, {"until": "2030"},
        {"skipped": [str(due.date() + number * DAY) for number in range(401)]}, {"if_missing": "x"},
    ]  # fmt: skip
    lines = [
        FRONT,
        version_record(1, link, live_from=str(begin), repeats={**rule, "skipped": [str(due.date())]}),
        version_record(2, link, **scheduled, repeats=other),
        version_record(3, link, **scheduled | {"live_from": str(due)}, repeats={**rule, "days": ["sun"]}),
        version_record(4, link, **scheduled, repeats={**other, "until": str(earlier.date())}),
        version_record(5, link, **scheduled, repeats={**other, "zone": "Mars/Olympus"}),
        version_record(6, link, **scheduled, repeats={**other, **night}),
        version_record(7, link, **scheduled | {"live_from": str(due + 5 * DAY)}),
        *(version_record(8, link, **scheduled, repeats={**other, **wrong}) for wrong in wrongs),
        version_record(8, link, **scheduled, repeats=[rule]),
        version_record(8, link, live_until=str(begin + DAY), live_from=str(begin), repeats=rule),
    ]  # fmt: skip
    path = write_lines(tmp_path / "a.jsonl", *lines)

    result = run_import(path)

    first, second, *held = FrontVersion.objects.order_by("number")
    assert (first.live_from, second.live_from) == (begin, earlier + DAY)
    assert [one.at for one in first.series.all().between(begin - DAY, due + DAY)] == [
        begin + number * DAY for number in range(21)
    ] + [due + DAY]
    assert min(row.first for row in second.series.all()) == earlier + DAY
    assert [(one.status, one.live_from, one.repeats) for one in held] == [("draft", None, None)] * 5
    assert set(FrontSeries.objects.values_list("version", flat=True)) == {first.pk, second.pk}
    remarks = "\n".join(result.remarks)
    for expected, number in {
        "was due at": 1, "goes live at its time": 2, "no time that is to come": 1, "Mars/Olympus": 1,
        "does not exist in Europe/Berlin": 1, "is not a time of day": 2, "is not a day": 1, "400 days": 1,
        "days: is missing": 1, '"noday" is not known': 1, "stands beside a rule": 1, "is not an object": 1,
    }.items():  # fmt: skip
        assert remarks.count(expected) == number, (expected, remarks)
    assert result.summary == counts(failed=10)
    tables = (FrontVersion, FrontSeries)
    before = [list(table._default_manager.values().order_by("pk")) for table in tables]
    run_import(path)
    assert [list(table._default_manager.values().order_by("pk")) for table in tables] == before


@pytest.mark.django_db
def test_versions_that_are_here_stay_as_they_are(tmp_path: Path) -> None:
    """A version of another front of the same number gets a new one, and its texts lead where they led."""
    by = make_editor()
    front = fronts.open_front(language="en", by=by)
    make_article("Here", status=Status.PUBLISHED, publish_at=OLD, published_at=OLD)
    own = fronts.start_draft(front, by=by)
    link = {"url": "https://old.example/latest/", "headline": "All"}
    versions = [version_record(1, link), version_record(2, link, based_on=1)]
    site = {"kind": "site", "url": "https://old.example"}

    result = run_import(write_lines(tmp_path / "a.jsonl", site, FRONT, *versions))

    moved = FrontVersion.objects.exclude(pk=own.pk).order_by("number")
    assert [(one.number, one.based_on and one.based_on.number) for one in moved] == [(2, 3), (3, None)]
    assert {card.url for card in Card.objects.filter(block__version__in=moved)} == {"/latest/"}
    assert "it is version 3 here" in result.remarks[0]


@pytest.mark.django_db
def test_unknown_owners_and_writers_are_reported(tmp_path: Path) -> None:
    note = {"text": "Sure?", "author": "mei", "created_at": str(OLD)}
    lines = [record("A", owner="mei"), record("B", notes=[note]), record("C", author="mei"), record("D")]

    result = run_import(write_lines(tmp_path / "a.jsonl", *lines))

    assert result.summary == counts(created=4)
    assert [remark for remark in result.remarks if remark.startswith("note: 2 articles name owners or writers")]


@pytest.mark.django_db
def test_a_thread_of_more_replies_than_a_screen_shows_goes_on_in_the_next_one(tmp_path: Path) -> None:
    written = [{"text": f"Note {number}", "created_at": str(OLD)} for number in range(2 * MOST_REPLIES + 3)]
    note = {**written[0], "quote": "x", "resolved_at": str(OLD), "replies": written[1:]}
    run_import(write_lines(tmp_path / "a.jsonl", record("A", notes=[note])))
    threads = {one.text: one for one in Note.objects.filter(thread=None)}
    starts = (0, MOST_REPLIES + 1, 2 * MOST_REPLIES + 2)
    assert sorted(threads) == sorted(f"Note {start}" for start in starts)
    assert {(one.quote, one.is_resolved) for one in threads.values()} == {("x", True)}
    assert [threads[f"Note {start}"].replies.count() for start in starts] == [MOST_REPLIES, MOST_REPLIES, 0]
    assert run_import(write_lines(tmp_path / "a.jsonl", record("A", notes=[note]))).summary == counts(skipped=1)
    long = {"text": "x" * NOTE_LENGTH, "created_at": str(OLD)}
    run_import(write_lines(tmp_path / "b.jsonl", record("B", notes=[{**long, "replies": [long] * 6}])))
    most = THREAD_LENGTH // NOTE_LENGTH
    parts = Note.objects.filter(thread=None, text=long["text"])
    assert sorted(one.replies.count() + 1 for one in parts) == sorted([most, 7 - most])


@pytest.mark.django_db
def test_the_update_of_an_article_that_is_held_is_a_revision_only(tmp_path: Path) -> None:
    waiting = record("A", status="approved", update={"draft": {"title": "B", "body": "y"}})

    result = run_import(write_lines(tmp_path / "a.jsonl", waiting))

    article = Article.objects.get()
    assert (article.status, article.pending_update) == (Status.DRAFT, None)
    assert [revision.title for revision in article.revisions.order_by("number")] == ["A", "B"]
    assert "a revision only" in result.remarks[0]


@pytest.mark.django_db
def test_a_site_that_gets_another_address_leads_to_itself(tmp_path: Path) -> None:
    image = "0b5b6a43-2d3c-4a63-9a3b-3a4d9f1f6f01"
    about = {"digest": "d", "format": "jpeg", "widths": [320], "title": "Port", "alt": "Cranes"}
    old = "https://old.example"
    body = f'<p><a href="{old}/article/7/a/">a</a> <img src="{old}/media/%s/320.webp" alt=""></p>'
    lines = [
        {"kind": "site", "url": old},
        {"kind": "image", "id": image, **about},
        record("A", body=body % image, body_format="html"),
        record("B", body=body % image.replace("0b", "0c"), body_format="html"),
    ]

    result = run_import(write_lines(tmp_path / "a.jsonl", *lines))

    assert result.summary == counts(created=2)
    assert "the files of the image are missing; copy the media folder" in result.remarks[0]
    assert old not in Article.objects.get(external_id="A").body
    assert f"{old}/media/" in Article.objects.get(external_id="B").body, "an image that did not come along"
    assert Image.objects.get().uses.get().article.external_id == "A"


@pytest.mark.django_db
@pytest.mark.parametrize("option", [["--format", "wxr"], ["--status", "draft"], ["--since", "2026-01-01"]])
def test_a_whole_site_is_json_lines_with_all_articles(tmp_path: Path, option: list[str]) -> None:
    assert run_export(tmp_path / "a.jsonl", "--whole-site", *option).code == 2
    assert not (tmp_path / "a.jsonl").exists()
