"""The OpenAPI document is correct: every operation is called, and every response matches the document."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.db import connection
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils.translation import trans_real
from jsonschema import Draft202012Validator, FormatChecker
from playwright.sync_api import Page
from rest_framework.test import APIClient

from articles.models import (
    Alert,
    Article,
    ArticleTemplate,
    AuditEntry,
    Block,
    BulkAction,
    Card,
    Channel,
    Endpoint,
    Front,
    FrontVersion,
    Image,
    Note,
    Notification,
    PreviewLink,
    ProposedChange,
    Release,
    ReleaseMember,
    Revision,
    SavedView,
    SensitiveWord,
    SharedPage,
    Tag,
)
from articles.review import comparisons, propose, version_of_change
from headline.api.models import ApiToken
from headline.api.schema import Generator
from scheduling.database import read_database_clock
from scheduling.services import add_task, poll
from tests.articles.factories import make_article, make_channel, make_front, some_user, soon
from tests.articles.image_files import image_bytes, sent
from tests.conftest import Site
from tests.harness import eventually
from tests.headline.api_document import api_document
from tests.headline.test_unavailable import LOST, failing
from tests.share import in_short, share_of

Status = Article.Status
Operation = dict[str, Any]

NOON = "2100-01-01T12:00:00Z"
REVIEWS = {
    f"desk_articles_{transition}" for transition in ("claim", "unclaim", "reject", "approve")
}  # of other packages
UPLOADS = {"desk_images_create"}  # their bodies are forms with a file
OPEN_COMPONENTS = {"Error"}  # may hold more than is listed: the fields in question

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def document() -> dict[str, Any]:
    """The document as programs get it, with components that allow nothing they do not list."""
    schema = api_document()
    for name, component in schema["components"]["schemas"].items():
        if component.get("type") == "object" and name not in OPEN_COMPONENTS:
            component["additionalProperties"] = False
    return schema


@pytest.fixture
def admin() -> APIClient:
    client = APIClient()
    client.force_login(User.objects.create_superuser("alice", password="secret"))  # noqa: S106
    return client


def operations(document: dict[str, Any]) -> dict[str, tuple[str, str, Operation]]:
    """Operation id to path, method and description."""
    return {
        operation["operationId"]: (path, method, operation)
        for path, item in document["paths"].items()
        for method, operation in item.items()
    }


def filled(path: str, parameter: int | str | None) -> str:
    """`path` with its parameters; several are parted by strokes."""
    values = iter(str(parameter).split("/"))
    return re.sub(r"\{\w+\}", lambda _: next(values), path)


def complaints(document: dict[str, Any], content: dict[str, Any], value: Any) -> list[str]:
    """The differences between `value` and its schema."""
    schema = content["application/json"]["schema"] | {"components": document["components"]}
    validator = Draft202012Validator(schema, format_checker=FormatChecker())
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(value)]


def check_response(document: dict[str, Any], operation: Operation, response: Any) -> None:
    """The status is documented, and the body matches its schema."""
    described = operation["responses"].get(str(response.status_code))
    assert described, f"{operation['operationId']} answered {response.status_code}, which is not documented"
    if "content" in described:
        assert complaints(document, described["content"], response.json()) == []
    else:
        assert response.content == b""


def transitions() -> Iterator[tuple[str, int | str | None, Any, int]]:
    """For every operation: its id, the path's parameter, the body and the status to expect."""
    live = make_article(
        channel=make_channel(), status=Status.PUBLISHED, publish_at=soon(minutes=-1), unpublish_at=soon(days=1)
    )
    yield "articles_list", None, None, 200
    yield "articles_retrieve", live.pk, None, 200
    yield "channels_list", None, None, 200
    yield "fronts_retrieve", "en", None, 200
    yield "token_create", None, {"username": "alice", "password": "secret"}, 200
    yield from token_steps()
    yield "desk_articles_create", None, {"title": "新闻", "channel": "politics", "publish_at": NOON}, 201
    draft = Article.objects.latest("pk").pk
    yield "desk_articles_list", None, None, 200
    yield "desk_articles_retrieve", draft, None, 200
    yield "desk_articles_partial_update", draft, {"summary": "What we know"}, 200
    yield "desk_articles_submit", draft, None, 200
    yield "desk_articles_claim", draft, None, 200
    yield "desk_articles_unclaim", draft, None, 200
    yield "desk_articles_reject", draft, {"reason": "Too short"}, 200
    yield "desk_articles_submit", draft, None, 200
    yield "desk_articles_approve", draft, {"revision": Article.objects.get(pk=draft).revision}, 200
    yield "desk_articles_schedule", draft, {"publish_at": NOON}, 200
    yield "desk_articles_unschedule", draft, None, 200
    yield "desk_articles_publish", draft, None, 200
    yield "desk_articles_unpublish", draft, None, 200
    yield "desk_articles_republish", draft, None, 200
    yield from note_transitions(draft)
    yield from update_transitions(draft)
    yield from image_transitions(draft)
    yield from release_transitions()
    yield from newsroom_steps()
    yield from proposed_steps()
    yield from front_steps()
    yield from webhook_steps()
    yield from people_steps()
    yield from bulk_steps()
    yield from task_steps()


