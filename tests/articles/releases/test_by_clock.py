"""Readers get updates and releases at their instant by the clock, exactly as a worker stores them later."""

from __future__ import annotations

import re
from datetime import datetime
from os.path import commonprefix
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import caches
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from articles import publishing, releases
from articles.audit import Action as Recorded
from articles.cache.next_change import next_change
from articles.exceptions import WrongState
from articles.models import Article, AuditEntry, Correction, Release, ReleaseMember, Revision, Tag, Update
from articles.releases import due
from articles.search import terms_of
from articles.site.pagination import from_newest
from articles.task_types import RELEASE, UPDATE
from scheduling.models import TaskInfoLog
from scheduling.workers.worker import Worker
from tests.articles.factories import (
    APPROVED,
    approve,
    make_article,
    make_channel,
    make_editor,
    make_front,
    make_release,
    sitemap_of,
    soon,
)

pytestmark = pytest.mark.django_db(transaction=True)

Status = Article.Status
Action = ReleaseMember.Action


class Newsroom:
    """Articles of an author in two channels, with everything that an update can change."""

    def __init__(self) -> None:
        self.irene = make_editor("irene")
        self.ada = User.objects.create_user("ada", first_name="Ada", last_name="Lin")
        self.town, self.world = make_channel("Town"), make_channel("World")
        self.rain, self.snow = Tag.objects.create(name="Rain"), Tag.objects.create(name="Snow")
        self.other = self.live("Harbour opens", hours=-3)
        self.old = self.live("Old headline", hours=-2)
        self.linking = self.live("Linking", hours=-1, body=f'<p><a href="/article/{self.old.pk}/x/">there</a></p>')

    def live(self, title: str, *, hours: int, **values: object) -> Article:
        """An article that has been live for some hours."""
        since = soon(hours=hours)
        given = {"channel": self.town, "author": self.ada, "body": "<p>Meadow</p>", **values}
        article = make_article(
            title, status=Status.PUBLISHED, publish_at=since, published_at=since, created_at=since, **given
        )
        article.tags.add(self.rain)
        return article

    def waiting(self, title: str) -> Article:
        """An approved article without a time."""
        article = make_article(title, status=APPROVED, channel=self.town, author=self.ada, body="<p>Mountain</p>")
        article.tags.add(self.rain)
        return article

    def update(self, article: Article, correction: str = "", **changes: object) -> None:
        """An approved update."""
        publishing.edit(article, by=self.irene, changes=changes, correction=correction)
        publishing.submit(article, by=self.irene)
        approve(article)

    def addresses(self) -> list[str]:
        """Every kind of output."""
        town, world, rain, snow, ada = (
            "/channel/town/", "/channel/world/", "/tag/rain/", "/tag/snow/", f"/author/{self.ada.pk}/",
        )  # fmt: skip
        lists = [town, world, rain, snow, ada]
        own = [f"/article/{article.pk}/{slug}/" for article in Article.objects.all() for slug in ("x", *slugs(article))]
        words = ("old", "new", "meadow", "valley", "mountain", "headline")
        api = "/api/v1/articles/"
        queries = (
            "ordering=published_at", "channel=town&page_size=2", "channel=world", "tag=rain", "tag=snow",
            f"author={self.ada.pk}", "slug=new-headline", *(f"q={word}" for word in words),
        )  # fmt: skip
        return [
            "/", "/en/", f"/{from_newest()}", "/latest/", "/feed/", "/feed/atom/", "/feed/json/", *lists,
            *(f"{one}feed/" for one in lists), *own, "/sitemap.xml", "/news-sitemap.xml", sitemap_of(self.old),
            *(f"/search/?q={word}" for word in words), api, *(f"{api}?{query}" for query in queries),
            *(f"{api}{article.pk}/" for article in Article.objects.all()),
        ]  # fmt: skip


def slugs(article: Article) -> set[str]:
    return {article.address_slug, *(one.slug for one in article.revisions.all() if one.slug)}


def seen(addresses: list[str]) -> dict[str, tuple[int, str, str]]:
    """What an anonymous reader gets at each address, without a cache."""
    found = {}
    for address in addresses:
        caches["responses"].clear()
        response = Client().get(address)
        text = re.sub(r'(nonce="|"csrf\w*": ")[^"]*', "", response.content.decode())
        found[address] = response.status_code, response.headers.get("Location", ""), text
    return found


def differences(before: dict[str, tuple[int, str, str]], after: dict[str, tuple[int, str, str]]) -> str:
    """The addresses with other contents, and where these begin to differ."""
    lines = []
    for address, one in before.items():
        if one != (other := after[address]):
            begin = max(len(commonprefix([one[2], other[2]])) - 40, 0)
            lines.append(f"{address}: {one[:2]} {other[:2]} {one[2][begin:][:160]!r} {other[2][begin:][:160]!r}")
    return "\n".join(lines)


