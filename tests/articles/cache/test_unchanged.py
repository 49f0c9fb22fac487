"""Changes that readers do not see change no time, version, order or header of what they read."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client
from django.utils import timezone

from articles import images, publishing, releases
from articles.audit.log import StateSnapshot
from articles.cache import views
from articles.cache.tags import SITE
from articles.cache.versions import invalidate
from articles.models import Article, Channel, CoverMode, ReleaseMember, Tag
from articles.publishing.previews import make_preview_link
from articles.publishing.undo import latest_entries, undo_transition
from articles.workflow import Transition
from tests.articles.factories import (
    APPROVED,
    approve,
    make_article,
    make_channel,
    make_editor,
    make_release,
    some_user,
    soon,
)
from tests.articles.image_files import make_image
from tests.articles.import_files import run_import, write_lines
from tests.harness import eventually

pytestmark = pytest.mark.django_db(transaction=True)

Status = Article.Status
Deed = Callable[[Article, User], object]

FORMS = ("", "atom/", "json/")
SCOPES = ("/", "/channel/town/", "/tag/rain/", "/author/{author}/")
CURSORS = [
    *(f"{scope}?page_size=50" for scope in SCOPES), "/latest/", "/search/?q=seen", "/search/?author={author}",
    "/api/v1/articles/?page_size=50", "/api/v1/articles/?page_size=1", "/api/v1/articles/?q=seen",
    "/api/v1/articles/?tag=rain", "/api/v1/articles/?author={author}", "/api/v1/articles/?channel=town",
    "/api/v1/channels/", "/sitemap.xml", "/sitemap-pages.xml", "/sitemap-0.xml", "/news-sitemap.xml", "/robots.txt",
    *(f"{scope}feed/{form}" for scope in SCOPES for form in FORMS),
]  # fmt: skip
OF_EACH = ["/article/{pk}/", "/article/{pk}/{slug}/", "/api/v1/articles/{pk}/"]


@pytest.fixture(autouse=True)
def _cached_for_a_minute(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with Redis, whichever cache the tests run on; no two URLs share a cache entry, which has their time."""
    settings.PAGE_CACHE_SECONDS = 60.0

    real = views.get_or_build
    monkeypatch.setattr(views, "get_or_build", lambda *given, slots, **more: real(*given, slots=slots * 10**12, **more))


@pytest.fixture
def editor() -> User:
    return make_editor()


@pytest.fixture
def ada() -> User:
    return User.objects.create_user("ada", first_name="Ada", last_name="Lin")


@pytest.fixture
def article(ada: User) -> Article:
    return make_live(author=ada)


def make_live(title: str = "Harbour bridge reopens", **values: Any) -> Article:
    town = Channel.objects.filter(name="Town").first() or make_channel("Town")
    values = {"status": Status.PUBLISHED, "publish_at": soon(hours=-1), "channel": town, **values}
    article = make_article(title, **values)
    article.tags.add(Tag.objects.get_or_create(name="Rain")[0])
    return Article.objects.get(pk=article.pk)


def everything(author: User) -> Mapping[str, tuple[int, Mapping[str, str], str]]:
    """All public responses, built without the cache, which could hide a change."""
    invalidate([SITE])
    cursors = [cursor.format(author=author.pk) for cursor in CURSORS]
    for pk, slug in Article.objects.values_list("pk", "slug"):
        cursors += [cursor.format(pk=pk, slug=slug) for cursor in OF_EACH]
    responses = {cursor: Client().get(cursor) for cursor in cursors}
    return {
        cursor: (response.status_code, dict(response.headers), response.text) for cursor, response in responses.items()
    }


def saved(article: Article, update_fields: list[str] | None = None, **values: Any) -> None:
    """By `save()`, not by a service."""
    for name, value in values.items():
        setattr(article, name, value)
    article.save(update_fields=update_fields)


def pending_update_saved(article: Article, editor: User, **changes: Any) -> None:
    """Write and approve it."""
    article = Article.objects.get(pk=article.pk)
    publishing.edit(article, by=editor, changes=changes or {"title": "Zanzibar"})
    publishing.submit(article, by=editor)
    approve(article)