def token_steps() -> Iterator[tuple[str, int | str | None, Any, int]]:
    yield "desk_service_accounts_create", None, {"name": "wire", "purpose": "Copy", "roles": ["Author"]}, 201
    robot = User.objects.get(username="wire").pk
    yield "desk_service_accounts_list", None, None, 200
    yield "desk_service_accounts_retrieve", robot, None, 200
    yield "desk_service_accounts_partial_update", robot, {"purpose": "Agency copy"}, 200
    yield "desk_tokens_create", None, {"name": "x", "scopes": ["desk:read"], "owner": "wire"}, 201
    token = ApiToken.objects.get(name="x").pk
    yield "desk_tokens_list", None, None, 200
    yield "desk_tokens_retrieve", token, None, 200
    yield "desk_tokens_destroy", token, None, 204


def note_transitions(article: int) -> Iterator[tuple[str, int | str | None, Any, int]]:
    yield "desk_articles_partial_update", article, {"owner": "alice", "due_at": NOON}, 200
    yield "desk_notes_create", article, {"text": "Source? @alice", "quote": "40", "prefix": "cost ", "suffix": "."}, 201
    thread = f"{article}/{Note.objects.get().pk}"
    yield "desk_notes_reply", thread, {"text": "Council"}, 201
    yield "desk_notes_resolve", thread, None, 200
    yield "desk_notes_reopen", thread, None, 200
    yield "desk_notes_partial_update", thread, {"text": "Which source?"}, 200
    yield "desk_notes_list", article, None, 200
    yield "desk_notes_retrieve", thread, None, 200
    yield "desk_notes_destroy", thread, None, 204
    yield "desk_notes_destroy", thread, None, 404


def image_transitions(article: int) -> Iterator[tuple[str, int | str | None, Any, int]]:
    data = image_bytes()
    for status in (201, 200):
        yield "desk_images_create", None, {"file": sent(data), "alt": "Ships"}, status
    image = str(Image.objects.get().pk)
    yield "desk_images_list", None, None, 200
    yield "desk_images_retrieve", image, None, 200
    yield "desk_images_partial_update", image, {"credit": "Mei", "focus_x": 20}, 200
    yield "desk_images_favourite", image, {"is_favourite": True}, 200
    yield "desk_articles_partial_update", article, {"cover_mode": "one", "cover": [image]}, 200
    yield "desk_images_uses", image, None, 200
    yield "desk_images_destroy", image, None, 409
    yield "desk_articles_partial_update", article, {"cover_mode": "none", "cover": []}, 200
    yield "desk_images_destroy", image, None, 204