@pytest.fixture
def newsroom() -> Newsroom:
    return Newsroom()


def everything(newsroom: Newsroom) -> dict[str, object]:
    """Changes of an update that no list misses."""
    return {
        "title": "New headline", "slug": "new-headline", "body": "<p>Valley</p>", "summary": "About it",
        "channel": newsroom.world, "tags": [newsroom.snow], "byline": "News agency",
    }  # fmt: skip


@pytest.mark.thorough
def test_an_update_is_seen_everywhere_as_a_worker_stores_it_later(newsroom: Newsroom) -> None:
    newsroom.update(newsroom.old, "It was wrong.", **everything(newsroom))
    addresses = newsroom.addresses()
    stored = seen(addresses)
    Update.objects.update(publish_at=soon(seconds=-1), updated_at=soon(minutes=-5))
    by_clock = seen(addresses)
    publishing.sync_tasks([newsroom.old.pk])
    Worker().drain()
    assert not Update.objects.exists()
    assert not differences(by_clock, seen(addresses))
    assert "New headline" in by_clock["/"][2] and "New headline" not in stored["/"][2]
    page = by_clock[f"/article/{newsroom.old.pk}/new-headline/"]
    assert page[0] == 200 and "Valley" in page[2] and "It was wrong." in page[2] and "News agency" in page[2]
    assert by_clock["/tag/snow/"][0] == 200 and "New headline" not in by_clock["/channel/town/"][2]


def test_a_release_is_seen_everywhere_as_a_worker_stores_it_later(newsroom: Newsroom) -> None:
    newsroom.update(newsroom.old, title="New headline", body="<p>Valley</p>")
    fresh = newsroom.waiting("Fresh headline")
    release = make_release(fresh, newsroom.old, by=newsroom.irene)
    releases.add_member(release, article=newsroom.other, action=Action.UNPUBLISH, by=newsroom.irene)
    releases.schedule_release(release, publish_at=soon(hours=1), by=newsroom.irene)
    addresses = newsroom.addresses()
    stored = seen(addresses)
    Release.objects.update(publish_at=soon(seconds=-1), updated_at=soon(minutes=-5))
    by_clock = seen(addresses)
    releases.sync_release_tasks([release.pk])
    Worker().drain()
    assert Release.objects.get().status == Release.Status.PUBLISHED
    assert not differences(by_clock, seen(addresses))
    front = by_clock["/"][2]
    assert "Fresh headline" in front and "New headline" in front and "Harbour opens" not in front
    assert "Fresh headline" not in stored["/"][2] and "Harbour opens" in stored["/"][2]


def test_a_release_with_a_blocking_issue_is_not_seen_at_all(newsroom: Newsroom) -> None:
    newsroom.update(newsroom.old, title="New headline")
    release = make_release(newsroom.waiting("Fresh headline"), newsroom.old, by=newsroom.irene)
    releases.add_member(release, article=make_article("Draft headline"), by=newsroom.irene)
    come(release, newsroom)
    pages = seen(["/", "/feed/", "/api/v1/articles/", "/news-sitemap.xml"])
    assert not [page for page in pages.values() if re.search("(Fresh|New|Draft) headline", page[2])]
    Worker().drain()
    assert Release.objects.get().status == Release.Status.FAILED
    assert pages.keys() == {one for one, page in seen([*pages]).items() if page == pages[one]}


def come(release: Release, newsroom: Newsroom) -> datetime:
    """Schedule a release, and let its time pass without a worker; its time."""
    releases.schedule_release(release, publish_at=soon(hours=1), by=newsroom.irene)
    moment = soon(minutes=-1)
    Release.objects.update(publish_at=moment, updated_at=soon(minutes=-5))
    releases.sync_release_tasks([release.pk])
    return moment


def come_update(newsroom: Newsroom, **changes: object) -> datetime:
    """Let the time of an approved update of the old article pass without a worker; its time."""
    newsroom.update(newsroom.old, "It was wrong.", **changes)
    moment = soon(minutes=-1)
    Update.objects.update(publish_at=moment, updated_at=soon(minutes=-5))
    publishing.sync_tasks([newsroom.old.pk])
    return moment