def same_text_again(article: Article, editor: User) -> None:
    title = article.title
    publishing.edit(article, by=editor, changes={"title": "Zanzibar"})
    pending_update_saved(article, editor, title=title)
    publishing.publish_update(article, by=editor)


def same_text_again_by_the_clock(article: Article, editor: User) -> None:
    publishing.edit(article, by=editor, changes={"title": "Zanzibar"})
    pending_update_saved(article, editor, title=article.title)
    publishing.schedule_update(article, publish_at=soon(), by=editor)
    with transaction.atomic():
        assert publishing.update_due([article.pk]).done


def same_cover_chosen_by_hand(article: Article, editor: User) -> None:
    pending_update_saved(article, editor, cover_mode=CoverMode.NONE)
    publishing.publish_update(article, by=editor)


def planned_in_a_release(article: Article, editor: User) -> None:
    release = releases.create_release(name="Zanzibar", by=editor)
    releases.add_member(release, article=article, action=ReleaseMember.Action.UNPUBLISH, by=editor)
    releases.schedule_release(release, publish_at=soon(hours=1), by=editor)


def a_claim_and_a_rejection(article: Article, editor: User) -> None:
    publishing.edit(article, by=editor, changes={"title": "Zanzibar"})
    publishing.submit(article, by=editor)
    reviewer = some_user("reviewer", "review_article")
    publishing.soft_lock(article, by=reviewer)
    publishing.reject(article, by=reviewer, reason="Zanzibar")


def an_update_planned_and_dropped(article: Article, editor: User) -> None:
    pending_update_saved(article, editor)
    publishing.schedule_update(article, publish_at=soon(hours=1), by=editor)
    publishing.unschedule_update(article, by=editor)
    publishing.discard_update(article, by=editor)


def written_rescheduled_and_retracted(article: Article, editor: User) -> None:
    pending_update_saved(article, editor, summary="Zanzibar", tags=[Tag.objects.create(name="Zanzibar")])
    publishing.schedule_many([article], publish_at=soon(days=2), by=editor)
    publishing.set_embargo(article, until=soon(days=3), by=editor)
    publishing.retract(article, by=editor, notice="Zanzibar")


def drafts_come_and_go(article: Article, editor: User) -> None:
    draft = make_article("Seen", channel=article.channel, author=article.author, publish_at=soon(hours=-1))
    draft.tags.set(article.tags.all())
    draft.body = "Zanzibar"
    draft.save()
    draft.delete()


def more_is_written_than_is_shown(article: Article, editor: User) -> None:
    future, past = soon(days=1), soon(minutes=-9)
    states: list[dict[str, Any]] = [
        *({"status": status, "publish_at": past} for status in set(Status) - set(Status.visible())),
        {"publish_at": None},
        {"publish_at": future},
        {"publish_at": past, "embargo_until": future},
        {"publish_at": soon(hours=-1), "unpublish_at": past},
    ]
    for state in states:
        make_live("Seen", **{"status": APPROVED, "channel": article.channel, "author": article.author, **state})
    make_channel("Zanzibar", enabled=False)


def an_image_is_renamed(article: Article, editor: User) -> None:
    images.change_image(make_image(editor), by=editor, changes={"title": "Zanzibar"})


def by_no_author(article: Article, editor: User) -> None:
    publishing.edit(article, by=editor, changes={"author": editor})