def release_transitions() -> Iterator[tuple[str, int | str | None, Any, int]]:
    ready, draft = make_article(status=Status.APPROVED), make_article()
    yield "desk_releases_create", None, {"name": "预算日"}, 201
    release = Release.objects.get().pk
    yield "desk_releases_list", None, None, 200
    yield "desk_releases_partial_update", release, {"name": "Budget day"}, 200
    for article in (ready, draft):
        yield "desk_releases_add_member", release, {"article": article.pk, "action": "publish"}, 201
    version = make_front(make_article())
    FrontVersion.objects.filter(pk=version.pk).update(status=FrontVersion.Status.DRAFT, live_from=None)
    yield "desk_releases_add_front", release, {"version": version.pk}, 200
    yield "desk_releases_remove_front", f"{release}/{version.pk}", None, 204
    yield "desk_releases_add_front", release, {"version": version.pk}, 200
    yield "desk_releases_preflight", release, None, 200
    yield "desk_releases_dry_run", release, None, 200
    yield "desk_releases_publish", release, None, 409
    yield "desk_releases_remove_member", f"{release}/{ReleaseMember.objects.latest('pk').pk}", None, 204
    yield "desk_releases_dry_run", release, None, 200
    yield "desk_releases_schedule", release, {"publish_at": NOON}, 200
    yield "desk_releases_publish", release, None, 200
    yield "desk_releases_rollback", release, None, 200
    yield "desk_releases_reopen", release, None, 200
    yield "desk_releases_cancel", release, None, 200
    yield "desk_releases_retrieve", release, None, 200
    yield "desk_releases_destroy", release, None, 204
    version.front.delete()


def update_transitions(article: int) -> Iterator[tuple[str, int | str | None, Any, int]]:
    yield "desk_articles_partial_update", article, {"title": "更新", "note": "More", "correction": "It was less."}, 200
    yield "desk_revisions_list", article, None, 200
    yield "desk_revisions_retrieve", f"{article}/1", None, 200
    yield "desk_revisions_diff", f"{article}/2", None, 200
    yield "desk_articles_update_schedule", article, {"publish_at": NOON}, 200
    yield "desk_articles_submit", article, None, 200
    newest = Revision.objects.filter(article=article).latest("number").number  # which a new time is, too
    yield "desk_articles_approve", article, {"revision": newest}, 200
    yield "desk_articles_update_unschedule", article, None, 200
    yield "desk_articles_update_publish", article, None, 200
    yield "desk_revisions_restore", f"{article}/1", None, 200
    yield "desk_articles_update_discard", article, None, 200
    yield "desk_articles_retract", article, {"notice": "It was invented."}, 200
    yield "desk_articles_undo_retraction", article, None, 200
    yield "desk_articles_embargo", article, {"until": NOON}, 200
    make_article(channel=Channel.objects.get(), status=Status.APPROVED, publish_at=soon(hours=1))
    yield "desk_articles_reschedule", None, {"channel": "politics", "shift": "00:30:00"}, 200


def newsroom_steps() -> Iterator[tuple[str, int | str | None, Any, int]]:
    for name, body in (
        ("channels", {"name": "财经", "position": 3}),
        ("tags", {"name": "高铁"}),
        ("templates", {"name": "Match report", "channel": "politics", "body": "<p>Half time</p>"}),
        ("words", {"text": "forbidden phrase", "level": "block"}),
        ("views", {"name": "Mine", "query": "?whose=mine", "shared": True}),
        ("roles", {"name": "Stringer", "permissions": ["articles.add_article"]}),
        ("alerts", {"text": "Bridge closed", "minutes": 10}),
    ):
        yield from row_steps(name, body)
    yield "desk_words_add_many", None, {"level": "review", "words": ["one word", "x"]}, 200
    yield "desk_review_policy_retrieve", None, None, 200
    yield "desk_review_policy_partial_update", None, {"machine": "all", "stages": [{"kind": "first"}]}, 200
    yield "desk_calendar_list", None, None, 200
    at = soon(hours=9)
    planned = make_article("Planned", status=Status.APPROVED, publish_at=at)
    moved = {"key": f"publish_at:{planned.pk}", "seen": at.isoformat(), "at": NOON}
    yield "desk_calendar_reschedule", None, moved, 204
    yield "desk_calendar_reschedule", None, moved, 409
    yield "desk_articles_duplicate", planned.pk, None, 201
    yield "desk_articles_transitions", planned.pk, None, 200
    yield "desk_articles_checks", planned.pk, None, 200
    yield "desk_preview_links_create", planned.pk, {"days": 2, "note": "Lawyer"}, 201
    yield "desk_preview_links_list", planned.pk, None, 200
    yield "desk_preview_links_destroy", f"{planned.pk}/{PreviewLink.objects.get().pk}", None, 204
    yield "desk_shared_pages_create", None, {"page": "/", "at": at.isoformat(), "note": "Lawyer"}, 201
    yield "desk_shared_pages_create", None, {"page": "/admin/", "at": at.isoformat()}, 400
    yield "desk_shared_pages_list", None, None, 200
    yield "desk_shared_pages_destroy", str(SharedPage.objects.get().pk), None, 204
    yield "desk_articles_destroy", planned.pk, None, 204
    yield "desk_audit_list", None, None, 200
    yield "desk_audit_retrieve", AuditEntry.objects.latest("pk").pk, None, 200
    yield "desk_images_fetch", None, {"address": "http://127.0.0.1/x.png", "alt": "Ships"}, 400


