"""The newsroom's article API: drafts, edits and transitions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from articles import publishing
from articles.models import Article, Tag
from headline.api.tokens import issue
from tests.articles.factories import APPROVED, make_article, make_channel, make_editor, make_user, publish_tasks, soon

URL = "/api/v1/desk/articles/"
NOON = "2100-01-01T12:00:00+00:00"
Status = Article.Status

pytestmark = pytest.mark.django_db


def signed_in(user: User) -> APIClient:
    """A program with the user's token."""
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Token {issue(user, by=user, name='probe')[1]}")
    return client


@pytest.fixture
def alice() -> User:
    return make_editor("alice")


@pytest.fixture
def desk(alice: User) -> APIClient:
    return signed_in(alice)


def take(client: APIClient, transition: str, article: Article, body: Any = None) -> Any:
    return client.post(f"{URL}{article.pk}/{transition}/", body)


def test_an_article_goes_from_draft_to_live_and_back(desk: APIClient) -> None:
    """R5.3"""
    draft = desk.post(URL, {"title": "Ferry timetable changes", "publish_at": NOON}).json()
    reviewer = signed_in(make_user("nadia", "view_article", "review_article"))  # no one reviews an own text
    article = Article.objects.get(pk=draft["id"])
    assert draft["status"] == Status.DRAFT
    walk = [
        ("submit", None, Status.MANUAL_REVIEW),
        ("reject", {"reason": "Which Monday?"}, Status.REJECTED),
        ("submit", None, Status.MANUAL_REVIEW),
        ("approve", {"revision": 1}, Status.MANUALLY_APPROVED),
        ("unschedule", None, Status.MANUALLY_APPROVED),
        ("publish", None, Status.PUBLISHED),
        ("unpublish", None, Status.UNPUBLISHED),
        ("republish", None, Status.PUBLISHED),
    ]
    for transition, body, status in walk:
        response = take(reviewer if transition in {"approve", "reject"} else desk, transition, article, body)
        assert (response.status_code, response.json()["status"]) == (200, status), transition
        assert (publish_tasks(article) == [datetime(2100, 1, 1, 12, tzinfo=UTC)]) is (transition == "approve")
    assert Article.objects.get().published_at is not None


def test_scheduling_makes_the_task(desk: APIClient) -> None:
    article = make_article(status=Status.APPROVED)
    response = take(desk, "schedule", article, {"publish_at": "2100-01-01T20:00:00+08:00"})
    assert response.json()["publish_at"] == "2100-01-01T12:00:00Z"
    assert publish_tasks(article) == [datetime(2100, 1, 1, 12, tzinfo=UTC)]
    take(desk, "unschedule", article)
    assert publish_tasks(article) == []


def test_a_draft_is_written_with_channel_tags_and_times(desk: APIClient, alice: User) -> None:
    make_channel("Politics")
    Tag.objects.create(name="高铁")
    body = {"title": "新闻", "channel": "politics", "tags": ["高铁"], "publish_at": NOON, "byline": "A. Lin"}
    response = desk.post(URL, body)
    assert response.status_code == 201
    shown = desk.get(f"{URL}{response.json()['id']}/").json()
    assert {name: shown[name] for name in ("title", "channel", "tags", "byline")} == {
        "title": "新闻", "channel": "politics", "tags": ["高铁"], "byline": "A. Lin",
    }  # fmt: skip
    assert (shown["author"], shown["publish_at"], shown["status"]) == ("alice", "2100-01-01T12:00:00Z", Status.DRAFT)
    assert Article.objects.get().author == alice


def test_the_status_cannot_be_written(desk: APIClient) -> None:
    created = desk.post(URL, {"title": "Sneaky", "status": Status.PUBLISHED, "published_at": NOON}).json()
    changed = desk.patch(f"{URL}{created['id']}/", {"status": Status.APPROVED, "author": "alice"}).json()
    assert (created["status"], changed["status"], changed["author"]) == (Status.DRAFT, Status.DRAFT, "alice")
    assert created["published_at"] is None


def test_a_change_writes_only_what_was_sent(desk: APIClient) -> None:
    article = make_article("Old", summary="stays", publish_at=soon(hours=1))
    article.tags.add(Tag.objects.create(name="harbour"))
    response = desk.patch(f"{URL}{article.pk}/", {"title": "New"})
    article.refresh_from_db()
    assert (response.json()["title"], article.title, article.summary) == ("New", "New", "stays")
    assert (article.publish_at is not None, article.tags.count()) == (True, 1)
    desk.patch(f"{URL}{article.pk}/", {"tags": [], "publish_at": None})
    article.refresh_from_db()
    assert (article.publish_at, article.tags.count()) == (None, 0)


