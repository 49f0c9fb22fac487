"""Unknown input is an error in every operation of the API: a typing error must not go unnoticed."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.core.cache import cache
from django.core.files.uploadedfile import SimpleUploadedFile
from rest_framework.test import APIClient

from articles import publishing
from articles.models import (
    Alert,
    Article,
    ArticleTemplate,
    AuditEntry,
    Endpoint,
    Front,
    Image,
    ProposedChange,
    SavedView,
    SensitiveWord,
    Tag,
)
from articles.notes import add_note
from articles.publishing import gather_articles, start_bulk_action
from articles.review import propose
from articles.workflow import Transition
from headline.api.service_accounts import create_service_account
from headline.api.tokens import issue
from scheduling.database import read_database_clock
from scheduling.services import add_task
from tests.articles.factories import APPROVED, make_article, make_channel, make_editor, make_release, soon
from tests.articles.image_files import image_bytes, sent
from tests.harness import eventually
from tests.headline.api_document import api_document
from tests.headline.test_api_schema import filled, operations

LIVE, DESK = "/api/v1/articles/", "/api/v1/desk/articles/"
Status = Article.Status

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin() -> APIClient:
    client = APIClient()
    client.force_authenticate(User.objects.create_superuser("root"))
    return client


@pytest.fixture
def documented() -> dict[str, tuple[str, str, dict[str, Any]]]:
    return operations(api_document())


@pytest.fixture
def ids(admin: APIClient) -> dict[str, str]:
    """A real object for each prefix of URLs."""
    editor, root = make_editor(), User.objects.get(username="root")
    live = make_article(status=Status.PUBLISHED, publish_at=soon(hours=-1), channel=make_channel())
    admin.post("/api/v1/desk/images/", {"file": sent(image_bytes()), "alt": "Ships"}, format="multipart")
    task = add_task("mail.send", execute_time=read_database_clock(), parameters={})
    bulk_action = gather_articles(Transition.SUBMIT, [(live.pk, live.title)], by=root)
    start_bulk_action(bulk_action)
    return {
        "/api/v1/articles/": str(live.pk),
        "/api/v1/desk/articles/{article}/notes/": f"{live.pk}/{add_note(live, by=editor, text='Check it').pk}",
        "/api/v1/desk/articles/": f"{live.pk}/1",
        "/api/v1/desk/releases/": f"{make_release(make_article(status=APPROVED), by=editor).pk}/1",
        "/api/v1/desk/fronts/{front}/versions/": "/".join(map(str, front_version())),
        "/api/v1/desk/fronts/": str(front_version()[0]),
        "/api/v1/desk/images/": str(Image.objects.get().pk),
        "/api/v1/desk/articles/{article}/preview-links/": f"{live.pk}/x",
        "/api/v1/desk/alerts/": str(Alert.objects.create(article=live, text="Bridge closed").pk),
        "/api/v1/desk/audit/": str(AuditEntry.objects.latest("pk").pk),
        "/api/v1/desk/bulk-actions/": str(bulk_action.pk),
        "/api/v1/desk/channels/": str(live.channel_id),
        "/api/v1/desk/notifications/": "x",
        "/api/v1/desk/proposed-changes/": str(proposed(live, editor).pk),
        "/api/v1/desk/roles/": str(Group.objects.latest("pk").pk),
        "/api/v1/desk/shared-pages/": "x",
        "/api/v1/desk/tags/": str(Tag.objects.create(name="Rain").pk),
        "/api/v1/desk/templates/": str(ArticleTemplate.objects.create(name="Match report").pk),
        "/api/v1/desk/users/": str(editor.pk),
        "/api/v1/desk/views/": str(SavedView.objects.create(owner=root, name="Mine", query="").pk),
        "/api/v1/desk/webhooks/": str(Endpoint.objects.create(url="https://example.com/hook").pk),
        "/api/v1/desk/words/": str(SensitiveWord.objects.create(text="forbidden").pk),
        "/api/v1/fronts/": "en",
        "/api/v1/tasks/": str(task.task_id),
        "/api/v1/desk/tokens/": str(issue(editor, by=editor, name="probe")[0].pk),
        "/api/v1/desk/service-accounts/": str(create_service_account(name="wire", purpose="", roles=(), by=root).pk),
    }


def front_version() -> tuple[int, int]:
    """The ids of a front and of a draft of it."""
    front, _is_new = Front.objects.get_or_create(slug="en", language="en")
    version, _is_new = front.versions.get_or_create(number=1)
    return front.pk, version.pk


def proposed(article: Article, by: User) -> ProposedChange:
    """A change of its channel that waits for another person."""
    channel = article.channel
    assert channel is not None
    propose(channel, {"description": "Rain and shine"}, name=channel.name, by=by)
    return ProposedChange.objects.get()


def addresses(documented: Any, ids: dict[str, str], *methods: str) -> list[tuple[str, str, str]]:
    """Operation, address and method of all operations with these methods."""
    return [
        (name, filled(path, next((there for start, there in ids.items() if path.startswith(start)), "")), method)
        for name, (path, method, _description) in documented.items()
        if method in methods
    ]


@pytest.mark.thorough
def test_every_operation_refuses_an_unknown_parameter(admin: APIClient, documented: Any, ids: dict[str, str]) -> None:
    asked = addresses(documented, ids, "get", "post", "patch", "delete")
    assert len(asked) == len(documented)
    for name, address, method in asked:
        response = getattr(admin, method)(f"{address}?chanel=politics")
        assert (response.status_code, response.json()["code"]) == (400, "unknown_parameter"), name
        assert "“chanel”" in response.json()["chanel"][0]


def test_every_operation_refuses_an_unknown_field(admin: APIClient, documented: Any, ids: dict[str, str]) -> None:
    for name, address, method in addresses(documented, ids, "post", "patch"):
        form = {"format": "multipart"} if name == "desk_images_create" else {"format": "json"}
        response = getattr(admin, method)(address, {"embargo_untill": "2100-01-01T00:00:00Z"}, **form)
        assert response.status_code == 400, name
        assert "“embargo_untill”" in response.json()["embargo_untill"][0]


def test_an_error_names_the_known_fields_and_all_other_errors(admin: APIClient) -> None:
    response = admin.post(DESK, {"titel": "Budget", "embargo_untill": "2100-01-01T00:00:00Z", "code": 1}).json()
    assert {"titel", "embargo_untill", "title", "non_field_errors"} <= response.keys()
    assert ", embargo_until, " in response["embargo_untill"][0]
    assert "status_reason" not in response["embargo_untill"][0], "read-only fields are not suggested"
    assert not Article.objects.exists()


def test_read_only_fields_may_be_sent_back(admin: APIClient) -> None:
    article = make_article("Old")
    shown = admin.get(f"{DESK}{article.pk}/").json()
    response = admin.patch(f"{DESK}{article.pk}/", {**shown, "title": "New"}, format="json")
    assert (response.status_code, response.json()["title"]) == (200, "New")


def test_a_body_is_refused_where_none_is_taken(admin: APIClient) -> None:
    article = make_article()
    for body in ({"revision": 1}, [1], "now"):
        assert admin.post(f"{DESK}{article.pk}/submit/", body, format="json").status_code == 400
    assert Article.objects.get().status == Status.DRAFT


@pytest.mark.parametrize("field", ["channel", "tag", "author"])
def test_readers_get_an_error_for_a_filter_without_a_match(field: str) -> None:
    """Values that only drafts use do not exist for readers."""
    author = User.objects.create_user("ada", first_name="Ada")
    article = make_article(channel=make_channel(), author=author, publish_at=soon(hours=-1))
    article.tags.add(Tag.objects.create(name="Rain"))
    hidden = {"channel": "nowhere", "tag": "rain", "author": str(author.pk)}[field]
    responses = [APIClient().get(LIVE, {field: value}) for value in (hidden, "987654321")]
    assert [(response.status_code, response.json()["code"]) for response in responses] == [(400, "unknown")] * 2
    assert responses[0].json()[field][0].replace(hidden, "X") == responses[1].json()[field][0].replace("987654321", "X")
    if field == "channel":
        assert "politics" in responses[0].json()[field][0]


def test_readers_filter_by_existing_values() -> None:
    author, tag = User.objects.create_user("ada", first_name="Ada"), Tag.objects.create(name="Rain")
    channel = make_channel()
    article = make_article(channel=channel, author=author, status=Status.PUBLISHED, publish_at=soon(hours=-1))
    article.tags.add(tag)
    for query in ({"channel": "politics"}, {"tag": "rain"}, {"author": author.pk}):
        assert [one["id"] for one in APIClient().get(LIVE, query).json()["results"]] == [article.pk]


def test_a_disabled_channel_is_known_to_the_newsroom_alone(admin: APIClient) -> None:
    make_channel("Closed", enabled=False)
    assert admin.get(DESK, {"channel": "closed"}).json()["results"] == []
    response = APIClient().get(LIVE, {"channel": "closed"})
    assert (response.status_code, "closed" in response.json()["channel"][0].split("Channels:")[1]) == (400, False)


@pytest.mark.parametrize("query", [{"channel": "x"}, {"tag": "x"}, {"author": "987654321"}, {"status": "77"}])
def test_the_newsroom_gets_the_same_filter_errors(admin: APIClient, query: dict[str, str]) -> None:
    (field,) = query
    response = admin.get(DESK, query)
    assert (response.status_code, list(response.json())) == (400, [field, "code"])


def test_unknown_parameters_are_never_cached(admin: APIClient) -> None:
    before = len(getattr(cache, "_cache", ()))
    for number in range(5):
        for address in (LIVE, "/api/v1/channels/"):
            assert APIClient().get(f"{address}?utm_source={number}").status_code == 400
    assert len(getattr(cache, "_cache", ())) - before <= 1, "but for the throttle's counter"


def test_a_version_is_changed_once(admin: APIClient) -> None:
    article = make_article("Old")
    address = f"{DESK}{article.pk}/"
    version = admin.get(address)["ETag"]
    first = admin.patch(address, {"title": "Mine"}, headers={"If-Match": version})
    second = admin.patch(address, {"title": "Theirs"}, headers={"If-Match": version})
    assert (first.status_code, second.status_code, second.json()["code"]) == (200, 412, "version_changed")
    assert first["ETag"] == admin.get(address)["ETag"] != version
    assert admin.patch(address, {"title": "Newer"}, headers={"If-Match": f'"x", {first["ETag"]}'}).status_code == 200
    assert admin.patch(address, {"title": "Newest"}, headers={"If-Match": "*"}).status_code == 200
    for wrong in ("W/" + admin.get(address)["ETag"], "nonsense", ""):
        assert admin.patch(address, {"title": "No"}, headers={"If-Match": wrong}).status_code == 412
    assert Article.objects.get().title == "Newest"


def test_every_response_has_the_version_for_the_next_request(admin: APIClient) -> None:
    article = Article(title="Bridge")
    publishing.create(article, by=make_editor())  # whose text another user approves
    address, version = f"{DESK}{article.pk}/", admin.get(f"{DESK}{article.pk}/")["ETag"]
    later = soon(hours=1).isoformat()
    for transition, body in (
        ("submit", {}),
        ("approve", {"revision": 1}),
        ("schedule", {"publish_at": later}),
        ("publish", {}),
    ):
        response = admin.post(f"{address}{transition}/", body, format="json", headers={"If-Match": version})
        assert response.status_code == 200, response.json()
        stale = admin.post(f"{address}unpublish/", headers={"If-Match": version})
        assert (stale.status_code, Article.objects.get().status) == (412, response.json()["status"])
        version = response["ETag"]
        assert version == admin.get(address)["ETag"]


def test_going_live_is_another_version_and_storing_that_is_none(admin: APIClient) -> None:
    article = make_article(status=APPROVED, publish_at=soon(seconds=4))
    address = f"{DESK}{article.pk}/"
    scheduled = admin.get(address)["ETag"]
    assert eventually(lambda: admin.get(address)["ETag"] != scheduled)
    assert admin.post(f"{address}unpublish/", headers={"If-Match": scheduled}).status_code == 412
    live = admin.get(address)["ETag"]
    publishing.publish_due([article.pk])
    assert admin.post(f"{address}unpublish/", headers={"If-Match": live}).status_code == 200


def test_releases_have_versions_too(admin: APIClient) -> None:
    release = make_release(make_article(status=APPROVED), by=make_editor())
    address = f"/api/v1/desk/releases/{release.pk}/"
    version = admin.get(address)["ETag"]
    assert admin.patch(address, {"name": "Other"}, headers={"If-Match": version}).status_code == 200
    assert admin.post(f"{address}publish/", headers={"If-Match": version}).status_code == 412
    assert admin.delete(address, headers={"If-Match": version}).status_code == 412
    assert admin.post(f"{address}publish/", headers={"If-Match": admin.get(address)["ETag"]}).status_code == 200


def test_a_version_is_not_ignored_where_there_are_none(admin: APIClient) -> None:
    for address in (DESK, f"{DESK}reschedule/", "/api/v1/desk/images/"):
        response = admin.post(address, {"title": "x"}, headers={"If-Match": '"1"'}, format="json")
        assert (response.status_code, response.json()["code"]) == (400, "no_versions")


def test_a_form_may_carry_its_csrf_token(admin: APIClient) -> None:
    body = {"file": SimpleUploadedFile("a.png", image_bytes()), "alt": "Ships", "csrfmiddlewaretoken": "x"}
    assert admin.post("/api/v1/desk/images/", body, format="multipart").status_code == 201


def test_names_in_addresses_are_parameters_only_as_they_are_written(admin: APIClient) -> None:
    for query in ("Channel=politics", "channel%20=politics", "page-size=2", "q%5B%5D=x", "%F0%9F%98%80=1", "=1"):
        assert APIClient().get(f"{LIVE}?{query}").status_code == 400, query
    assert re.search("page_size", APIClient().get(f"{LIVE}?page-size=2").json()["page-size"][0])