def front_steps() -> Iterator[tuple[str, int | str | None, Any, int]]:
    """A front is composed, scheduled and published; a draft is deleted."""
    make_article("Story", status=Status.PUBLISHED, publish_at=soon(hours=-1))
    yield "desk_fronts_create", None, {"language": "en"}, 201
    front = Front.objects.get().pk
    yield "desk_fronts_list", None, None, 200
    yield "desk_fronts_retrieve", front, None, 200
    for _version in range(2):
        yield "desk_front_versions_create", front, {}, 201
    draft, other = (f"{front}/{pk}" for pk in FrontVersion.objects.order_by("pk").values_list("pk", flat=True))
    card, block = Card.objects.earliest("pk"), str(Block.objects.earliest("pk").uuid)
    edit = {"op": "edit_card", "uuid": str(card.uuid), "card": {"headline": "Now"}}
    add = {"op": "add_block", "uuid": str(uuid4()), "after": block, "settings": {"title": "More", "size": 3}}
    yield "desk_front_versions_edit", draft, {"base": 0, "operations": [edit, add]}, 200
    edit["card"] = {"headline": "Then"}
    yield "desk_front_versions_edit", draft, {"base": 0, "operations": [edit]}, 409
    yield "desk_front_versions_preflight", draft, None, 200
    yield "desk_front_versions_schedule", draft, {"live_from": NOON}, 200
    yield "desk_front_versions_unschedule", draft, None, 200
    weekly = {"days": ["sun"], "time": "06:00", "zone": "Europe/Berlin", "starts": "2031-01-01"}
    yield "desk_front_versions_repeat", draft, weekly, 200
    yield "desk_front_versions_skip", draft, {"day": "2031-01-05"}, 200
    yield "desk_front_versions_unskip", draft, {"day": "2031-01-05"}, 200
    yield "desk_front_versions_end", draft, {"until": "2031-03-02"}, 200
    yield "desk_front_versions_unschedule", draft, None, 200
    yield "desk_front_versions_publish", draft, None, 200
    yield "desk_front_versions_list", front, None, 200
    yield "desk_front_versions_retrieve", draft, None, 200
    yield "desk_front_versions_destroy", other, None, 204


def proposed_steps() -> Iterator[tuple[str, int | str | None, Any, int]]:
    """A change that another user has proposed is approved, and one rejected."""
    channel, other = make_channel("Proposed"), some_user("other")
    for answer, body in (("approve", {}), ("reject", {"reason": "No"})):
        propose(channel, {"description": answer}, name=channel.name, by=other)
        change = ProposedChange.objects.get()
        yield "desk_proposed_changes_list", None, None, 200
        yield "desk_proposed_changes_retrieve", change.pk, None, 200
        sent = body or {"version": version_of_change(comparisons(change))}
        yield f"desk_proposed_changes_{answer}", change.pk, sent, 204
    yield "desk_proposed_changes_reject", change.pk, {}, 404


