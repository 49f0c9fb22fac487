"""`Idempotency-Key`: a request sent again takes effect once, whatever failed in between."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from rest_framework.response import Response
from rest_framework.test import APIClient

from articles.models import Article, Image
from headline.api.idempotency import HEADER
from headline.api.models import IdempotentRequest, Scope
from headline.api.tokens import issue
from scheduling import services
from scheduling.models import TaskInfo
from tests.articles.image_files import image_bytes

URL = "/api/v1/tasks/"
ARTICLES = "/api/v1/desk/articles/"
BODY = {"task_type": "mail.send", "execute_time": "2100-01-01T12:00:00Z"}

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def user() -> User:
    return User.objects.create_superuser("alice")


def sign_in(user: User) -> APIClient:
    """A client with a session, since the middleware runs before the view."""
    client = APIClient()
    client.force_login(user)
    return client


def post(client: APIClient, key: str, body: Any = None, url: str = URL) -> Any:
    return client.post(url, BODY if body is None else body, headers={HEADER: key})


def test_the_same_request_sent_again_returns_the_first_response(user: User) -> None:
    client = sign_in(user)
    first, second = post(client, "k"), post(client, "k")
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.content == second.content
    assert ("Idempotent-Replayed" in first.headers, second.headers["Idempotent-Replayed"]) == (False, "true")
    assert TaskInfo.objects.count() == 1


def test_the_same_key_with_another_body_or_address_is_refused(user: User) -> None:
    client = sign_in(user)
    post(client, "k")
    for other in (post(client, "k", BODY | {"priority": 1}), post(client, "k", url=f"{URL}poll/")):
        assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")
    assert TaskInfo.objects.count() == 1


def test_keys_are_exact_and_each_user_has_their_own(user: User) -> None:
    other = User.objects.create_superuser("bob")
    requests = [(user, "k"), (user, "K"), (other, "k")]
    ids = {post(sign_in(who), key).json()["task_id"] for who, key in requests}
    assert len(ids) == 3


def test_without_a_key_every_request_takes_effect(user: User) -> None:
    client = sign_in(user)
    client.post(URL, BODY)
    client.post(URL, BODY)
    assert (TaskInfo.objects.count(), IdempotentRequest.objects.count()) == (2, 0)


def test_a_refused_request_leaves_the_key_free(user: User) -> None:
    client = sign_in(user)
    assert post(client, "k", {"task_type": "mail.send"}).status_code == 400
    assert not IdempotentRequest.objects.exists()
    assert post(client, "k").status_code == 201


@pytest.mark.parametrize("key", ["", "x" * 256, "ключ", "two words"])
def test_a_key_that_cannot_be_stored_is_refused(user: User, key: str) -> None:
    response = post(sign_in(user), key)
    assert (response.status_code, response.json()["code"]) == (400, "idempotency_key_invalid")
    assert not TaskInfo.objects.exists()


def test_a_key_gives_anonymous_clients_no_access(user: User) -> None:
    post(sign_in(user), "k")
    assert post(APIClient(), "k").status_code == 401
    forger = APIClient(enforce_csrf_checks=True)
    forger.force_login(user)
    assert post(forger, "k").status_code == 403


def test_a_browsers_session_has_keys_too(user: User) -> None:
    """With the CSRF check, which the other tests disable."""
    browser = APIClient(enforce_csrf_checks=True)
    browser.force_login(user)
    browser.get("/admin/articles/article/add/")
    browser.credentials(HTTP_X_CSRFTOKEN=browser.cookies["csrftoken"].value)
    first, second = (post(browser, "k", {"title": "Ferry timetable changes"}, url=ARTICLES) for _ in range(2))
    assert (first.status_code, first.content, second.headers["Idempotent-Replayed"]) == (201, second.content, "true")
    file = image_bytes("PNG", size=(40, 30))
    for _ in range(2):
        form = {"file": SimpleUploadedFile("bridge.png", file), "alt": "A bridge"}
        uploaded = browser.post("/api/v1/desk/images/", form, format="multipart", headers={HEADER: "form"})
        assert uploaded.status_code == 201, uploaded.content
    broken = browser.post(ARTICLES, "{", content_type="application/json", headers={HEADER: "broken"})
    assert (broken.status_code, broken.json()["code"]) == (400, "parse_error")
    assert (Article.objects.count(), Image.objects.count()) == (1, 1)


def test_programs_with_a_token_have_the_same_keys_as_their_user(user: User) -> None:
    client = APIClient()
    user.set_password("a long secret")
    user.save()
    token = client.post("/api/v1/token/", {"username": "alice", "password": "a long secret"}).json()["token"]
    first = post(sign_in(user), "k")
    client.credentials(HTTP_AUTHORIZATION=f"Token {token}")
    assert post(client, "k").content == first.content


def test_a_stored_response_is_only_for_users_who_still_have_access(user: User) -> None:
    body = {"title": "Mayor resigns"}
    _token, secret = issue(user, by=user, name="wide")
    _token, narrow = issue(user, by=user, name="narrow", scopes=[Scope.TASKS_READ, Scope.TASKS_WRITE])
    client = APIClient()
    wide = {HEADER: "k", "Authorization": f"Token {secret}"}
    assert client.post(ARTICLES, body, headers=wide).status_code == 201
    refused = client.post(ARTICLES, body, headers={**wide, "Authorization": f"Token {narrow}"})
    assert (refused.status_code, refused.json()["code"]) == (403, "scope_missing")
    User.objects.filter(pk=user.pk).update(is_staff=False, is_superuser=False)
    refused = client.post(ARTICLES, body, headers=wide)
    assert refused.status_code == 403
    assert "Mayor" not in refused.text
    assert Article.objects.count() == 1


def test_a_body_too_large_is_refused_as_everywhere(user: User) -> None:
    response = post(sign_in(user), "k", {"parameters": "x" * 17_000_000})
    assert (response.status_code, response.json()["code"]) == (413, "too_large")


def test_an_article_is_created_once(user: User) -> None:
    client = sign_in(user)
    for _ in range(2):
        post(client, "k", {"title": "Ferry timetable changes"}, url=ARTICLES)
    assert Article.objects.count() == 1


def test_the_repeated_response_has_the_etag_for_a_change(user: User) -> None:
    client = sign_in(user)
    first, second = (post(client, "k", {"title": "Ferry timetable changes"}, url=ARTICLES) for _ in range(2))
    assert second.headers["ETag"] == first.headers["ETag"]
    address = f"{ARTICLES}{second.json()['id']}/"
    changed = client.patch(address, {"title": "Ferries"}, headers={"If-Match": second.headers["ETag"]})
    assert changed.status_code == 200
    assert not any("ETag" in post(client, "task").headers for _ in range(2))


def test_concurrent_requests_with_a_key_have_one_effect_and_one_response(user: User) -> None:
    clients = [sign_in(user) for _ in range(6)]
    gate, responses = threading.Barrier(len(clients)), list[Response]()

    def race(client: APIClient) -> None:
        gate.wait()
        responses.append(post(client, "k"))
        connection.close()

    threads = [threading.Thread(target=race, args=[client]) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {response.status_code for response in responses} == {201}
    assert len({response.content for response in responses}) == TaskInfo.objects.count() == 1


def test_an_effect_that_is_not_committed_stores_no_response(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the process died between the effect and the commit."""

    def die(**values: Any) -> None:
        add_task(**values)
        raise KeyboardInterrupt

    add_task, client = services.add_task, sign_in(user)
    with monkeypatch.context() as patch:
        patch.setattr(services, "add_task", die)
        with pytest.raises(KeyboardInterrupt):
            post(client, "k")
    assert not TaskInfo.objects.exists()
    assert post(client, "k").status_code == 201


def test_refresh_prunes_idempotent_requests_after_a_day(user: User) -> None:
    client = sign_in(user)
    for key in ("old", "new"):
        post(client, key)
    old = IdempotentRequest.objects.get(key="old")
    IdempotentRequest.objects.filter(pk=old.pk).update(created_at=old.created_at - timedelta(hours=24))
    services.refresh()
    assert [request.key for request in IdempotentRequest.objects.all()] == ["new"]
