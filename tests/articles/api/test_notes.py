"""The newsroom's API of notes and assignments."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from articles import notes
from articles.models import Article, Note
from articles.roles import Role
from headline.api.tokens import issue
from tests.articles.api.test_articles import signed_in
from tests.articles.factories import make_article, make_editor, make_member, make_user, soon

pytestmark = pytest.mark.django_db

ARTICLES = "/api/v1/desk/articles/"


@pytest.fixture
def article() -> Article:
    return make_article(body="<p>The bridge cost 40 million euros, the city said.</p>")


@pytest.fixture
def alice() -> User:
    return make_editor()


@pytest.fixture
def desk(alice: User) -> APIClient:
    return signed_in(alice)


def address(article: Article, path: str = "") -> str:
    return f"{ARTICLES}{article.pk}/notes/{path}"


def quoting(**values: str) -> dict[str, str]:
    about = {"quote": "40 million euros", "prefix": "The bridge cost ", "suffix": ", the city said."}
    return {"text": "Source?", **about, **values}


def test_many_notes_with_mentions_take_as_many_statements_as_one(
    desk: APIClient, article: Article, alice: User
) -> None:
    def statements() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert desk.get(address(article)).status_code == 200
        return len(queries)

    thread = notes.add_note(article, by=alice, text=f"@{alice.username}?")
    statements()  # reads what this process does not know yet
    one = statements()
    values: dict[str, Any] = {"article": article, "author": alice, "created_at": soon(), "thread": thread}
    Note.objects.bulk_create(Note(**values, text=f"@{alice.username}") for _ in range(20))
    assert statements() <= one


def test_a_thread_is_written_answered_and_resolved(desk: APIClient, article: Article) -> None:
    make_member(Role.REVIEWER, "rita")
    created = desk.post(address(article), quoting(text="Source, @rita?"))
    assert created.status_code == 201
    thread = created.json()
    shown = {"author": "alice", "text": "Source, @rita?", "mentions": ["rita"], "passage": "40 million euros"}
    assert {name: thread[name] for name in shown} == shown
    desk.post(address(article, f"{thread['id']}/reply/"), {"text": "Council"})
    desk.post(address(article, f"{thread['id']}/resolve/"))
    found = desk.get(address(article)).json()["results"]
    assert [(one["resolved_by"], [reply["text"] for reply in one["replies"]]) for one in found] == [
        ("alice", ["Council"])
    ]
    assert desk.get(address(article), {"resolved": "false"}).json()["results"] == []
    assert len(desk.get(address(article), {"resolved": "true"}).json()["results"]) == 1
    assert desk.post(address(article, f"{thread['id']}/reopen/")).json()["resolved_at"] is None


def test_the_passage_is_that_of_the_newest_text(desk: APIClient, article: Article) -> None:
    thread = desk.post(address(article), quoting()).json()["id"]
    for body, passage in (
        ("<p>The bridge cost 45 million euros, the <b>city</b> said.</p>", "45 million euros"),
        ("<p>The bridge cost, the city said.</p>", None),
    ):
        desk.patch(f"{ARTICLES}{article.pk}/", {"body": body})
        shown = desk.get(address(article, f"{thread}/")).json()
        assert (shown["passage"], shown["quote"]) == (passage, "40 million euros")


def test_a_reply_has_an_id_to_edit_and_delete_it(desk: APIClient, article: Article, alice: User) -> None:
    thread = notes.add_note(article, by=make_member(Role.REVIEWER, "rita"), text="Source?")
    answer = notes.reply(thread, by=alice, text="One")
    assert desk.patch(address(article, f"{answer.pk}/"), {"text": "Two"}).json()["text"] == "Two"
    assert desk.patch(address(article, f"{thread.pk}/"), {"text": "Mine"}).status_code == 403
    assert desk.delete(address(article, f"{thread.pk}/")).status_code == 403
    assert desk.delete(address(article, f"{answer.pk}/")).status_code == 204
    gone = desk.delete(address(article, f"{answer.pk}/"))
    assert (gone.status_code, gone.json()["code"]) == (404, "note_gone")


@pytest.mark.parametrize(
    ("values", "status", "code"),
    [
        ({"text": " "}, 400, "blank"),
        ({"text": "x" * 4001}, 400, "max_length"),
        ({"text": "@tagger look"}, 400, "without_access"),
        ({"text": "x", "colour": "red"}, 400, "unknown"),
    ],
)
def test_unusable_notes_are_refused(
    desk: APIClient, article: Article, values: dict[str, str], status: int, code: str
) -> None:
    make_user("tagger", "change_tag")
    response = desk.post(address(article), values)
    assert response.status_code == status
    assert code in response.content.decode()
    assert not Note.objects.exists()


def test_notes_need_the_same_access_and_scopes_as_articles(article: Article, alice: User) -> None:
    reader = User.objects.create_user("reader")
    assert Client().get(address(article)).status_code == 401
    assert signed_in(reader).get(address(article)).status_code == 403
    assert signed_in(make_user("tagger", "change_tag")).post(address(article), {"text": "x"}).status_code == 403
    client = APIClient()
    secret = issue(alice, by=alice, name="reading", scopes=["desk:read"])[1]
    client.credentials(HTTP_AUTHORIZATION=f"Token {secret}")
    assert client.get(address(article)).status_code == 200
    assert client.post(address(article), {"text": "x"}).json()["code"] == "scope_missing"


def test_a_note_of_another_article_is_not_found(desk: APIClient, article: Article, alice: User) -> None:
    note = notes.add_note(make_article("Other"), by=alice, text="x")
    assert desk.post(address(article, f"{note.pk}/resolve/")).status_code == 404
    assert desk.get(f"{ARTICLES}{10**9}/notes/").status_code == 404


def test_a_request_with_the_same_idempotency_key_writes_one_note(desk: APIClient, article: Article) -> None:
    headers: dict[str, Any] = {"headers": {"Idempotency-Key": "k1"}}
    first, second = (desk.post(address(article), {"text": "One"}, **headers).json() for _attempt in range(2))
    assert first == second
    assert Note.objects.count() == 1


def test_an_article_is_assigned(desk: APIClient, article: Article) -> None:
    rita, due = make_member(Role.EDITOR, "rita"), "2100-01-01T16:00:00+08:00"
    shown = desk.patch(f"{ARTICLES}{article.pk}/", {"owner": "rita", "due_at": due}).json()
    assert (shown["owner"], shown["due_at"]) == ("rita", "2100-01-01T08:00:00Z")
    assert [one["id"] for one in signed_in(rita).get(ARTICLES, {"owned": "true"}).json()["results"]] == [article.pk]
    assert desk.get(ARTICLES, {"owned": "true"}).json()["results"] == []
    created = desk.post(ARTICLES, {"title": "New", "owner": "rita"}).json()
    assert created["owner"] == "rita"


def test_an_unusable_assignment_is_refused(desk: APIClient, article: Article) -> None:
    make_user("tagger", "change_tag")
    for values in ({"owner": "missing"}, {"owner": "tagger"}, {"due_at": soon(hours=-1).isoformat()}):
        assert desk.patch(f"{ARTICLES}{article.pk}/", {"title": "New", **values}).status_code == 400
    assert Article.objects.get().title != "New"


def test_a_list_of_threads_costs_a_fixed_number_of_queries(
    desk: APIClient, article: Article, alice: User, django_assert_max_num_queries: Any
) -> None:
    for _number in range(5):
        notes.reply(notes.add_note(article, by=alice, text="x"), by=alice, text="y")
    with django_assert_max_num_queries(12):
        assert len(desk.get(address(article)).json()["results"]) == 5