def row_steps(name: str, body: dict[str, Any]) -> Iterator[tuple[str, int | str | None, Any, int]]:
    """A row is added, listed, changed and deleted again."""
    models = {
        "channels": Channel, "tags": Tag, "templates": ArticleTemplate, "words": SensitiveWord, "views": SavedView,
        "roles": Group, "alerts": Alert,
    }  # fmt: skip
    subject = {"article": make_article().pk} if name == "alerts" else {}
    yield f"desk_{name}_create", None, {**body, **subject}, 201
    row = models[name]._default_manager.latest("pk").pk
    yield f"desk_{name}_list", None, None, 200
    yield f"desk_{name}_retrieve", row, None, 200
    if name == "views":
        yield "desk_views_move", row, {"by": -1}, 200
    if name == "alerts":
        yield "desk_alerts_push", row, None, 400
    yield f"desk_{name}_partial_update", row, body, 200
    yield f"desk_{name}_destroy", row, None, 204


def people_steps() -> Iterator[tuple[str, int | str | None, Any, int]]:
    yield "desk_me_retrieve", None, None, 200
    yield "desk_me_partial_update", None, {"time_zone": "Asia/Shanghai", "language": "en"}, 200
    yield "desk_authors_list", None, None, 200
    yield "desk_users_create", None, {"name": "Mei", "email": "mei@example.org", "roles": ["Author"]}, 201
    mei = User.objects.get(email="mei@example.org").pk
    yield "desk_users_list", None, None, 200
    yield "desk_users_retrieve", mei, None, 200
    yield "desk_users_partial_update", mei, {"roles": ["Editor"], "name": "Mei Lin"}, 200
    for step in ("invite", "end_sessions", "remove_second_factors", "unlink"):
        yield f"desk_users_{step}", mei, None, 200
    yield "desk_users_destroy", mei, None, 204
    alice = User.objects.get(username="alice")
    notification = Notification.objects.create(user=alice, kind="approved", article_title="x", at=read_database_clock())
    yield "desk_notifications_list", None, None, 200
    yield "desk_notifications_retrieve", str(notification.pk), None, 200
    yield "desk_notifications_read", None, {"ids": [str(notification.pk)]}, 200
    yield "desk_notifications_choices_retrieve", None, None, 200
    yield "desk_notifications_choices_partial_update", None, {"mail": ["failed"]}, 200


def webhook_steps() -> Iterator[tuple[str, int | str | None, Any, int]]:
    yield "desk_webhooks_create", None, {"url": "https://8.8.8.8/hook", "kinds": ["article.published"]}, 201
    webhook = Endpoint.objects.get().pk
    yield "desk_webhooks_list", None, None, 200
    yield "desk_webhooks_retrieve", webhook, None, 200
    yield "desk_webhooks_partial_update", webhook, {"description": "Search"}, 200
    yield "desk_webhooks_test", webhook, None, 202
    yield "desk_webhooks_deliveries", webhook, None, 200
    yield "desk_webhooks_replay", webhook, {"since": NOON}, 202
    yield "desk_webhooks_rotate_secret", webhook, None, 200
    yield "desk_webhooks_destroy", webhook, None, 204


def bulk_steps() -> Iterator[tuple[str, int | str | None, Any, int]]:
    draft = make_article("Draft", body="<p>Text</p>")
    yield "desk_bulk_actions_create", None, {"transition": "submit", "articles": [draft.pk, 10**9]}, 201
    done = BulkAction.objects.get().pk
    yield "desk_bulk_actions_list", None, None, 200
    yield "desk_bulk_actions_retrieve", done, None, 200
    yield "desk_bulk_actions_undo", done, None, 201


def task_steps() -> Iterator[tuple[str, int | str | None, Any, int]]:
    task = {"task_type": "mail.send", "execute_time": NOON, "parameters": {"to": ["desk"]}, "key": "7"}
    yield "tasks_create", None, task, 201
    yield "tasks_create", None, task, 200
    pending = add_task("mail.send", execute_time=read_database_clock(), parameters=None).task_id
    yield "tasks_list", None, None, 200
    yield "tasks_retrieve", pending, None, 200
    yield "tasks_partial_update", pending, {"execute_time": NOON}, 200
    yield "tasks_destroy", pending, None, 204
    yield "tasks_destroy", pending, None, 409
    for operation, report in (("tasks_complete", {}), ("tasks_fail", {"error": "no answer"})):
        add_task("mail.send", execute_time=read_database_clock(), parameters=None)
        (leased,) = poll("mail.send")
        yield operation, leased.task_id, report | {"lease_token": leased.lease_token}, 200
        yield operation, leased.task_id, report | {"lease_token": "stale"}, 409
    yield "tasks_retry", pending, None, 200
    yield "tasks_retry", pending, None, 409
    add_task("mail.send", execute_time=read_database_clock(), parameters=None)
    yield "tasks_poll", None, {"task_type": "mail.send", "limit": 5, "lease": 10}, 200