UNSEEN: dict[str, Deed] = {
    "a planned taking-off": lambda one, by: publishing.edit(one, by=by, changes={"unpublish_at": soon(days=1)}),
    "one by code": lambda one, by: saved(one, unpublish_at=soon(days=2)),
    "one by a statement": lambda one, by: Article.objects.filter(pk=one.pk).update(unpublish_at=soon(days=3)),
    "a save of nothing": lambda one, by: saved(one),
    "a draft": lambda one, by: publishing.edit(one, by=by, changes={"title": "Zanzibar"}),
    "a planned release": planned_in_a_release,
    "an approved newer text": pending_update_saved,
    "an update that was planned and dropped": an_update_planned_and_dropped,
    "an update that says the same": same_text_again,
    "an update that says the same, by the clock": same_text_again_by_the_clock,
    "an update whose cover was chosen by hand": same_cover_chosen_by_hand,
    "a claim and a refusal": a_claim_and_a_rejection,
    "another author under a byline": by_no_author,
    "another author without a name": by_no_author,
    "a link for outsiders": lambda one, by: make_preview_link(one, by=by, lasts=timedelta(hours=1)),
    "what an import remembers": lambda one, by: Article.objects.filter(pk=one.pk).update(external_digest="z"),
    "what waits": written_rescheduled_and_retracted,
    "what is off": pending_update_saved,
    "what is a draft": drafts_come_and_go,
    "what is hidden": more_is_written_than_is_shown,
    "a picture that nothing shows": an_image_is_renamed,
}
STATES: dict[str, dict[str, Any]] = {
    "what waits": {"status": APPROVED, "publish_at": None},
    "what is off": {"status": Status.UNPUBLISHED, "published_at": datetime(2026, 1, 1, tzinfo=UTC)},
    "another author under a byline": {"byline": "By the wire"},
}


def test_invisible_changes_change_no_response(editor: User, ada: User) -> None:
    """R5.5: each change is made to a separate article, named in its headline."""
    authors = {"another author without a name": make_editor("bob")}
    for title in UNSEEN:
        make_live(title, **{"author": authors.get(title, ada), "summary": "Seen", **STATES.get(title, {})})
    before = everything(ada)
    for title, deed in UNSEEN.items():
        deed(Article.objects.get(title=title), editor)
    after = everything(ada)
    assert [cursor for cursor in before if before[cursor] != after[cursor]] == []


def seen_at(article: Article) -> set[datetime]:
    """The article's time of change in every response that has one."""
    invalidate([SITE])
    address = Article.objects.get(pk=article.pk).get_absolute_url()
    script = re.findall(r'ld\+json">(.*?)</script>', Client().get(address).text, re.DOTALL)[0]
    listed = Client().get("/api/v1/articles/").json()["results"]
    moments = [
        json.loads(script)["dateModified"],
        Client().get(f"/api/v1/articles/{article.pk}/").json()["updated_at"],
        *(one["updated_at"] for one in listed if one["id"] == article.pk),
        *(one["date_modified"] for one in Client().get("/feed/json/").json()["items"] if address in one["url"]),
        *_updated_in_atom(address),
        *_lastmod(f"/sitemap-{article.pk // 5000}.xml", address),
        *_lastmod("/sitemap.xml", f"/sitemap-{article.pk // 5000}.xml"),
    ]
    assert len(moments) == 7
    return {datetime.fromisoformat(moment) for moment in moments}


def _updated_in_atom(address: str) -> Iterator[str]:
    feed = ElementTree.fromstring(Client().get("/feed/atom/").content)
    for entry in feed.iterfind("{*}entry"):
        if address in str(entry.find("{*}link").attrib):  # type: ignore[union-attr]
            yield entry.findtext("{*}updated", "")


def _lastmod(sitemap: str, address: str) -> Iterator[str]:
    for element in ElementTree.fromstring(Client().get(sitemap).content):
        if element.findtext("{*}loc", "").endswith(address):
            yield element.findtext("{*}lastmod", "")


@contextmanager
def dated(article: Article) -> Iterator[None]:
    """Changes of the block are dated with its instant in every response."""
    Article.objects.filter(pk=article.pk).update(text_changed_at=soon(hours=-1))
    before = soon()
    yield
    (moment,) = seen_at(article)
    assert before <= moment <= soon()


def by_an_update(article: Article, editor: User) -> None:
    pending_update_saved(article, editor)
    publishing.publish_update(article, by=editor)


def by_the_clock(article: Article, editor: User) -> None:
    pending_update_saved(article, editor)
    publishing.schedule_update(article, publish_at=soon(), by=editor)
    with transaction.atomic():
        assert publishing.update_due([article.pk]).done


def by_a_release(article: Article, editor: User) -> None:
    pending_update_saved(article, editor)
    releases.publish_release_now(make_release(article, by=editor), by=editor)


