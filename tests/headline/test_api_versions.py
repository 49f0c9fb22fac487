"""Versions: every resource that can be changed has an `ETag`, and a change of an outdated one is refused."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from articles.models import Alert, ArticleTemplate, Endpoint, Image, ReviewPolicy, SavedView, SensitiveWord, Tag
from articles.notes import add_note, reply
from headline.api.service_accounts import create_service_account
from tests.articles.factories import make_article, make_channel, make_release
from tests.headline.api_document import api_document
from tests.headline.test_api_schema import operations

pytestmark = pytest.mark.django_db

DESK = "/api/v1/desk/"
NO_VERSION = {
    "desk_preview_links_destroy",  # a link is created and revoked, and never changed
    "desk_shared_pages_destroy",  # so is the link to a page
    "desk_tokens_destroy",  # so is a token
    "desk_revisions_restore",  # a revision never changes
    "desk_bulk_actions_undo",  # a bulk action is done once
    "desk_proposed_changes_approve",  # names the version of what was read in its body
    "desk_proposed_changes_reject",  # a change that waits is decided once
    "tasks_complete",  # the lease says more than a version
    "tasks_fail",  # so here
    "tasks_retry",  # only what is closed is retried, and nothing else changes that
}


@pytest.fixture
def client(root: User) -> APIClient:
    client = APIClient()
    client.force_authenticate(root)
    return client


@pytest.fixture
def changes(root: User) -> dict[str, dict[str, Any]]:
    """What can be changed, and a change of it."""
    article, shape = make_article(), {"format": "png", "width": 320, "height": 240, "widths": [320], "size": 1}
    thread = add_note(article, by=root, text="Source?")
    account = create_service_account(name="robot", purpose="", roles=(), by=root)
    ReviewPolicy.objects.get_or_create(pk=ReviewPolicy.ROW)
    return {
        f"articles/{article.pk}/": {"title": "New"},
        f"articles/{article.pk}/notes/{thread.pk}/": {"text": "Which source?"},
        f"channels/{make_channel('Old').pk}/": {"name": "New"},
        f"images/{Image.objects.create(title='a', alt='a', digest='a', **shape).pk}/": {"alt": "New"},
        "me/": {"time_zone": "Asia/Shanghai"},
        "notifications/choices/": {"mail": ["failed"]},
        f"releases/{make_release(by=root).pk}/": {"name": "New"},
        "review-policy/": {"machine": "all"},
        f"service-accounts/{account.pk}/": {"purpose": "New"},
        f"tags/{Tag.objects.create(name='Old').pk}/": {"name": "New"},
        f"templates/{ArticleTemplate.objects.create(name='Old').pk}/": {"name": "New"},
        f"users/{User.objects.create_user('mei').pk}/": {"name": "Mei"},
        f"views/{SavedView.objects.create(owner=root, name='Old', query='').pk}/": {"name": "New"},
        f"words/{SensitiveWord.objects.create(text='forbidden word').pk}/": {"text": "other word"},
    }


def test_an_outdated_version_is_never_changed(client: APIClient, changes: dict[str, dict[str, Any]]) -> None:
    for path, body in changes.items():
        address = f"{DESK}{path}"
        before = client.get(address)
        stale = client.patch(address, body, headers={"If-Match": '"stale"'})
        assert (stale.status_code, stale.json()["code"]) == (412, "version_changed"), path
        assert (stale.json()["current"], stale["ETag"]) == (before.json(), before["ETag"]), path
        assert client.get(address, headers={"If-None-Match": before["ETag"]}).status_code == 304, path
        changed = client.patch(address, body, headers={"If-Match": before["ETag"]})
        assert changed.status_code == 200, f"{path}: {changed.content.decode()}"
        after = client.get(address)
        assert changed["ETag"] == after["ETag"] != before["ETag"], path
        assert client.get(address, headers={"If-None-Match": before["ETag"]}).status_code == 200, path


def test_nothing_is_done_with_an_outdated_version(client: APIClient) -> None:
    mei, webhook = User.objects.create_user("mei"), Endpoint.objects.create(url="https://hook.example/")
    acts = [f"users/{mei.pk}/{name}/" for name in ("invite", "end-sessions", "remove-second-factors", "unlink")]
    acts += [f"webhooks/{webhook.pk}/{name}/" for name in ("test", "rotate-secret")]
    alert = Alert.objects.create(article=make_article(), lasts=timedelta(hours=1))
    acts += [f"alerts/{alert.pk}/push/", f"articles/{alert.article_id}/duplicate/"]
    replayed = {f"webhooks/{webhook.pk}/replay/": {"since": "2026-01-01T00:00:00Z"}}
    bodies: dict[str, dict[str, str]] = dict.fromkeys(acts, {})
    for path, body in (bodies | replayed).items():
        stale = client.post(f"{DESK}{path}", body, headers={"If-Match": '"stale"'})
        assert (stale.status_code, stale.json()["code"]) == (412, "version_changed"), path


def test_every_operation_that_changes_a_row_takes_its_version() -> None:
    documented = operations(api_document())
    lacking = {
        name
        for name, (path, method, operation) in documented.items()
        if path.startswith((DESK, "/api/v1/tasks/")) and method != "get"
        if "{" in path.removeprefix(f"{DESK}articles/{{article}}/").removeprefix(f"{DESK}fronts/{{front}}/")
        if "If-Match" not in {parameter["name"] for parameter in operation["parameters"]}
    }
    assert lacking == NO_VERSION


def test_a_reply_is_part_of_the_version_of_its_thread(client: APIClient, root: User) -> None:
    article = make_article()
    thread = add_note(article, by=root, text="Source?")
    address = f"{DESK}articles/{article.pk}/notes/"
    version = client.get(f"{address}{thread.pk}/")["ETag"]
    answer = reply(thread, by=root, text="The council")
    stale = client.post(f"{address}{thread.pk}/resolve/", headers={"If-Match": version})
    assert (stale.status_code, len(stale.json()["current"]["replies"])) == (412, 1)
    edited = client.patch(f"{address}{answer.pk}/", {"text": "Council"}, headers={"If-Match": stale["ETag"]})
    assert edited.status_code == 200
    assert client.delete(f"{address}{answer.pk}/", headers={"If-Match": stale["ETag"]}).status_code == 412
    assert client.delete(f"{address}{answer.pk}/", headers={"If-Match": edited["ETag"]}).status_code == 204


def test_lists_are_sent_once_until_they_change(client: APIClient) -> None:
    make_article()
    address = f"{DESK}articles/?fields=id,title"
    version = client.get(address)["ETag"]
    known = client.get(address, headers={"If-None-Match": f'W/{version}, "other"'})
    assert (known.status_code, known.content, known["ETag"]) == (304, b"", version)
    make_article("Another")
    assert client.get(address, headers={"If-None-Match": version}).status_code == 200