def test_every_operation_responds_as_documented(admin: APIClient, document: dict[str, Any]) -> None:
    """R1.21"""
    documented, called = operations(document), set()
    reviewer = APIClient()
    reviewer.force_login(User.objects.create_superuser("rita", password="secret"))  # noqa: S106
    for operation_id, parameter, body, status in transitions():
        path, method, operation = documented[operation_id]
        called.add(operation_id)
        if body is not None and operation_id not in UPLOADS:
            assert complaints(document, operation["requestBody"]["content"], body) == []
        form = {"format": "multipart"} if operation_id in UPLOADS else {}
        client = reviewer if operation_id in REVIEWS else admin
        response = getattr(client, method)(filled(path, parameter), body, **form)
        assert response.status_code == status, f"{operation_id}: {response.content.decode()}"
        check_response(document, operation, response)
    assert called == documented.keys()


def test_not_modified_and_not_found_are_documented(document: dict[str, Any]) -> None:
    client, documented = APIClient(), operations(document)
    live = make_article(status=Status.PUBLISHED, publish_at=soon(minutes=-1))
    retracted = make_article(
        status=Status.RETRACTED, publish_at=soon(hours=-1), published_at=soon(hours=-1), retraction_notice="No."
    )
    for name, address in (("articles_retrieve", f"{live.pk}/"), ("articles_list", "")):
        url = f"/api/v1/articles/{address}"
        again = client.get(url, headers={"If-None-Match": client.get(url)["ETag"]})
        assert again.status_code == 304
        check_response(document, documented[name][2], again)
    gone = client.get(f"/api/v1/articles/{retracted.pk}/")
    assert (gone.status_code, gone.json()) == (410, {"detail": "No.", "code": "retracted"})
    check_response(document, documented["articles_retrieve"][2], gone)
    followed = client.get("/api/v1/articles/?updated_since=2000-01-01T00:00:00Z")
    assert followed.json()["checkpoint"]
    check_response(document, documented["articles_list"][2], followed)


def test_errors_of_fields_and_conflicts_are_documented(admin: APIClient, document: dict[str, Any]) -> None:
    documented, article = operations(document), make_article(status=Status.APPROVED)
    for name, body, status in (
        ("desk_articles_schedule", {"publish_at": "soon", "at": 1}, 400),
        ("desk_articles_reschedule", {"articles": [0, "x"], "shift": "1"}, 400),
        ("desk_articles_unpublish", None, 409),
    ):
        path, method, operation = documented[name]
        response = getattr(admin, method)(filled(path, article.pk) if "{" in path else path, body)
        assert response.status_code == status
        check_response(document, operation, response)
    stale = admin.patch(f"/api/v1/desk/articles/{article.pk}/", {"title": "x"}, headers={"If-Match": '"x"'})
    assert stale.status_code == 412
    check_response(document, documented["desk_articles_partial_update"][2], stale)
    assert all("429" in operation["responses"] for _path, _method, operation in documented.values())


def test_an_unusable_database_is_documented(admin: APIClient, document: dict[str, Any]) -> None:
    with connection.execute_wrapper(failing(LOST)):
        admin.raise_request_exception = False
        response = admin.get("/api/v1/desk/articles/")
    shared = document["components"]["responses"]["Unavailable"]
    assert (response.status_code, response.headers["Retry-After"]) == (503, "5")
    assert complaints(document, shared["content"], response.json()) == []
    responses = [operation["responses"]["503"] for _path, _method, operation in operations(document).values()]
    assert responses == [{"$ref": "#/components/responses/Unavailable"}] * len(responses)