def test_a_person_who_changes_an_updated_article_stores_first_what_readers_saw(newsroom: Newsroom) -> None:
    moment = come_update(newsroom, title="New headline")
    publishing.edit(newsroom.old, by=newsroom.irene, changes={"summary": "And more"})
    article = Article.objects.get(pk=newsroom.old.pk)
    assert (article.title, article.text_changed_at) == ("New headline", moment)
    draft = article.revisions.get(pk=article.update.draft_id or 0)
    assert (draft.title, draft.summary) == ("New headline", "And more")
    assert Correction.objects.get().published_at == moment
    entry = AuditEntry.objects.of(article).get(action=Recorded.UPDATED)
    assert (entry.new_time, entry.source, entry.user_id) == (moment, AuditEntry.Source.WORKER, None)
    log = TaskInfoLog.objects.get(task_type=UPDATE)
    assert (log.status, log.worker) == (TaskInfoLog.Status.EXECUTED, publishing.BY_CLOCK)


@pytest.mark.parametrize("through", ["release", "article"])
def test_a_person_who_changes_a_due_release_stores_first_what_readers_saw(newsroom: Newsroom, through: str) -> None:
    newsroom.update(newsroom.old, title="New headline")
    fresh = newsroom.waiting("Fresh headline")
    release = make_release(fresh, newsroom.old, by=newsroom.irene)
    moment = come(release, newsroom)
    if through == "release":
        releases.roll_back_release(release, by=newsroom.irene)
    else:
        publishing.unpublish(fresh, by=newsroom.irene)
    log = TaskInfoLog.objects.get(task_type=RELEASE)
    assert (log.status, log.worker) == (TaskInfoLog.Status.EXECUTED, publishing.BY_CLOCK)
    assert AuditEntry.objects.of(newsroom.old).filter(action=Recorded.UPDATED, release_id=release.pk).exists()
    (page,) = seen(["/"]).values()
    assert "Fresh headline" not in page[2]
    assert ("New headline" in page[2]) == (through == "article")
    if through == "article":
        assert Release.objects.get().published_at == Article.objects.get(pk=fresh.pk).published_at == moment


def test_a_due_release_can_be_neither_cancelled_nor_rescheduled(newsroom: Newsroom) -> None:
    release = make_release(newsroom.waiting("Fresh headline"), by=newsroom.irene)
    come(release, newsroom)
    with pytest.raises(WrongState):
        releases.cancel_release(release, by=newsroom.irene)
    with pytest.raises(WrongState):
        releases.schedule_release(release, publish_at=soon(hours=1), by=newsroom.irene)
    assert "Fresh headline" in seen(["/"])["/"][2]


@pytest.mark.thorough
def test_the_newsroom_sees_it_as_readers_do(newsroom: Newsroom) -> None:
    newsroom.update(newsroom.other, title="Other headline")
    release = make_release(newsroom.waiting("Fresh headline"), newsroom.other, by=newsroom.irene)
    come(release, newsroom)
    come_update(newsroom, title="New headline")
    desk = Client()
    desk.force_login(newsroom.irene)
    titles = dict(Article.objects.values_list("pk", "title"))
    rows = desk.get("/api/v1/desk/articles/?state=live&page_size=50").json()["results"]
    assert {one["title"] for one in rows} == {"Fresh headline", "New headline", "Other headline", "Linking"}
    assert desk.get(f"/api/v1/desk/releases/{release.pk}/").json()["status"] == "published"
    overview = desk.get("/admin/").content.decode()
    assert "waits; readers" not in overview and "New headline" in overview
    assert dict(Article.objects.values_list("pk", "title")) == titles


def test_cached_responses_expire_at_the_next_update_and_release(newsroom: Newsroom) -> None:
    newsroom.update(newsroom.old, title="New headline")
    first, second = soon(seconds=20), soon(seconds=10)
    publishing.schedule_update(newsroom.old, publish_at=first, by=newsroom.irene)
    assert next_change().at == first
    release = make_release(newsroom.waiting("Fresh headline"), by=newsroom.irene)
    releases.schedule_release(release, publish_at=second, by=newsroom.irene)
    assert (next_change().at, next_change().is_due) == (second, False)


@pytest.mark.parametrize("address", ["/", "/channel/town/", "/article/{pk}/old-headline/", "/feed/", "/search/?q=old"])
def test_a_page_costs_no_statement_more_while_nothing_is_due(newsroom: Newsroom, address: str) -> None:
    path = address.format(pk=newsroom.old.pk)
    with CaptureQueriesContext(connection) as before:
        seen([path])
    come_update(newsroom, title="New headline")
    with CaptureQueriesContext(connection) as during:
        seen([path])
    Worker().drain()
    with CaptureQueriesContext(connection) as after:
        seen([path])
    assert len(during) > len(after) and len(after) <= len(before) + 1
    assert not [one for one in after.captured_queries if one["sql"].startswith("WITH")]


