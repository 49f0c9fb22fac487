"""The calendar over HTTP: its entries, collapsed slots, and rescheduling without scripts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone, translation

from articles import publishing, releases
from articles.desk.calendar.reschedule import Moment, time_of
from articles.models import Article, AuditEntry, Release, State, Update
from articles.roles import Role
from tests.articles.factories import (
    APPROVED,
    EARLY,
    approve,
    make_article,
    make_channel,
    make_editor,
    make_member,
    make_release,
    make_user,
    publish_tasks,
    soon,
)
from tests.articles.situations import SITUATIONS, Situation, run_worker, with_and_without_worker

pytestmark = pytest.mark.django_db

Status = Article.Status
CALENDAR, RESCHEDULE, UNDO = "/admin/calendar/", "/admin/calendar/reschedule/", "/admin/calendar/undo/"
MONDAY = datetime(2030, 6, 3, 7, tzinfo=UTC)
JSON = {"accept": "application/json"}


def logged_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def desk() -> Client:
    return logged_in(make_editor())


def shown(client: Client, query: str = "?date=2030-06-03") -> list[tuple[str, str, tuple[str, ...]]]:
    """Kind, title and marks of every entry, in the order of the page."""
    days = client.get(CALENDAR + query).context["days"]
    entries = [entry for day in days for cell in day.cells for entry in (*cell.earlier, *cell.later)]
    return [(entry.kind.value, entry.title, tuple(mark.value for mark in entry.marks)) for entry in entries]


def asked(article: Article, to: str, field: str = "publish_at", **more: Any) -> dict[str, Any]:
    """What the script sends to move an article."""
    seen = time_of(article, Moment(field))
    assert seen
    return {"key": f"{field}:{article.pk}", "seen": seen.isoformat(), "at": to, **more}


def move(client: Client, *args: Any, **more: Any) -> dict[str, Any]:
    response: dict[str, Any] = client.post(RESCHEDULE, asked(*args, **more), headers=JSON).json()
    return response


def make_update(article: Article, moment: datetime | None, *, approved: bool) -> Update:
    text = "approved" if approved else "draft"
    return Update.objects.create(article=article, publish_at=moment, **{text: article.revisions.get()})


def test_everything_that_happens_at_a_time_is_on_it(desk: Client) -> None:
    out = {"status": Status.PUBLISHED, "publish_at": datetime(2030, 5, 1, tzinfo=UTC)}
    make_article("Approved", status=APPROVED, publish_at=MONDAY)
    make_article("Wished", status=Status.MANUAL_REVIEW, publish_at=MONDAY + timedelta(hours=1))
    make_article("Leaving", unpublish_at=MONDAY + timedelta(hours=2), **out)
    make_article("Gone before", status=Status.UNPUBLISHED, unpublish_at=MONDAY + timedelta(hours=3))
    make_article("Secret", embargo_until=MONDAY + timedelta(hours=4))
    held = {"status": APPROVED, "publish_at": MONDAY, "embargo_until": MONDAY + timedelta(hours=5)}
    make_article("Held", **held)
    make_update(make_article("Newer", **out), MONDAY + timedelta(hours=6), approved=True)
    make_update(make_article("Hoped", **out), MONDAY + timedelta(hours=7), approved=False)
    make_article("Killed", status=Status.RETRACTED, publish_at=MONDAY)
    assert shown(desk, "?view=day&date=2030-06-03") == [
        ("publish", "Approved", ()),
        ("publish", "Wished", ("at-risk",)),
        ("unpublishing", "Leaving", ()),
        ("embargo", "Secret", ()),
        ("embargo", "Held", ()),
        ("update", "Newer", ()),
        ("update", "Hoped", ("at-risk",)),
    ]


def test_a_release_that_is_out_says_how_late_it_was(desk: Client) -> None:
    release = make_release(by=make_editor("bob"), name="Budget day")
    late = MONDAY + timedelta(milliseconds=400)
    Release.objects.update(status=Release.Status.PUBLISHED, publish_at=MONDAY, published_at=late)
    assert shown(desk) == [("released", str(release), ())]
    assert "0.4 s late" in desk.get(f"{CALENDAR}?view=day&date=2030-06-03").text


@pytest.mark.cases(11)
@pytest.mark.parametrize("build", SITUATIONS.values(), ids=SITUATIONS)
@with_and_without_worker
@pytest.mark.parametrize("seconds", [60, -10], ids=["before", "after"])
def test_entries_follow_what_readers_see_and_miss(
    desk: Client, build: Callable[[datetime], Situation], has_run: bool, seconds: int
) -> None:
    made = build(soon(seconds=seconds))
    if has_run:
        run_worker()
    now = soon()
    # What went live some hours ago may have done so in the week before.
    weeks = [f"{CALENDAR}?view=week&date={now - timedelta(hours=hours):%Y-%m-%d}" for hours in (3, 0)]
    days = [day for week in weeks for day in desk.get(week).context["days"]]
    entries = [entry for day in days for cell in day.cells for entry in (*cell.earlier, *cell.later)]
    kinds = {entry.kind.value: entry for entry in entries}
    state = made.expected(now)
    assert ("published" in kinds) == (state is State.LIVE)
    is_leaving = state is State.LIVE and made.after is State.UNPUBLISHED
    assert ("unpublishing" in kinds) == (is_leaving and made.release is None)
    assert ("unpublished" in kinds) == (state is State.UNPUBLISHED and made.release is None)
    is_missed = any("overdue" in [mark.value for mark in entry.marks] for entry in entries)
    assert is_missed == made.is_missed(now)
    if "published" in kinds:
        assert (kinds["published"].at, kinds["published"].state) == (made.since(), "Published")


def test_a_day_shows_first_what_readers_miss(desk: Client) -> None:
    for number in range(3):
        make_article(f"Out {number}", status=Status.PUBLISHED, publish_at=soon(seconds=-60))
        make_article(f"To come {number}", status=APPROVED, publish_at=soon(seconds=60))
    made = SITUATIONS["unapproved_update"](soon(seconds=-20))
    assert made.update is not None
    headline = made.update.headline
    days = [cell.later for day in desk.get(CALENDAR).context["days"] for cell in day.cells]
    (titles,) = [titles for day in days if headline in (titles := [entry.title for entry in day])]
    assert titles[0] == headline


def test_what_readers_miss_is_overdue(desk: Client) -> None:
    past, today = soon(minutes=-1), f"?view=day&date={soon(minutes=-1):%Y-%m-%d}"
    make_article("Not recorded", status=APPROVED, publish_at=past, cleared_at=EARLY)
    make_article("Not approved in time", publish_at=past)
    make_article("Gone", status=Status.PUBLISHED, publish_at=soon(days=-9), unpublish_at=past)
    make_update(make_article("Bridge", status=Status.PUBLISHED, publish_at=soon(days=-9)), past, approved=True)
    other = make_article("Ferry", status=Status.PUBLISHED, publish_at=soon(days=-9))
    update = make_update(other, past, approved=False)
    assert sorted(shown(desk, today)) == [
        ("publish", "Not approved in time", ("at-risk", "overdue")),
        ("published", "Not recorded", ()),
        ("unpublished", "Gone", ()),
        ("update", update.headline, ("at-risk", "overdue")),
    ]


def test_articles_of_one_channel_at_nearly_the_same_time_conflict(desk: Client, settings: Any) -> None:
    politics, sport = make_channel(), make_channel("Sport")
    minutes = {"Near": 4, "Far": 10, "Later": 15}
    make_article("First", status=APPROVED, publish_at=MONDAY, channel=politics, author=make_user("bob"))
    for title, distance in minutes.items():
        make_article(title, publish_at=MONDAY + timedelta(minutes=distance), channel=politics)
    make_article("Elsewhere", status=APPROVED, publish_at=MONDAY, channel=sport)

    def conflicting(query: str = "?date=2030-06-03") -> set[str]:
        return {title for _kind, title, marks in shown(desk, query) if "conflict" in marks}

    assert conflicting() == {"First", "Near", "Far", "Later"}
    settings.CALENDAR_CONFLICT = timedelta(minutes=4)
    assert conflicting() == {"First", "Near"}
    assert conflicting(f"?date=2030-06-03&author={User.objects.get(username='bob').pk}") == {"First"}


@pytest.mark.thorough
def test_the_address_says_view_date_channel_and_author(desk: Client) -> None:
    me = User.objects.get()
    politics = make_channel()
    make_article("Mine", publish_at=MONDAY, author=me)
    make_article("Theirs", publish_at=MONDAY, channel=politics, author=make_user("bob"))
    titles = {query: [title for _k, title, _m in shown(desk, query)] for query in ("", "?date=2030-06-10&view=month")}
    assert titles == {"": [], "?date=2030-06-10&view=month": ["Mine", "Theirs"]}
    assert [t for _k, t, _m in shown(desk, "?date=2030-06-03&view=week&author=me")] == ["Mine"]
    query = f"?view=week&date=2030-06-03&channel={politics.pk}&author="
    assert [t for _k, t, _m in shown(desk, query)] == ["Theirs"]
    page = desk.get(CALENDAR + query)
    assert page.context["next"] == f"?view=week&date=2030-06-09&channel={politics.pk}"
    assert page.context["previous"] == f"?view=week&date=2030-06-01&channel={politics.pk}"
    assert f'<option value="{politics.pk}" selected>' in page.text


def test_a_newer_text_is_called_by_the_headline_it_brings_and_found_by_both(desk: Client) -> None:
    article = make_article("Old", status=Status.PUBLISHED, publish_at=soon(hours=-1))
    editor = User.objects.get()
    publishing.edit(article, by=editor, changes={"title": "New"})
    publishing.submit(article, by=editor)
    approve(article)
    publishing.schedule_update(article, publish_at=MONDAY, by=editor)
    assert shown(desk) == [("update", "New", ())]
    assert "replaces “Old”" in desk.get(f"{CALENDAR}?date=2030-06-03").text
    assert "Reschedule “New”" in desk.get(f"{RESCHEDULE}?key=update_at:{article.pk}").text
    for word in ("old", "new"):
        page = desk.get(f"/admin/articles/article/?q={word}").text
        assert ">Old<br>" in page
        assert "pending update: “New”" in page
    (coming,) = desk.get("/admin/").context["up_next"]
    assert coming.title == "New"


@pytest.mark.parametrize("language, first", [("en", date(2030, 6, 2)), ("zh-hans", date(2030, 6, 3))])
def test_weeks_begin_where_the_reader_lives(desk: Client, language: str, first: date) -> None:
    desk.cookies["django_language"] = language
    days = desk.get(f"{CALENDAR}?view=week&date=2030-06-05").context["days"]
    assert (days[0].date, len(days)) == (first, 7)
    translation.activate("en")


@pytest.mark.thorough
def test_a_date_that_is_none_is_today_and_says_so(desk: Client) -> None:
    for text in ("2030-02-30", "yesterday", "0001-01-01", "9999-12-31", "2030-06-03T07:00"):
        page = desk.get(CALENDAR, {"date": text, "view": "decade", "channel": "x", "author": "-1", "open": "25"})
        assert f"“{text}” is not a date" in page.text
        assert [day.is_today for day in page.context["days"]].count(True) == 1
    assert desk.get(f"{CALENDAR}?date=9000-12-31&view=week").status_code == 200
    assert desk.get(f"{CALENDAR}?date=1900-01-01").status_code == 200


def test_entries_stand_on_the_day_of_the_readers_zone(desk: Client) -> None:
    make_article("Late at night", publish_at=datetime(2030, 6, 3, 23, 30, tzinfo=UTC))
    with timezone.override(ZoneInfo("Asia/Shanghai")):
        page = desk.get(f"{CALENDAR}?date=2030-06-04&view=day")
    assert "Late at night" in page.text
    assert ">07:30</time>" in page.text
    assert "Asia/Shanghai (UTC+8)" in page.text


def test_an_hour_that_clocks_skip_or_show_twice_says_so(desk: Client) -> None:
    make_article("First", publish_at=datetime(2026, 10, 25, 0, 30, tzinfo=UTC))
    make_article("Second", publish_at=datetime(2026, 10, 25, 1, 30, tzinfo=UTC))
    with timezone.override(ZoneInfo("Europe/Berlin")):
        spring = desk.get(f"{CALENDAR}?date=2026-03-29&view=day")
        autumn = desk.get(f"{CALENDAR}?date=2026-10-25&view=day")
    assert "this hour does not exist" in spring.text
    assert "this hour occurs twice" in autumn.text
    assert autumn.text.index("02:30 UTC+2") < autumn.text.index("02:30 UTC+1")


def test_a_long_list_folds_what_is_over_first(desk: Client) -> None:
    editor = make_editor("bob")
    for number in range(12):
        release = make_release(by=editor, name=f"Out {number}")
        Release.objects.filter(pk=release.pk).update(status=Release.Status.PUBLISHED, publish_at=MONDAY)
    for number in range(4):
        make_article(f"To come {number}", status=APPROVED, publish_at=MONDAY + timedelta(hours=number))
    titles = [title for _kind, title, _marks in shown(desk)]
    assert titles == ["Out 0", *(f"To come {number}" for number in range(4))]
    page = desk.get(f"{CALENDAR}?date=2030-06-03")
    assert "11 more" in page.text
    hour = "?view=day&date=2030-06-03&open=7"
    assert len(shown(desk, "?view=day&date=2030-06-03")) == 15
    assert len(shown(desk, hour)) == 16


def test_releases_that_are_over_hide_none_to_come(desk: Client) -> None:
    editor = make_editor("bob")
    for number in range(7):
        status = Release.Status.PUBLISHED if number < 6 else Release.Status.SCHEDULED
        release = make_release(by=editor, name=f"Release {number}")
        Release.objects.filter(pk=release.pk).update(status=status, publish_at=MONDAY + timedelta(hours=number))
    assert [title for _kind, title, _marks in shown(desk)][-1] == "Release 6"


def test_a_time_that_was_removed_is_asked_for(desk: Client) -> None:
    article = make_article("Bridge", status=APPROVED, publish_at=MONDAY)
    sent = {**asked(article, ""), "at_zone": "UTC"}
    assert "This field is required." in desk.post(RESCHEDULE, sent, headers=JSON).json()["message"]
    assert "This field is required." in desk.post(RESCHEDULE, sent).text
    article.refresh_from_db()
    assert article.publish_at == MONDAY


def test_now_is_marked_in_its_place(desk: Client) -> None:
    now = soon()
    page = desk.get(f"{CALENDAR}?view=week&date={now:%Y-%m-%d}")
    assert page.text.count('id="now"') == 1
    assert 'id="now"' not in desk.get(f"{CALENDAR}?view=week&date=2030-06-03").text


@pytest.mark.thorough
def test_ten_thousand_articles_cost_no_more_statements_and_a_bounded_page(
    desk: Client, django_assert_max_num_queries: Any
) -> None:
    channel, start = make_channel(), datetime(2030, 6, 1, tzinfo=UTC)
    times = (start + timedelta(seconds=259 * number) for number in range(10_000))
    articles = (Article(title="A headline", status=APPROVED, channel=channel, publish_at=time) for time in times)
    Article.objects.bulk_create(articles, batch_size=1000)
    desk.get(CALENDAR)  # the first page of a session reads what others have in their cache
    for view in ("month", "week", "day"):
        with django_assert_max_num_queries(
            30
        ):  # three of them for fronts and what is due, two for the version by which open pages ask for changes
            page = desk.get(f"{CALENDAR}?date=2030-06-15&view={view}")
        assert page.text.count('class="entry ') <= 24 * 7 * 3
        assert len(page.content) < 600_000
        assert " more" in page.text


def test_it_is_shown_to_who_sees_articles_and_to_no_one_else() -> None:
    assert logged_in(make_user("bob")).get(CALENDAR).status_code == 403
    assert logged_in(make_user("carol")).post(RESCHEDULE).status_code == 403
    assert Client().get(CALENDAR).status_code == 302
    for role in Role:
        client = logged_in(make_member(role))
        assert client.get(CALENDAR).status_code == 200
        sidebar = client.get("/admin/").context["sidebar_navigation"]
        assert CALENDAR in [item["link"] for group in sidebar for item in group["items"]]


def test_dropping_an_entry_moves_the_article_and_its_task(desk: Client) -> None:
    article = make_article(status=APPROVED, publish_at=MONDAY)
    response = move(desk, article, "2030-06-04T09:15:00")
    assert response["done"]
    assert "4 Jun 2030, 09:15:00 UTC" in response["message"]
    assert publish_tasks(article) == [datetime(2030, 6, 4, 9, 15, tzinfo=UTC)]
    entry = AuditEntry.objects.of(article).first()
    assert entry is not None
    assert (entry.user_name, entry.old_time) == ("alice", MONDAY)


@pytest.mark.parametrize("field", ["unpublish_at", "embargo_until", "update_at", "publish_at"])
def test_every_kind_of_time_is_moved(desk: Client, field: str) -> None:
    article = make_article(status=Status.PUBLISHED, publish_at=soon(hours=-1), unpublish_at=MONDAY)
    if field in ("publish_at", "embargo_until"):
        article = make_article("Another", **{field: MONDAY})
    if field == "update_at":
        make_update(article, MONDAY, approved=True)
    assert move(desk, article, "2030-06-04T09:15", field)["done"]
    stored = Article.objects.get(pk=article.pk)
    moved = stored.update.publish_at if field == "update_at" else getattr(stored, field)
    assert moved == datetime(2030, 6, 4, 9, 15, tzinfo=UTC)


def test_the_second_of_two_editors_is_shown_who_moved_it_and_where(desk: Client) -> None:
    article = make_article("Bridge", status=APPROVED, publish_at=MONDAY)
    bob = logged_in(make_editor("bob"))
    sent = asked(article, "2030-06-04T09:15")
    assert move(bob, article, "2030-06-05T10:00")["done"]
    response = desk.post(RESCHEDULE, sent, headers=JSON)
    assert response.status_code == 409
    assert response.json()["message"] == (
        "bob has rescheduled “Bridge” to 5 Jun 2030, 10:00:00 UTC. Your change was not applied."
    )
    assert publish_tasks(article) == [datetime(2030, 6, 5, 10, tzinfo=UTC)]


@pytest.mark.parametrize("field", ["unpublish_at", "embargo_until", "update_at"])
def test_who_moved_another_time_is_named_too(desk: Client, field: str) -> None:
    times = {"publish_at": soon(hours=1), "unpublish_at": MONDAY, "embargo_until": MONDAY}
    article = make_article("Bridge", status=APPROVED, **times)
    make_update(article, MONDAY, approved=True)
    Article.objects.filter(pk=article.pk).update(unpublish_at=MONDAY + timedelta(days=9))
    article = Article.objects.get()
    sent = asked(article, "2030-06-04T09:15", field)
    assert move(logged_in(make_editor("bob")), article, "2030-06-05T10:00", field)["done"]
    assert "bob has rescheduled “Bridge” to 5 Jun 2030" in desk.post(RESCHEDULE, sent, headers=JSON).json()["message"]


def test_a_removed_time_cannot_be_rescheduled(desk: Client) -> None:
    article = make_article("Bridge", status=APPROVED, publish_at=MONDAY)
    sent = asked(article, "2030-06-04T09:15")
    publishing.unschedule(article, by=make_editor("bob"))
    assert "bob has removed the time of “Bridge”" in desk.post(RESCHEDULE, sent, headers=JSON).json()["message"]
    assert publish_tasks(article) == []


def test_onto_the_past_asks_whether_to_publish_now(desk: Client) -> None:
    article = make_article(status=APPROVED, publish_at=MONDAY)
    past = f"{soon(hours=-2):%Y-%m-%dT%H:%M}"
    response = move(desk, article, past)
    assert (response["done"], response["code"]) == (False, "past")
    assert response["choices"] == [{"label": "Publish now", "name": "now", "value": "1"}]
    assert Article.objects.values_list("status", "publish_at").get() == (APPROVED, MONDAY)
    assert move(desk, article, past, now="1")["done"]
    assert Article.objects.get().status == Status.PUBLISHED


@pytest.mark.parametrize("field", ["unpublish_at", "embargo_until"])
def test_onto_the_past_other_times_are_refused_with_a_sentence(desk: Client, field: str) -> None:
    article = make_article("Bridge", **{field: MONDAY})
    for more in ({}, {"now": "1"}):
        response = move(desk, article, "2020-01-01T00:00", field, **more)
        assert (response["code"], response["choices"]) == ("past", [])
        assert "This time is past; to " in response["message"]
    assert getattr(Article.objects.get(), field) == MONDAY


def test_who_may_not_publish_is_not_asked_to(desk: Client) -> None:
    bob = logged_in(make_user("bob", "view_article", "schedule_article"))
    response = move(bob, make_article(status=APPROVED, publish_at=MONDAY), "2020-01-01T00:00")
    assert (response["code"], response["choices"]) == ("past", [])


@pytest.mark.parametrize(
    "zone, gap, twice, instants",
    [
        ("Europe/Berlin", "2026-03-29T02:30", "2030-10-27T02:30", ("2030-10-27T00:30Z", "2030-10-27T01:30Z")),
        ("America/New_York", "2026-03-08T02:30", "2030-11-03T01:30", ("2030-11-03T05:30Z", "2030-11-03T06:30Z")),
    ],
)
def test_a_time_that_does_not_exist_is_refused_and_one_that_happens_twice_is_asked_about(
    desk: Client, zone: str, gap: str, twice: str, instants: tuple[str, str]
) -> None:
    article = make_article(status=APPROVED, publish_at=MONDAY)
    with timezone.override(ZoneInfo(zone)):
        refused = move(desk, article, gap)
        asks = move(desk, article, twice)
        assert refused["code"] == "nonexistent"
        assert f"does not exist in {zone}" in refused["message"]
        assert publish_tasks(article) == [MONDAY]
        assert asks["code"] == "ambiguous"
        for choice, instant in zip(asks["choices"], instants, strict=True):
            article.refresh_from_db()
            assert move(desk, article, twice, **{choice["name"]: choice["value"]})["done"]
            assert publish_tasks(article) == [datetime.fromisoformat(instant)]


MOVABLE: dict[str, tuple[dict[str, Any], str, set[Role]]] = {
    "wished": ({"publish_at": MONDAY}, "publish_at", {Role.EDITOR, Role.CHIEF}),
    "approved": ({"publish_at": MONDAY, "status": APPROVED}, "publish_at", {Role.PUBLISHER, Role.CHIEF}),
    "embargo": ({"embargo_until": MONDAY}, "embargo_until", {Role.CHIEF}),
    "end": (
        {"publish_at": datetime(2020, 1, 1, tzinfo=UTC), "unpublish_at": MONDAY, "status": Status.PUBLISHED},
        "unpublish_at",
        {Role.PUBLISHER, Role.CHIEF},
    ),
}


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("kind", MOVABLE)
def test_each_role_moves_what_its_rights_allow_and_hears_why_not(role: Role, kind: str) -> None:
    values, field, allowed = MOVABLE[kind]
    article = make_article(author=make_user("somebody"), **values)
    response = move(logged_in(make_member(role)), article, "2030-06-04T09:15", field)
    assert response["done"] == (role in allowed)
    assert response["done"] or response["code"] == "not_allowed"
    assert (getattr(Article.objects.get(), field) == MONDAY) != response["done"]


def test_what_is_out_is_moved_no_more(desk: Client) -> None:
    article = make_article(status=APPROVED, publish_at=MONDAY)
    sent = asked(article, "2030-06-04T09:15")
    Article.objects.update(status=Status.PUBLISHED)
    response = desk.post(RESCHEDULE, sent, headers=JSON).json()
    assert not response["done"]
    assert "time can no longer be changed" in response["message"]


def test_nonsense_is_refused(desk: Client) -> None:
    article = make_article(publish_at=MONDAY)
    sent = asked(article, "2030-06-04T09:15")
    wrong: list[dict[str, str]] = [
        {"key": "publish_at:0"},
        {"key": "title:1"},
        {"key": "publish_at"},
        {"key": f"publish_at:{'9' * 30}"},
        {"seen": "now"},
        {"seen": "2030-06-03T07:00"},
        {"at": "25 o'clock"},
        {"at": "0001-01-01T00:00"},
        {"at": ""},
    ]
    for change in wrong:
        response = desk.post(RESCHEDULE, {**sent, **change}, headers=JSON)
        assert response.status_code == 409, change
        assert response.json()["message"]
        assert desk.post(RESCHEDULE, {**sent, **change}).status_code in (200, 302)
    assert desk.get(RESCHEDULE).status_code == 404
    assert Article.objects.get().publish_at == MONDAY


def test_without_a_script_a_form_moves_it_and_leads_back(desk: Client) -> None:
    article = make_article("Bridge", status=APPROVED, publish_at=MONDAY)
    address = f"{RESCHEDULE}?back=%3Fview%3Dweek%26date%3D2030-06-03%26author%3Dme&key=publish_at:{article.pk}"
    form = desk.get(address).context["form"]
    sent = {name: form[name].value() for name in ("key", "back")} | {"seen": MONDAY.isoformat()}
    gap = desk.post(RESCHEDULE, {**sent, "at": "2020-01-01T00:00"})
    assert 'name="now"' in gap.text
    done = desk.post(RESCHEDULE, {**sent, "at": "2030-06-04T09:15"})
    assert done.headers["Location"] == f"{CALENDAR}?view=week&date=2030-06-03&author=me"
    assert "“Bridge” is rescheduled to 4 Jun 2030, 09:15:00 UTC." in desk.get(done.headers["Location"]).text
    elsewhere = desk.post(RESCHEDULE, {**sent, "at": "x", "back": "https://example.org/"})
    assert "example.org" not in elsewhere.context["back"]


def test_the_last_rescheduling_is_undone_once(desk: Client) -> None:
    article = make_article(status=APPROVED, publish_at=MONDAY + timedelta(microseconds=7))
    move(desk, article, "2030-06-04T09:15")
    assert "Undo" in desk.get(CALENDAR).text
    desk.post(UNDO, {"back": "?view=day"})
    assert publish_tasks(article) == [MONDAY + timedelta(microseconds=7)]
    assert "Undo" in desk.get(CALENDAR).text
    desk.post(UNDO)
    assert publish_tasks(article) == [datetime(2030, 6, 4, 9, 15, tzinfo=UTC)]


def test_what_user_else_moved_since_is_not_taken_back(desk: Client) -> None:
    article = make_article("Bridge", status=APPROVED, publish_at=MONDAY)
    move(desk, article, "2030-06-04T09:15")
    article.refresh_from_db()
    move(logged_in(make_editor("bob")), article, "2030-06-05T10:00")
    assert "bob has rescheduled “Bridge”" in desk.post(UNDO, follow=True).text
    assert publish_tasks(article) == [datetime(2030, 6, 5, 10, tzinfo=UTC)]
    assert "There is nothing to undo" in desk.post(UNDO, follow=True).text


def test_releases_stand_on_it_and_are_moved(desk: Client) -> None:
    alice = User.objects.get()
    politics = make_channel()
    release = make_release(make_article("Member", status=APPROVED, channel=politics), by=alice)
    releases.schedule_release(release, publish_at=MONDAY, by=alice)
    assert shown(desk) == [("release", "Budget day", ())]
    assert shown(desk, f"?date=2030-06-03&channel={politics.pk}") == [("release", "Budget day", ())]
    assert shown(desk, f"?date=2030-06-03&channel={make_channel('Sport').pk}") == []
    sent = {"key": f"release:{release.pk}", "seen": MONDAY.isoformat(), "at": "2030-06-04T09:15"}
    assert desk.post(RESCHEDULE, sent, headers=JSON).json()["done"]
    release.refresh_from_db()
    assert release.publish_at == datetime(2030, 6, 4, 9, 15, tzinfo=UTC)
    late = logged_in(make_editor("bob")).post(RESCHEDULE, sent, headers=JSON).json()
    assert "alice has rescheduled “Budget day” to 4 Jun 2030" in late["message"]
    again = {**sent, "seen": release.publish_at.isoformat(), "at": "2020-01-01T00:00"}
    question = desk.post(RESCHEDULE, again, headers=JSON).json()
    assert question["choices"] == [{"label": "Publish release now", "name": "now", "value": "1"}]
    assert desk.post(RESCHEDULE, {**again, "now": "1"}, headers=JSON).json()["done"]
    assert Article.objects.get().status == Status.PUBLISHED
    assert desk.post(RESCHEDULE, again, headers=JSON).status_code == 409
    assert desk.post(RESCHEDULE, {**sent, "key": "release:0"}, headers=JSON).status_code == 409


def test_who_may_not_see_releases_does_not_see_them_here() -> None:
    alice = make_editor()
    release = make_release(make_article(status=APPROVED), by=alice)
    releases.schedule_release(release, publish_at=MONDAY, by=alice)
    assert shown(logged_in(make_user("bob", "view_article"))) == []
    carol = logged_in(make_user("carol", "view_article"))
    sent = {"key": f"release:{release.pk}", "seen": MONDAY.isoformat(), "at": "2030-06-04T09:15"}
    assert carol.get(RESCHEDULE, sent).status_code == 404
    assert carol.post(RESCHEDULE, sent, headers=JSON).json()["code"] == "not_allowed"
