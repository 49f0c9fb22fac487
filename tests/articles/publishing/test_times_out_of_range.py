"""Times that no task can have, such as "never", which another program has stored: each is shown, and can be removed."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from articles import publishing, releases
from articles.desk.confirmation import CONFIRMED
from articles.exceptions import InvalidSchedule
from articles.models import Alert, Article, Preferences, Update
from scheduling.database import read_database_clock
from tests.articles.factories import APPROVED, approve, make_article, make_editor, make_release, publish_tasks, soon

pytestmark = pytest.mark.django_db

Status = Article.Status

NEVER, ALWAYS = (end.replace(tzinfo=UTC) for end in (datetime.max, datetime.min))
TIMES = ("publish_at", "embargo_until", "unpublish_at")


@pytest.fixture
def alice() -> User:
    return make_editor()


def at_desk(user: User, zone: str) -> Client:
    Preferences.objects.create(user=user, language="en", time_zone=zone)
    client = Client()
    client.force_login(user)
    return client


@pytest.mark.parametrize("year", [500, 9999])
def test_a_text_with_a_time_for_which_no_task_is_made_is_not_approved(year: int) -> None:
    """Another program has stored it. Readers would see the text by the clock, and no record would say so."""
    article = make_article(status=Status.MANUAL_REVIEW)
    Article.objects.filter(pk=article.pk).update(publish_at=datetime(year, 12, 31, 12, tzinfo=UTC))
    with pytest.raises(InvalidSchedule, match="years 1000 to 9999"):
        approve(article)
    assert Article.objects.get().status == Status.MANUAL_REVIEW


def test_what_another_program_gave_such_times_can_be_taken_down_and_corrected() -> None:
    editor, early, late = make_editor(), datetime(500, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 12, tzinfo=UTC)
    live = make_article(status=Status.PUBLISHED, publish_at=soon(hours=-1))
    to_come = make_article(status=APPROVED, publish_at=soon(hours=2))
    Article.objects.filter(pk=live.pk).update(publish_at=early)
    Article.objects.update(embargo_until=early, unpublish_at=late)
    publishing.unpublish(live, by=editor)
    publishing.unschedule(to_come, by=editor)
    publishing.set_embargo(to_come, until=None, by=editor)
    publishing.edit(to_come, by=editor, changes={"unpublish_at": None})
    publishing.schedule(to_come, publish_at=soon(hours=1), by=editor)
    assert [*Article.objects.order_by("pk").values_list("status", flat=True)] == [Status.UNPUBLISHED, APPROVED]


def test_the_embargo_of_such_a_text_is_not_lifted_before_its_time_is_removed(alice: User) -> None:
    """The embargo is what keeps readers from it, and no task would record that it went live."""
    article = make_article(status=APPROVED, publish_at=soon(hours=2))
    Article.objects.update(publish_at=datetime(500, 1, 1, tzinfo=UTC), embargo_until=soon(hours=3))
    with pytest.raises(InvalidSchedule, match="years 1000 to 9999"):
        publishing.set_embargo(article, until=None, by=alice)
    assert not Article.objects.live(read_database_clock()).exists()
    publishing.unschedule(article, by=alice)
    publishing.set_embargo(article, until=None, by=alice)


def test_an_update_with_such_a_time_is_not_approved(alice: User) -> None:
    article = make_article("Old", status=Status.PUBLISHED, publish_at=soon(hours=-1))
    publishing.edit(article, by=alice, changes={"title": "New"})
    publishing.submit(article, by=alice)
    Update.objects.update(publish_at=datetime(500, 1, 1, tzinfo=UTC))
    with pytest.raises(InvalidSchedule, match="years 1000 to 9999"):
        approve(Article.objects.get())
    assert Update.objects.get().approved is None


def test_an_article_that_never_ends_is_approved_scheduled_and_edited(alice: User) -> None:
    article = make_article(status=Status.MANUAL_REVIEW)
    Article.objects.update(embargo_until=datetime(500, 1, 1, tzinfo=UTC), unpublish_at=NEVER)
    approve(article)
    publishing.schedule(article, publish_at=(due := soon(hours=1)), by=alice)
    assert publish_tasks(article) == [due]
    Article.objects.update(unpublish_at=ALWAYS)
    publishing.edit(article, by=alice, changes={"author": alice})


def test_a_release_is_rolled_back_although_a_member_has_such_a_time(alice: User) -> None:
    members = [make_article(title, status=APPROVED) for title in ("Budget", "Reactions")]
    release = make_release(*members, by=alice)
    releases.publish_release_now(release, by=alice)
    Article.objects.filter(pk=members[0].pk).update(unpublish_at=NEVER)
    releases.roll_back_release(release, by=alice)
    assert {*Article.objects.values_list("status", "publish_at")} == {(APPROVED, None)}


@pytest.mark.parametrize("moment", [NEVER, ALWAYS], ids=["never", "always"])
@pytest.mark.parametrize("zone", ["Asia/Shanghai", "America/New_York"])
def test_every_page_shows_them_in_every_zone(alice: User, zone: str, moment: datetime, settings: Any) -> None:
    """In UTC, where the zone of the user or the site has no such day."""
    desk, settings.TIME_ZONE = at_desk(alice, zone), zone
    for status in (Status.PUBLISHED, APPROVED, Status.DRAFT):
        for name in TIMES:
            article = make_article(f"{name} {status}", status=status, publish_at=soon(hours=-1))
            Article.objects.filter(pk=article.pk).update(**{name: moment})
            Alert.objects.create(article=article, text="Breaking")
    forms, found = ("change", "preview", "state"), Article.objects.values_list("pk", flat=True)
    lists = ("", "articles/article/", "articles/queuedarticle/", "desk/monitoring/", "desk/next/", "calendar/")
    desks = [*lists, *(f"articles/article/{pk}/{name}/" for pk in found for name in forms)]
    pages = [article.get_absolute_url() for article in Article.objects.live(read_database_clock())]
    assert pages
    feeds = ("latest/", "search/?q=publish", "feed/", "sitemap.xml", "api/v1/articles/", "api/v1/desk/articles/")
    for address in ("/", *pages, *(f"/{name}" for name in feeds), *(f"/admin/{name}" for name in desks)):
        assert (address, desk.get(address).status_code) == (address, 200)


def test_the_form_names_such_a_time_and_takes_the_article_down_without_it(alice: User) -> None:
    desk, article = at_desk(alice, "Asia/Shanghai"), make_article(status=Status.PUBLISHED, publish_at=soon(hours=-1))
    Article.objects.update(unpublish_at=NEVER)
    address = f"/admin/articles/article/{article.pk}/change/"
    form = desk.get(address).context["adminform"].form
    sent = {field.name: field.value() for field in form if field.value()} | {"_step_unpublish": CONFIRMED}
    names = ("unpublish_at", "unpublish_at_which", "unpublish_at_zone")
    sent |= zip(names, form.fields["unpublish_at"].widget.decompress(NEVER), strict=True)
    refused = desk.post(address, sent).context["adminform"].form
    assert "outside the years 1000 to 9999" in refused.errors["unpublish_at"][0]
    assert desk.post(address, sent | {"unpublish_at": ""}).status_code == 302
    assert Article.objects.get().status == Status.UNPUBLISHED