def test_readers_get_what_is_due_when_little_time_is_left_to_a_request(newsroom: Newsroom, settings: Any) -> None:
    """The deadline shortens statements, whose beginnings then are others."""
    settings.REQUEST_TIMEOUT = settings.DATABASE_TIMEOUT - 2
    come_update(newsroom, title="New headline")
    (page,) = seen(["/"]).values()
    staff = Client()
    staff.force_login(User.objects.create_superuser("root"))
    later = staff.get("/", {"at": soon(hours=1).isoformat()})
    assert ["New headline" in text for text in (page[2], later.content.decode())] == [True, True]


def test_the_newsroom_sees_what_is_due_by_a_later_instant_beside_what_is_due_now(newsroom: Newsroom) -> None:
    """As in the preview of a front with a time to come."""
    come_update(newsroom, title="New headline")
    newsroom.update(newsroom.other, title="Later headline")
    Update.objects.filter(article=newsroom.other).update(publish_at=soon(hours=1))
    version = make_front(newsroom.old, newsroom.other, size=2, live_from=soon(hours=2))
    staff = Client()
    staff.force_login(newsroom.irene)
    page = staff.get(reverse("admin:articles_front_preview", args=[version.pk])).text
    found = re.findall("Old headline|New headline|Harbour opens|Later headline", page)
    assert found == ["New headline", "Later headline"]


def test_readers_get_pages_while_more_updates_are_due_than_a_union_has_parts(
    newsroom: Newsroom, monkeypatch: pytest.MonkeyPatch
) -> None:
    newsroom.update(newsroom.old, "It was wrong.", title="New headline", slug="new-headline", tags=[newsroom.snow])
    stored, revision = Article.objects.get(pk=newsroom.old.pk), newsroom.old.update.approved
    assert revision is not None
    Article.objects.bulk_create(copy_of(stored) for _number in range(600))
    copies = Article.objects.filter(title=stored.title).exclude(pk=stored.pk)
    texts = [copy_of(revision, article_id=pk) for pk in copies.values_list("pk", flat=True)]
    Revision.objects.bulk_create(texts)
    Update.objects.bulk_create(Update(article_id=one.article_id, approved=one) for one in texts)
    Update.objects.update(publish_at=soon(seconds=-1))
    pages = seen(["/tag/snow/", f"/article/{stored.pk}/new-headline/"])
    assert {page[0] for page in pages.values()} == {200}
    assert pages["/tag/snow/"][2].count("New headline") >= 10
    assert "It was wrong." in pages[f"/article/{stored.pk}/new-headline/"][2]
    read: list[Any] = []

    def counted(text: Any) -> tuple[str, str]:
        read.append(text)
        return terms_of(text)

    monkeypatch.setattr(due, "terms_of", counted)
    seen(["/search/?q=headline"])
    assert len(read) == due.MOST_SEARCHED, "the work of a search has a limit"


def copy_of(row: Any, **values: object) -> Any:
    """Another row with the same values."""
    names = [column.attname for column in row._meta.concrete_fields if not column.primary_key]
    return type(row)(**{**{name: getattr(row, name) for name in names}, **values})


def test_the_other_members_stay_when_one_is_deleted_before_a_worker_has_stored_the_release() -> None:
    irene, gone, other = make_editor("irene"), make_article("A", status=APPROVED), make_article("B", status=APPROVED)
    release = make_release(gone, other, by=irene)
    releases.schedule_release(release, publish_at=soon(), by=irene)
    assert Client().get(other.get_absolute_url()).status_code == 200
    Article.objects.get(pk=gone.pk).delete()
    assert Client().get(other.get_absolute_url()).status_code == 200
    release.refresh_from_db()
    other.refresh_from_db()
    assert (release.status, other.status) == (Release.Status.PUBLISHED, Status.PUBLISHED)
    assert AuditEntry.objects.filter(article_id=gone.pk, action=Recorded.PUBLISHED).exists()


def test_a_member_that_was_to_leave_by_itself_since_the_instant_of_its_release_holds_up_no_person() -> None:
    irene, first = make_editor("irene"), make_article("A", status=APPROVED)
    since = soon(hours=-2)
    other = make_article("B", status=Status.PUBLISHED, publish_at=since, published_at=since)
    release = make_release(first, by=irene)
    releases.add_member(release, article=other, action=Action.UNPUBLISH, by=irene)
    releases.schedule_release(release, publish_at=soon(minutes=1), by=irene)
    Release.objects.filter(pk=release.pk).update(publish_at=soon(minutes=-10), updated_at=soon(minutes=-20))
    Article.objects.filter(pk=other.pk).update(unpublish_at=soon(minutes=-5))
    publishing.retract(first, by=irene, notice="It was wrong.")
    release.refresh_from_db()
    assert release.status == Release.Status.PUBLISHED