def test_a_change_is_refused_if_another_user_has_saved_since(desk: APIClient) -> None:
    article = make_article()
    seen = desk.get(f"{URL}{article.pk}/").json()["updated_at"]
    first = desk.patch(f"{URL}{article.pk}/", {"title": "Mine", "seen": seen})
    second = desk.patch(f"{URL}{article.pk}/", {"title": "Theirs", "seen": seen})
    assert (first.status_code, second.status_code, second.json()["code"]) == (200, 409, "edit_conflict")
    assert Article.objects.get().title == "Mine"


@pytest.mark.parametrize(
    ("body", "field", "code"),
    [
        ({}, "title", "required"),
        ({"title": ""}, "title", "blank"),
        ({"title": "x" * 201}, "title", "max_length"),
        ({"title": "a\0b"}, "title", "null_characters_not_allowed"),
        ({"title": "x", "slug": "no blanks"}, "slug", "invalid"),
        ({"title": "x", "channel": "closed"}, "channel", "does_not_exist"),
        ({"title": "x", "channel": {"a": 1}}, "channel", "does_not_exist"),
        ({"title": "x", "tags": ["unknown"]}, "tags", "does_not_exist"),
        ({"title": "x", "tags": "politics"}, "tags", "not_a_list"),
        ({"title": "x", "publish_at": "2100-01-01T12:00:00"}, "publish_at", "naive_time"),
        ({"title": "x", "publish_at": "2100-01-01T12:00:00+08:60"}, "publish_at", "invalid"),
        ({"title": "x", "publish_at": "2100-01-01 12:00:00+0875"}, "publish_at", "invalid"),
        ({"title": "x", "publish_at": "2100-01-01T12:00+23:00"}, "publish_at", "invalid"),
        ({"title": "x", "publish_at": "9999-12-31T23:59:59-14:00"}, "publish_at", "out_of_range"),
        ({"title": "x", "publish_at": NOON, "unpublish_at": NOON}, "detail", "invalid_schedule"),
    ],
)
def test_a_draft_that_cannot_be_stored_is_refused(desk: APIClient, body: Any, field: str, code: str) -> None:
    make_channel("Closed", enabled=False)
    response = desk.post(URL, body)
    assert (response.status_code, response.json()["code"]) == (400, code)
    assert response.json()[field]
    assert not Article.objects.exists()


@pytest.mark.parametrize(
    ("transition", "body", "code"),
    [
        ("schedule", {}, "required"),
        ("schedule", {"publish_at": "2100-01-01T12:00:00"}, "naive_time"),
        ("schedule", {"publish_at": None}, "null"),
        ("schedule", {"publish_at": "0001-01-01T00:00:00+14:00"}, "out_of_range"),
        ("reject", {}, "required"),
        ("reject", {"reason": "  "}, "blank"),
    ],
)
def test_a_transition_with_an_invalid_body_is_refused(desk: APIClient, transition: str, body: Any, code: str) -> None:
    response = take(desk, transition, make_article(status=Status.APPROVED), body)
    assert (response.status_code, response.json()["code"]) == (400, code)


def test_a_transition_the_status_does_not_allow_is_a_conflict(desk: APIClient) -> None:
    article = make_article()
    for transition in ("approve", "unschedule", "publish", "unpublish", "republish"):
        response = take(desk, transition, article, {"revision": 1} if transition == "approve" else None)
        assert (response.status_code, response.json()["code"]) == (409, "wrong_state"), transition
    assert "“Draft”" in take(desk, "publish", article).json()["detail"]


def test_a_transition_without_permission_is_forbidden() -> None:
    reporter = signed_in(make_user("bob", "view_article"))
    article = make_article(status=Status.APPROVED)
    bodies = {"approve": {"revision": 1}, "reject": {"reason": "x"}, "schedule": {"publish_at": NOON}}
    for transition in ("submit", "approve", "reject", "schedule", "unschedule", "publish", "unpublish", "republish"):
        response = take(reporter, transition, article, bodies.get(transition))
        assert (response.status_code, response.json()["code"]) == (403, "not_allowed"), transition
    assert reporter.post(URL, {"title": "x"}).json()["code"] == "not_allowed"
    assert reporter.patch(f"{URL}{article.pk}/", {"title": "x"}).json()["code"] == "not_allowed"


def test_times_of_an_approved_article_need_the_permission_to_schedule(desk: APIClient) -> None:
    writer = signed_in(make_user("bob", "change_article", "edit_any_article"))
    waiting, draft = make_article(status=Status.APPROVED, publish_at=soon(hours=1)), make_article()
    for name in ("publish_at", "unpublish_at", "embargo_until"):
        assert writer.patch(f"{URL}{waiting.pk}/", {name: NOON}).status_code == 403
    assert writer.patch(f"{URL}{draft.pk}/", {"publish_at": NOON}).status_code == 200
    assert desk.patch(f"{URL}{waiting.pk}/", {"publish_at": NOON}).status_code == 200
    assert publish_tasks(waiting) == [datetime(2100, 1, 1, 12, tzinfo=UTC)]