def test_an_id_of_a_task_is_text_everywhere(document: dict[str, Any]) -> None:
    found = [
        parameter["schema"]["type"]
        for item in document["paths"].values()
        for operation in item.values()
        for parameter in operation.get("parameters", ())
        if parameter["name"] == "task_id"
    ]
    components = document["components"]["schemas"].values()
    found += [part["properties"]["task_id"]["type"] for part in components if "task_id" in part.get("properties", {})]
    assert len(found) > 5
    assert set(found) == {"string"}


def test_every_status_has_a_description_of_its_own(document: dict[str, Any]) -> None:
    lines = document["components"]["schemas"]["ArticleStatus"]["description"].splitlines()
    assert "* `4` - Approved (MANUALLY_APPROVED)" in lines
    assert "* `8` - Approved (APPROVED)" in lines
    assert "* `9` - Published" in lines


@in_short(3)
def test_every_error_is_as_documented(admin: APIClient, document: dict[str, Any], share: int) -> None:
    stranger, reader = APIClient(), APIClient()
    reader.force_login(User.objects.create_user("reader"))
    found = operations(document)
    for path, method, operation in map(found.__getitem__, share_of(found, share)):
        address = re.sub(r"\{\w+\}", "987654321", path)
        responses = [getattr(client, method)(address) for client in (stranger, reader, admin)]
        if "requestBody" in operation:
            responses.append(getattr(admin, method)(address, b"{", content_type="application/json"))
            responses.append(getattr(admin, method)(address, b"x", content_type="text/plain"))
        for response in responses:
            check_response(document, operation, response)
        if operation.get("security", [{}]) != [{}]:
            assert [response.status_code for response in responses[:2]] == [401, 403]


def test_nothing_is_kept_of_the_languages_and_versions_that_visitors_make_up() -> None:
    client, headers = APIClient(), {"Accept": "application/vnd.oai.openapi+json"}
    chinese = client.get("/api/schema/?lang=zh-hans", headers=headers)
    assert (chinese.status_code, "快讯" in chinese.content.decode()) == (200, True)
    kept = {*trans_real._translations}  # type: ignore[attr-defined]
    for query in ("lang=xx", "lang=en-made-up", "lang=", "version=9", "lang=en&version=v1"):
        assert client.get(f"/api/schema/?{query}", headers=headers).status_code == 400
    assert {*trans_real._translations} == kept  # type: ignore[attr-defined]
    assert Generator._generated.keys() <= dict(settings.LANGUAGES).keys()


@pytest.mark.parametrize("options", [[], pytest.param(["--validate"], marks=pytest.mark.thorough)])
def test_the_document_is_valid_and_generated_without_warnings(
    options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("spectacular", "--fail-on-warn", *options)
    assert capsys.readouterr().err == ""


def test_every_address_of_the_api_is_documented(document: dict[str, Any]) -> None:
    """Every URL below /api/v1/ is in the document."""
    shapes = {re.sub(r"\{\w+\}", "<>", path) for path in document["paths"]}
    found = {
        re.sub(r"<[^>]*>", "<>", address) for address in addresses(get_resolver()) if address.startswith("/api/v1/")
    }
    assert found == shapes


def addresses(resolver: URLResolver, prefix: str = "/") -> Iterator[str]:
    """Every address below `resolver`, with its parameters in angle brackets."""
    for pattern in resolver.url_patterns:
        address = prefix + str(pattern.pattern)
        if isinstance(pattern, URLPattern):
            yield address
        else:
            yield from addresses(pattern, address)


@pytest.mark.thorough
def test_the_page_of_the_document_needs_no_other_server(page: Page, site: Site) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto("/api/docs/")
    page.locator(".opblock").first.wait_for()
    last = page.get_by_text("Cancel a pending task")
    # Of many operations, Swagger UI draws those in view, when it comes to that; the end moves while it does.
    eventually(lambda: page.evaluate("scrollTo(0, document.documentElement.scrollHeight)") or last.count())
    assert [url for url in asked if not url.startswith((site.url, "data:"))] == []