def by_a_correction(article: Article, editor: User) -> None:
    publishing.edit(article, by=editor, changes={}, correction="It was Zanzibar.")
    publishing.submit(article, by=editor)
    approve(article)
    publishing.publish_update(article, by=editor)


def by_tags_alone(article: Article, editor: User) -> None:
    pending_update_saved(article, editor, tags=[Tag.objects.create(name="Zanzibar")])
    publishing.publish_update(article, by=editor)


def unpublished_changed_and_restored(article: Article, editor: User) -> None:
    publishing.unpublish(article, by=editor)
    pending_update_saved(article, editor)
    Article.objects.filter(pk=article.pk).update(text_changed_at=soon(hours=-1))
    publishing.republish(article, by=editor)


def unpublished_and_undo_transition(article: Article, editor: User) -> None:
    before = StateSnapshot.of(article)
    publishing.unpublish(article, by=editor)
    Article.objects.filter(pk=article.pk).update(text_changed_at=soon(hours=-1))
    entry = latest_entries([article.pk])[article.pk]
    undo_transition(article, transition=Transition.UNPUBLISH, before=before, entry=entry, by=editor)


def retracted_and_undone(article: Article, editor: User) -> None:
    publishing.retract(article, by=editor, notice="Zanzibar")
    publishing.undo_retraction(article, by=editor)
    publishing.republish(article, by=editor)


SEEN: dict[str, Deed] = {
    "a save": lambda one, by: saved(one, summary="Zanzibar"),
    "a save of one field": lambda one, by: saved(one, update_fields=["body"], body="Zanzibar"),
    "a statement": lambda one, by: Article.objects.filter(pk=one.pk).update(byline="Zanzibar"),
    "another author": lambda one, by: publishing.edit(one, by=by, changes={"author": by}),
    "an update": by_an_update,
    "an update by the clock": by_the_clock,
    "a release": by_a_release,
    "a correction": by_a_correction,
    "tags alone": by_tags_alone,
    "withdrawn, changed and restored": unpublished_changed_and_restored,
    "withdrawn, and put back": unpublished_and_undo_transition,
    "killed, revived and restored": retracted_and_undone,
}


@pytest.mark.cases(4)
@pytest.mark.parametrize("deed", SEEN)
def test_visible_changes_have_the_time_they_became_visible(article: Article, editor: User, deed: str) -> None:
    with dated(article):
        SEEN[deed](article, editor)


@pytest.mark.thorough
def test_a_text_restored_by_a_rollback_has_a_new_time(article: Article, editor: User) -> None:
    pending_update_saved(article, editor, tags=[Tag.objects.create(name="Zanzibar")])
    release = make_release(article, by=editor)
    releases.publish_release_now(release, by=editor)
    with dated(article):
        releases.roll_back_release(release, by=editor)


@pytest.mark.thorough
def test_an_imported_change_has_a_new_time_if_it_is_visible(tmp_path: Path) -> None:
    file = tmp_path / "articles.jsonl"
    published = soon(hours=-2).replace(microsecond=0)
    record = {"external_id": "1", "title": "One", "status": "published", "publish_at": published.isoformat()}
    run_import(write_lines(file, record))
    article = Article.objects.get()
    assert seen_at(article) == {published}
    Article.objects.update(text_changed_at=soon(hours=-1))
    stamp = seen_at(article)
    run_import(write_lines(file, {**record, "unpublish_at": soon(days=1).isoformat()}))
    assert seen_at(article) == stamp
    with dated(article):
        run_import(write_lines(file, {**record, "title": "Uno"}))


def test_the_migration_keeps_the_times_that_readers_saw(monkeypatch: pytest.MonkeyPatch) -> None:
    migration = import_module("articles.migrations.0015_text_changed_at")
    monkeypatch.setattr(migration, "AT_ONCE", 2)
    for _ in range(3):
        make_live()
    Article.objects.update(text_changed_at=None, updated_at=soon(hours=-9))
    migration.fill(apps, None)
    assert {article.text_changed_at == article.updated_at for article in Article.objects.all()} == {True}


