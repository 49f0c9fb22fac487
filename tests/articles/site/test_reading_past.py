"""`?at=` in the past: the newsroom sees what readers really saw, or since when that is recorded."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.apps import apps
from django.db import transaction
from django.db.models import F
from django.db.models.signals import post_init
from django.test import Client

from articles import publishing, releases
from articles.distribution import catch_up_completely
from articles.models import Article, Event, ProposedChange, ReleaseMember, Revision
from articles.publishing.revisions import pinned
from articles.review import approve_change, comparisons, version_of_change
from articles.webhooks import prune_events
from headline.backup import past_due
from headline.backup.archive import Manifest
from scheduling.database import read_database_clock
from scheduling.workers.worker import Worker
from tests.articles.factories import EARLY, make_editor, make_front, make_release, make_user, soon
from tests.articles.releases.test_by_clock import Newsroom, differences, seen
from tests.articles.site.test_reading import at, desk_of, previewed

pytestmark = pytest.mark.django_db(transaction=True)

Seen = dict[str, tuple[int, str, str]]


@pytest.fixture
def newsroom() -> Newsroom:
    found = Newsroom()
    record(*Article.objects.all())
    return found


def record(*articles: Article) -> None:
    """Store, as services do, what a test has stored past them: texts with their tags, and since when they are live."""
    for article in articles:
        with transaction.atomic():
            pinned(article)
    catch_up_completely()
    for pk, since in Event.objects.filter(kind=Event.Kind.PUBLISHED).values_list("object_id", "happened_at"):
        Article.objects.filter(pk=pk, text_changed_at__lt=since).update(text_changed_at=since)
    catch_up_completely()


def comparable(pages: Seen) -> Seen:
    """Without what is on a page of another instant alone, scripts, and the milliseconds between change and event."""
    pattern = (
        r"(?s:<script.*?</script>)|class=\"at-another-instant\"|<input type=\"hidden\" name=\"at\"[^>]*>|\s+"
        r"|<lastBuildDate>.*?</lastBuildDate>|(?:updated(?:_at)?|date_?[mM]odified|lastmod)[\">:\s]+\d{4}-[^<\"]*"
    )
    return {key: (status, where, re.sub(pattern, "", text)) for key, (status, where, text) in pages.items()}


@pytest.mark.thorough
def test_every_output_is_shown_as_readers_got_it_then(newsroom: Newsroom) -> None:
    by, desk = newsroom.irene, desk_of(newsroom)
    gone, back = (newsroom.live(f"{name} headline", hours=-4) for name in ("Gone", "Back"))
    record(gone, back)
    publishing.unpublish(back, by=by)
    newsroom.update(newsroom.old, "It was wrong.", title="New headline", channel=newsroom.world, tags=[newsroom.snow])
    newsroom.update(gone, "First correction.", title="Gone second headline")
    publishing.publish_update(gone, by=by)
    newsroom.update(gone, title="Gone third headline")
    coming, fresh = newsroom.waiting("Coming headline"), newsroom.waiting("Fresh headline")
    release = make_release(fresh, by=by)
    releases.add_member(release, article=newsroom.other, action=ReleaseMember.Action.UNPUBLISH, by=by)
    catch_up_completely()
    addresses = newsroom.addresses()

    moment = read_database_clock()
    then = comparable(seen(addresses))
    releases.publish_release_now(release, by=by)
    publishing.publish_update(newsroom.old, by=by)
    publishing.publish_update(gone, by=by)
    publishing.retract(gone, by=by, notice="It was wrong.")
    publishing.unpublish(newsroom.linking, by=by)
    publishing.republish(back, by=by)
    publishing.publish_now(coming, by=by)
    make_front(coming, live_from=read_database_clock(), language="en")
    Worker().drain()

    assert differences(then, comparable(seen(addresses)))
    assert not differences(then, comparable(previewed(desk, addresses, moment)))


def test_between_the_changes_of_one_article_each_of_its_states_is_shown(newsroom: Newsroom) -> None:
    by, desk, address = newsroom.irene, desk_of(newsroom), newsroom.old.get_absolute_url()
    moments = [read_database_clock()]
    for title in ("Second headline", "Third headline"):
        newsroom.update(newsroom.old, title=title)
        publishing.publish_update(newsroom.old, by=by)
        moments.append(read_database_clock())
    publishing.unpublish(newsroom.old, by=by)
    moments.append(read_database_clock())
    publishing.republish(newsroom.old, by=by)
    titles = [re.findall(r"<h1[^>]*>(.*?)</h1>", desk.get(at(address, moment)).text) for moment in moments]
    assert titles == [["Old headline"], ["Second headline"], ["Third headline"], ["Page not found"]]


def notice_at(desk: Client, article: Article, moment: datetime) -> str:
    page = desk.get(at(article.get_absolute_url(), moment))
    assert page.status_code == 410
    (notice,) = re.findall(r'<div class="prose"><p>(.*?)</p>', page.text)
    assert desk.get(at(f"/api/v1/articles/{article.pk}/", moment)).status_code == 410
    return str(notice)


STANDARD = "The newsroom has retracted this article."


def test_a_retraction_that_was_undone_is_shown_with_its_notice(newsroom: Newsroom) -> None:
    moments, by, article = list[datetime](), newsroom.irene, newsroom.old
    for notice in ("First notice", "Second notice"):
        publishing.retract(article, by=by, notice=notice)
        moments.append(read_database_clock())
        publishing.undo_retraction(article, by=by)
        publishing.republish(article, by=by)
    publishing.unpublish(article, by=by)
    desk = desk_of(newsroom)
    assert desk.get(at(article.get_absolute_url(), read_database_clock())).status_code == 404
    assert [notice_at(desk, article, moment) for moment in moments] == ["First notice", "Second notice"]


@pytest.mark.cases(1)
@pytest.mark.parametrize("is_undone", [True, False])
def test_a_notice_that_waited_for_another_person_is_shown_from_its_approval_on(
    newsroom: Newsroom, settings: Any, is_undone: bool
) -> None:
    settings.ARTICLES_TWO_PERSON_RULE = True
    publishing.retract(newsroom.old, by=newsroom.irene, notice="It was wrong.")
    publishing.retract(newsroom.other, by=newsroom.irene, notice="Never approved.")
    catch_up_completely()
    moments = [read_database_clock()]
    change = ProposedChange.objects.of(ProposedChange.Subject.ARTICLE, newsroom.old.pk).get()
    approve_change(change.pk, version=version_of_change(comparisons(change)), by=make_editor("bob"))
    moments.append(read_database_clock())
    if is_undone:
        for article in (newsroom.old, newsroom.other):
            article.refresh_from_db()
            publishing.undo_retraction(article, by=newsroom.irene)
    desk = desk_of(newsroom)
    assert [notice_at(desk, newsroom.old, moment) for moment in moments] == [STANDARD, "It was wrong."]
    assert [notice_at(desk, newsroom.other, moment) for moment in moments] == [STANDARD, STANDARD]


def test_a_notice_that_came_with_an_import_and_was_undone_is_said_to_be_unknown(newsroom: Newsroom) -> None:
    Article.objects.filter(pk=newsroom.old.pk).update(status=Article.Status.RETRACTED, retraction_notice="Imported.")
    catch_up_completely()
    moment, desk = read_database_clock(), desk_of(newsroom)
    assert notice_at(desk, newsroom.old, moment) == "Imported."
    newsroom.old.refresh_from_db()
    publishing.undo_retraction(newsroom.old, by=newsroom.irene)
    assert notice_at(desk, newsroom.old, moment) == STANDARD
    assert "is not recorded" in desk.get(at(newsroom.old.get_absolute_url(), moment)).text


def test_the_bar_says_that_it_is_the_past_since_when_that_is_recorded_and_leads_to_changes(newsroom: Newsroom) -> None:
    desk = desk_of(newsroom)
    publishing.unpublish(newsroom.old, by=newsroom.irene)
    first = Event.objects.get(kind=Event.Kind.UNPUBLISHED).happened_at
    moment = read_database_clock()
    publishing.republish(newsroom.old, by=newsroom.irene)
    last = Event.objects.get(kind=Event.Kind.REPUBLISHED).happened_at
    page = desk.get(at("/", moment))
    assert "The site as readers saw it on" in page.text and "Recorded since" in page.text
    assert "Share…" not in page.text and "not recorded" not in page.text
    assert (
        f'<a href="{at("", first)}" rel="prev">' in page.text and f'<a href="{at("", last)}" rel="next">' in page.text
    )
    assert 'class="at-another-instant"' in page.text and "no-store" in page.headers["Cache-Control"]
    assert "noindex" in page.headers["X-Robots-Tag"]


def let_pass(days: int) -> None:
    Event.objects.update(numbered_at=F("numbered_at") - timedelta(days=days))


@pytest.mark.cases(1)
@pytest.mark.parametrize("by_hand", [True, False])
def test_what_was_pruned_is_not_shown_and_said_to_be_unknown(newsroom: Newsroom, settings: Any, by_hand: bool) -> None:
    desk, now = desk_of(newsroom), read_database_clock()
    first = Event.objects.earliest("numbered_at").numbered_at
    assert first is not None
    refused = desk.get(at("/", first - timedelta(seconds=1)))
    assert refused.status_code == 400 and "is not recorded" in refused.text
    newsroom.update(newsroom.old, title="Second headline")
    publishing.publish_update(newsroom.old, by=newsroom.irene)
    catch_up_completely()
    Event.objects.update(happened_at=now - timedelta(days=35))
    let_pass(35)
    shown = desk.get(at("/", now - timedelta(days=31)))
    assert shown.status_code == 200 and "is not recorded" not in shown.text  # nothing is pruned yet
    if by_hand:
        Event.objects.filter(feed_seq=None).delete()
    else:
        prune_events()
    settings.EVENT_DAYS = 60
    let_pass(10)
    assert desk.get(at("/", now - timedelta(days=35, hours=1))).status_code == 400
    assert desk.get(at("/", now - timedelta(days=34))).status_code == 200
    newsroom.update(newsroom.old, title="Third headline")
    publishing.publish_update(newsroom.old, by=newsroom.irene)
    catch_up_completely()
    page = desk.get(at(f"/article/{newsroom.old.pk}/", now - timedelta(hours=1)), follow=True).text
    assert "Second headline" in page


def test_an_article_whose_events_are_gone_has_its_present_text_and_the_bar_says_so(newsroom: Newsroom) -> None:
    desk, now = desk_of(newsroom), read_database_clock()
    Event.objects.update(numbered_at=now - timedelta(days=29), happened_at=now - timedelta(days=29))
    newsroom.update(newsroom.old, title="Second headline")
    publishing.publish_update(newsroom.old, by=newsroom.irene)
    catch_up_completely()
    Event.objects.filter(object_id=newsroom.old.pk, happened_at__lt=now).delete()
    page = desk.get(at(f"/article/{newsroom.old.pk}/", now - timedelta(hours=1)), follow=True).text
    assert "The text of one article at that time is not recorded" in page and "Second headline" in page


def test_what_readers_saw_between_a_backup_and_its_restore_is_not_recorded(newsroom: Newsroom) -> None:
    backup = read_database_clock() - timedelta(hours=2)
    Event.objects.update(numbered_at=backup, happened_at=backup)
    Event.objects.filter(object_id=newsroom.other.pk).update(
        numbered_at=backup - timedelta(hours=1), happened_at=backup - timedelta(hours=1)
    )
    past_due.hold(apps, Manifest("0.1.0", backup.isoformat(), [], {}, []))
    desk, now = desk_of(newsroom), read_database_clock()
    statuses = [desk.get(at("/", now - timedelta(hours=hours))).status_code for hours in (0, 1, 2.5, 4)]
    assert statuses == [200, 400, 200, 400]


@pytest.mark.thorough
def test_a_pruned_publication_is_known_from_the_audit_log(newsroom: Newsroom) -> None:
    coming = newsroom.waiting("First headline")
    publishing.schedule(coming, publish_at=soon(), by=newsroom.irene)
    Worker().drain()
    catch_up_completely()
    moment = read_database_clock()
    newsroom.update(coming, title="Second headline")
    publishing.publish_update(coming, by=newsroom.irene)
    catch_up_completely()
    Event.objects.filter(object_id=coming.pk, kind=Event.Kind.PUBLISHED).delete()
    page = desk_of(newsroom).get(at(coming.get_absolute_url(), moment))
    assert "First headline</h1>" in page.text and "is not recorded" not in page.text


def test_only_who_may_read_all_articles_sees_the_past(newsroom: Newsroom) -> None:
    moment = read_database_clock()
    publishing.unpublish(newsroom.old, by=newsroom.irene)
    address = at(newsroom.old.get_absolute_url(), moment)
    for name, right, status in (("reader", "view_article", 200), ("librarian", "view_image", 404)):
        visitor = Client()
        visitor.force_login(make_user(name, right))
        assert visitor.get(address).status_code == status
    assert Client().get(address).status_code == 404


def test_more_changes_than_are_undone_are_refused(newsroom: Newsroom, monkeypatch: pytest.MonkeyPatch) -> None:
    moment = read_database_clock()
    publishing.unpublish(newsroom.old, by=newsroom.irene)
    monkeypatch.setattr("articles.releases.past.MOST_UNDONE", 0)
    page = desk_of(newsroom).get(at("/", moment))
    assert (page.status_code, "Too much has changed" in page.text) == (400, True)


def test_what_ended_before_readers_could_see_it_is_no_event_and_never_shown(newsroom: Newsroom) -> None:
    held, moment = newsroom.waiting("Held headline"), read_database_clock()
    times = {"publish_at": soon(hours=-2), "cleared_at": EARLY, "embargo_until": soon(hours=2), "unpublish_at": soon()}
    Article.objects.filter(pk=held.pk).update(**times)
    publishing.sync_tasks([held.pk])
    Worker().drain()
    catch_up_completely()
    assert Article.objects.get(pk=held.pk).status == Article.Status.UNPUBLISHED
    assert not Event.objects.filter(object_id=held.pk).exists()
    desk = desk_of(newsroom)
    assert desk.get(at(held.get_absolute_url(), moment)).status_code == 404
    assert "Held headline" not in desk.get(at("/api/v1/articles/", moment)).text


def test_an_article_whose_release_was_rolled_back_has_the_date_of_its_publication_not_of_its_update(
    newsroom: Newsroom,
) -> None:
    by, fresh, address = newsroom.irene, newsroom.waiting("Fresh headline"), "/api/v1/articles/"
    release = make_release(fresh, by=by)
    releases.publish_release_now(release, by=by)
    catch_up_completely()
    published = Event.objects.get(object_id=fresh.pk, kind=Event.Kind.PUBLISHED).happened_at
    newsroom.live("Newer headline", hours=0)
    newsroom.update(fresh, title="Second headline")
    publishing.publish_update(fresh, by=by)
    moment = read_database_clock()
    then = [one["title"] for one in Client().get(address).json()["results"]]
    releases.roll_back_release(release, by=by)
    catch_up_completely()
    shown = desk_of(newsroom).get(at(address, moment)).json()["results"]
    assert [one["title"] for one in shown] == then and then[:2] == ["Newer headline", "Second headline"]
    assert shown[1]["published_at"] == published.isoformat().replace("+00:00", "Z")


def test_search_finds_what_was_retracted_since(newsroom: Newsroom) -> None:
    moment, address = read_database_clock(), newsroom.old.get_absolute_url()
    publishing.retract(newsroom.old, by=newsroom.irene, notice="It was wrong.")
    desk = desk_of(newsroom)
    assert f"{address}?" in desk.get(at("/search/?q=old", moment)).text
    (found,) = desk.get(at("/api/v1/articles/?q=old", moment)).json()["results"]
    assert found["title"] == "Old headline"
    assert f"{address}?" not in desk.get(at("/search/?q=old", read_database_clock())).text


@pytest.mark.thorough
def test_of_many_revisions_only_those_that_readers_saw_are_read(newsroom: Newsroom) -> None:
    by, read = newsroom.irene, list[str]()
    for title in ("Second headline", "Third headline"):
        newsroom.update(newsroom.old, title=title)
        publishing.publish_update(newsroom.old, by=by)
    moment = read_database_clock()
    for article in (newsroom.old, newsroom.other):
        for title in ("Fourth headline", "Fifth headline"):
            newsroom.update(article, title=title)
            publishing.publish_update(article, by=by)
    catch_up_completely()

    def note(instance: Revision, **_given: object) -> None:
        read.append(instance.title)

    post_init.connect(note, sender=Revision)
    try:
        page = desk_of(newsroom).get(at("/latest/", moment)).text
    finally:
        post_init.disconnect(note, sender=Revision)
    assert "Third headline" in page and "Harbour opens" in page
    assert sorted(read) == ["Harbour opens", "Third headline"]


def test_an_article_that_changed_very_often_costs_no_more(newsroom: Newsroom) -> None:
    revision = Event.objects.filter(object_id=newsroom.old.pk).latest("pk").revision
    values = {"kind": Event.Kind.UPDATED, "object_id": newsroom.old.pk, "revision": revision, "state": "live"}
    Event.objects.bulk_create(Event(happened_at=soon(), **values) for _number in range(50))
    catch_up_completely()
    moment = read_database_clock()
    publishing.unpublish(newsroom.old, by=newsroom.irene)
    read: list[Event] = []

    def note(instance: Event, **_signal: Any) -> None:
        read.append(instance)

    desk = desk_of(newsroom)
    post_init.connect(note, sender=Event)
    try:
        assert desk.get(at(newsroom.old.get_absolute_url(), moment)).status_code == 200
    finally:
        post_init.disconnect(note, sender=Event)
    assert len(read) < 20
