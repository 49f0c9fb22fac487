"""The API of releases."""

from __future__ import annotations

import pytest
from rest_framework.test import APIClient

from articles import releases
from articles.models import Article, AuditEntry, Release
from articles.roles import Role
from tests.articles.api.test_articles import signed_in
from tests.articles.factories import APPROVED, make_article, make_editor, make_member, make_release

URL = "/api/v1/desk/releases/"
NOON = "2100-01-01T12:00:00+00:00"

pytestmark = pytest.mark.django_db


@pytest.fixture
def desk() -> APIClient:
    return signed_in(make_editor("irene"))


def test_a_release_is_published_and_rolled_back(desk: APIClient) -> None:
    articles = [make_article(f"No. {number}", status=APPROVED) for number in range(2)]
    release = desk.post(URL, {"name": "Budget day"}).json()
    address = f"{URL}{release['id']}/"
    for article in articles:
        assert desk.post(f"{address}members/", {"article": article.pk}).json()["action"] == "publish"
    assert desk.get(f"{address}preflight/").json() == []
    scheduled = desk.post(f"{address}schedule/", {"publish_at": NOON}).json()
    assert (scheduled["status"], scheduled["publish_at"]) == ("scheduled", "2100-01-01T12:00:00Z")
    published = desk.post(f"{address}publish/").json()
    assert (published["status"], [member["title"] for member in published["members"]]) == (
        "published",
        ["No. 0", "No. 1"],
    )
    assert Article.objects.filter(status=Article.Status.PUBLISHED).count() == 2
    assert desk.post(f"{address}rollback/").json()["status"] == "rolled_back"
    assert not Article.objects.filter(status=Article.Status.PUBLISHED).exists()
    assert set(AuditEntry.objects.filter(release_id=release["id"]).values_list("source", "user_name")) == {
        ("api", "irene")
    }


def test_an_unready_release_is_refused_with_all_blocking_issues(desk: APIClient) -> None:
    release = make_release(make_article("Draft"), make_article("Fine", status=APPROVED), by=make_editor())
    response = desk.post(f"{URL}{release.pk}/publish/")
    assert (response.status_code, response.json()["code"]) == (409, "release_not_ready")
    assert response.json()["detail"] == "“Draft”: It is a draft. Submit it for review."
    (problem,) = desk.get(f"{URL}{release.pk}/preflight/").json()
    assert (problem["member"]["title"], problem["code"]) == ("Draft", "not_approved")


def test_a_member_that_is_scheduled_alone_is_refused_by_name(desk: APIClient) -> None:
    article = make_article(status=APPROVED)
    make_release(article, by=make_editor())
    response = desk.post(f"/api/v1/desk/articles/{article.pk}/schedule/", {"publish_at": NOON})
    assert (response.status_code, response.json()["code"]) == (409, "belongs_to_release")
    assert "Budget day" in response.json()["detail"]


def test_a_repeated_request_creates_one_release(desk: APIClient) -> None:
    for _ in range(2):
        response = desk.post(URL, {"name": "Budget day"}, headers={"Idempotency-Key": "budget-1"})
        assert response.status_code == 201
    assert Release.objects.count() == 1


def test_a_time_without_offset_is_refused(desk: APIClient) -> None:
    release = make_release(make_article(status=APPROVED), by=make_editor())
    response = desk.post(f"{URL}{release.pk}/schedule/", {"publish_at": "2100-01-01T12:00:00"})
    assert (response.status_code, list(response.json())) == (400, ["publish_at", "code"])


def test_releases_are_listed_by_status_in_a_fixed_number_of_queries(
    desk: APIClient, django_assert_max_num_queries: pytest.FixtureRequest
) -> None:
    editor = make_editor()
    for name in ("One", "Two", "Three"):
        make_release(make_article(name, status=APPROVED), by=editor, name=name)
    releases.cancel_release(Release.objects.get(name="Two"), by=editor)
    desk.get(URL)  # notes the token's use, which the next minutes do without
    with django_assert_max_num_queries(8) as asked:  # type: ignore[operator]
        found = desk.get(URL, {"status": "draft"}).json()["results"]
    assert [release["name"] for release in found] == ["Three", "One"]
    assert not any("body" in query["sql"] for query in asked.captured_queries)


@pytest.mark.cases(1)
@pytest.mark.parametrize("role", [Role.AUTHOR, Role.EDITOR, Role.REVIEWER, Role.OPERATOR])
def test_other_roles_can_read_but_not_change_releases(role: Role) -> None:
    release = make_release(make_article(status=APPROVED), by=make_editor())
    client = signed_in(make_member(role))
    assert client.get(f"{URL}{release.pk}/").status_code == 200
    asked = [
        client.post(URL, {"name": "Mine"}),
        client.patch(f"{URL}{release.pk}/", {"name": "Mine"}),
        client.delete(f"{URL}{release.pk}/"),
        client.post(f"{URL}{release.pk}/members/", {"article": make_article().pk}),
        client.delete(f"{URL}{release.pk}/members/{release.members.get().pk}/"),
        client.post(f"{URL}{release.pk}/schedule/", {"publish_at": NOON}),
        *(client.post(f"{URL}{release.pk}/{transition}/") for transition in ("cancel", "publish", "dry-run")),
    ]
    assert {response.status_code for response in asked} == {403}
    release.refresh_from_db()
    assert (release.status, release.name, release.members.count()) == (Release.Status.DRAFT, "Budget day", 1)