@pytest.mark.parametrize(("publish_at", "published_at"), [(-2, -3), (None, -1)])
def test_no_import_dates_anything_in_the_future_or_before_its_time(
    tmp_path: Path, publish_at: int | None, published_at: int
) -> None:
    times = {"publish_at": publish_at, "published_at": published_at}
    record = {name: soon(hours=hours).isoformat() for name, hours in times.items() if hours is not None}
    run_import(write_lines(tmp_path / "articles.jsonl", {"title": "One", "status": "published", **record}))
    (response,) = Client().get("/api/v1/articles/").json()["results"]
    came, went, changed = (
        datetime.fromisoformat(response[name]) for name in ("publish_at", "published_at", "updated_at")
    )
    assert came <= went <= soon()
    assert came <= changed <= soon()


def test_a_late_publication_has_the_time_it_went_live(editor: User) -> None:
    past = soon(hours=-1)
    refused = make_article("Refused", status=Status.MANUAL_REVIEW, publish_at=past)
    held = make_article("Held", status=APPROVED, publish_at=past, embargo_until=soon(hours=1))
    late, with_others = (make_article(title, status=APPROVED) for title in ("Late", "With others"))
    for article, deed in (
        (refused, lambda: approve(refused)),
        (held, lambda: publishing.set_embargo(held, until=None, by=editor)),
        (late, lambda: publishing.schedule(late, publish_at=past, by=editor)),
        (with_others, lambda: publishing.schedule_many([with_others], publish_at=past, by=editor)),
    ):
        with dated(article):
            deed()


def test_changes_before_publication_have_the_time_of_publication(editor: User) -> None:
    """Nothing is dated before its time: neither the text nor the correction that went with it."""
    article = make_article(status=APPROVED, publish_at=soon(minutes=1))
    publishing.edit(article, by=editor, changes={"title": "Zanzibar"}, correction="It was Sansibar.")
    publishing.submit(article, by=editor)
    approve(article)
    assert Article.objects.get(pk=article.pk).title == "Zanzibar"
    publishing.schedule(article, publish_at=soon(seconds=0.3), by=editor)
    address = f"/api/v1/articles/{article.pk}/"
    eventually(lambda: Client().get(address).status_code == 200)
    response = Client().get(address).json()
    assert response["updated_at"] == response["publish_at"]
    assert [one["published_at"] for one in response["corrections"]] == [response["publish_at"]]
    assert seen_at(article) == {datetime.fromisoformat(response["publish_at"])}
    with transaction.atomic():
        assert publishing.publish_due([article.pk]).done
    assert Client().get(address).json()["updated_at"] == response["updated_at"]


def test_changes_while_unpublished_have_the_time_of_republication(article: Article, editor: User) -> None:
    def corrections() -> list[str]:
        found = Client().get(f"/api/v1/articles/{article.pk}/").json()["corrections"]
        return [one["published_at"] for one in found]

    by_a_correction(article, editor)
    (first,) = corrections()
    publishing.unpublish(article, by=editor)
    publishing.edit(article, by=editor, changes={}, correction="It was Sansibar.")
    publishing.submit(article, by=editor)
    approve(article)
    before = soon()
    publishing.republish(article, by=editor)
    again, second = corrections()
    assert (again, datetime.fromisoformat(second) >= before) == (first, True)


def test_an_article_published_now_has_that_time(editor: User) -> None:
    article = make_article(status=APPROVED)
    publishing.publish_now(article, by=editor)
    response = Client().get(f"/api/v1/articles/{article.pk}/").json()
    assert response["updated_at"] == response["publish_at"] == response["published_at"]


def test_a_process_whose_clock_is_wrong_dates_nothing_in_the_future(
    article: Article, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time is set by the database's clock."""
    wrong = soon(hours=1)
    with monkeypatch.context() as hour_ahead:
        hour_ahead.setattr(timezone, "now", lambda: wrong)
        saved(article, summary="Zanzibar")
    assert article.updated_at < wrong
    assert article.modified_at <= soon()
    assert article.changed_fields() == frozenset()
    assert max(seen_at(article)) <= soon()