def test_only_staff_have_access() -> None:
    assert APIClient().get(URL).status_code == 401
    former = make_editor("carol")
    former.is_staff = False
    former.save()
    for stranger in (User.objects.create_user("reader"), make_user("robot", "operate_tasks"), former):
        assert signed_in(stranger).get(URL).status_code == 403


def test_editors_of_tags_or_images_cannot_read_unpublished_texts() -> None:
    article = make_article("Secret")
    keeper, librarian = (signed_in(make_user(name, right)) for name, right in (("k", "add_tag"), ("l", "add_image")))
    for client in (keeper, librarian):
        for address in (URL, f"{URL}{article.pk}/", f"{URL}{article.pk}/revisions/"):
            assert client.get(address).status_code == 403
    assert [client.get("/api/v1/desk/images/").status_code for client in (keeper, librarian)] == [403, 200]


def test_a_session_works_with_its_csrf_token(alice: User) -> None:
    browser = APIClient(enforce_csrf_checks=True)
    browser.force_login(alice)
    assert browser.get(URL).status_code == 200
    response = browser.post(URL, {"title": "Forged"})
    assert (response.status_code, response.json()["code"]) == (403, "permission_denied")


def test_the_list_is_filtered_by_status_channel_date_keyword_and_owner(desk: APIClient, alice: User) -> None:
    """R5.8"""
    noon = datetime(2100, 1, 1, 12, tzinfo=UTC)
    make_article("Mine", author=alice, channel=make_channel("Sport"))
    make_article("Waiting", status=Status.APPROVED, publish_at=noon, summary="about rowing")
    make_article("Out", status=Status.PUBLISHED, publish_at=noon + timedelta(days=1))

    def titles(query: str = "") -> list[str]:
        return [article["title"] for article in desk.get(f"{URL}?{query}").json()["results"]]

    assert titles() == ["Out", "Waiting", "Mine"]
    assert titles("own=true") == ["Mine"]
    assert titles("status=8&status=9") == ["Out", "Waiting"]
    assert titles("status=0") == titles("channel=sport") == ["Mine"]
    assert titles("q=rowing") == ["Waiting"]
    assert titles("since=2100-01-02T00:00:00Z") == ["Out"]
    assert titles("until=2100-01-02T00:00:00Z") == ["Waiting"]
    for wrong in ("status=7", "status=x", "own=perhaps", "since=2100-01-02T00:00:00"):
        assert desk.get(f"{URL}?{wrong}").status_code == 400


def test_a_list_costs_a_fixed_number_of_queries(
    desk: APIClient, alice: User, django_assert_max_num_queries: Any
) -> None:
    for number in range(6):
        author, channel = make_user(f"p{number}"), make_channel(f"Channel {number}")
        article = make_article(f"Item {number}", status=APPROVED, channel=channel, author=author)
        publishing.edit(article, by=alice, changes={"title": f"New {number}"})
        publishing.submit(article, by=alice)
        publishing.soft_lock(article, by=make_editor(f"reviewer{number}"))
    desk.get(URL)  # notes the token's use, which the next minutes do without
    # what is due, token with user, own and group permissions, articles, tags, releases, the time, review stages, and
    # their approvals
    with django_assert_max_num_queries(10):
        assert len(desk.get(URL).json()["results"]) == 6


def test_an_unknown_article_is_not_found(desk: APIClient) -> None:
    for pk in ("42", "9" * 30, "x"):
        for method, address in (("get", f"{URL}{pk}/"), ("patch", f"{URL}{pk}/"), ("post", f"{URL}{pk}/submit/")):
            assert getattr(desk, method)(address).status_code == 404


def test_an_invalid_slug_is_reported_once(desk: APIClient) -> None:
    refused = desk.post(URL, {"title": "Bridge", "slug": "bridge 🌉"})
    assert (refused.status_code, len(refused.json()["slug"])) == (400, 1)
    assert desk.post(URL, {"title": "Bridge", "slug": "桥-bridge"}).json()["slug"] == "桥-bridge"
    assert desk.post(URL, {"title": "Bridge", "slug": "x" * 201}).json()["code"] == "max_length"


def test_a_time_with_nanoseconds_is_rounded_up(desk: APIClient) -> None:
    """Cut to microseconds, the article would be early."""
    for digits, stored in (("123456789", "123457"), ("123456000", "123456"), ("9999999", "")):
        second = "00" if stored else "01"
        wanted = f"2100-01-01T12:00:{second}{stored and '.' + stored}Z"
        body = {"title": "News", "publish_at": f"2100-01-01T12:00:00.{digits}Z"}
        assert desk.post(URL, body).json()["publish_at"] == wanted
