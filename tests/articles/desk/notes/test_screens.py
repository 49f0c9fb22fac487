"""The notes of an article in the admin: without scripts, for scripts, and the assignment."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client

from articles import notes
from articles.desk.notes.shown import THREADS_SHOWN
from articles.limits import MOST_REPLIES, THREAD_LENGTH
from articles.models import Article, Note
from articles.roles import Role
from articles.text import Selector
from tests.articles.factories import make_article, make_editor, make_member, make_user, soon
from tests.articles.publishing.test_races import together

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice() -> User:
    return make_editor()


@pytest.fixture
def article(alice: User) -> Article:
    return make_article(author=alice, body="<p>The bridge cost 40 million euros, the city said.</p>")


@pytest.fixture
def client(alice: User) -> Client:
    return logged_in(alice)


def logged_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def address(article: Article) -> str:
    return f"/admin/articles/article/{article.pk}/notes/"


def send(client: Client, article: Article, do: str, **values: Any) -> Any:
    return client.post(address(article), {"do": do, **values})


def load(client: Client, article: Article, version: str = "", keep: Sequence[str] = ()) -> Any:
    return client.get(address(article), {"version": version, "keep": keep}, headers={"Accept": "application/json"})


def test_notes_are_written_with_plain_forms(client: Client, article: Article, alice: User) -> None:
    back = f"/admin/articles/article/{article.pk}/change/"
    response = send(client, article, "add", text="Source?\n<b>", next=back)
    assert (response.status_code, response["Location"]) == (302, f"{back}#notes")
    thread = Note.objects.get()
    send(client, article, f"reply:{thread.pk}", **{f"reply-{thread.pk}": "Council"})
    page = client.get(address(article)).text
    assert "Source?<br>&lt;b&gt;" in page
    assert "Council" in page
    answer = Note.objects.get(thread=thread)
    send(
        client,
        article,
        f"edit:{answer.pk}",
        **{f"edit-{answer.pk}": "City", f"seen-{answer.pk}": answer.changed_at.isoformat()},
    )
    send(client, article, f"resolve:{thread.pk}")
    thread.refresh_from_db()
    assert (thread.is_resolved, Note.objects.get(pk=answer.pk).text) == (True, "City")
    send(client, article, f"reopen:{thread.pk}")
    send(client, article, f"delete:{thread.pk}")
    assert not Note.objects.exists()


@pytest.mark.parametrize("target", ["https://evil.example/", "//evil.example/", "", "javascript:alert(1)"])
def test_no_form_leads_to_another_site(client: Client, article: Article, target: str) -> None:
    assert send(client, article, "add", text="x", next=target)["Location"] == f"{address(article)}#notes"


def test_what_was_typed_is_shown_again_with_the_error(client: Client, article: Article) -> None:
    make_user("tagger", "change_tag")
    thread = notes.add_note(article, by=make_member(Role.REVIEWER), text="One")
    for do, name in (("add", "text"), (f"reply:{thread.pk}", f"reply-{thread.pk}")):
        response = send(client, article, do, **{name: "@tagger my long text"})
        assert response.status_code == 400
        assert "“tagger” may not see this article" in response.text
        assert re.search(rf'name="{name}"[^>]*>@tagger my long text<', response.text)
    gone = Note(pk=thread.pk)
    thread.delete()
    assert not re.search(r"<textarea[^>]*maxlength", client.get(address(article)).text), "the browser cuts texts off"
    assert "has been deleted" in send(client, article, f"resolve:{gone.pk}").text
    for do in ("", "dance", "reply:x", "reply:"):
        assert send(client, article, do).status_code == 400


def test_the_newest_threads_stand_beside_the_form_and_on_the_first_page_of_their_screen(
    client: Client, article: Article, alice: User
) -> None:
    about = Selector("40 million euros", "The bridge cost ", ", the city")
    threads = [
        notes.add_note(article, by=alice, text=f"n{number}n", about=about) for number in range(THREADS_SHOWN + 5)
    ]
    notes.resolve_note(threads[0], by=alice)
    notes.resolve_note(threads[-1], by=alice)

    def shown(text: str) -> list[int]:
        return [number for number in range(len(threads)) if f"n{number}n<" in text]

    newest = list(range(4, len(threads) - 1))
    page = client.get(f"/admin/articles/article/{article.pk}/change/").text
    panel = page.partition('id="note-threads"')[2].partition("notes.js")[0]
    assert (shown(panel), f'href="{address(article)}">Show all {len(threads)} notes<' in panel) == (newest, True)
    screen = client.get(address(article)).text
    assert (shown(screen), "Show all" in screen) == (newest, False)
    beside = load(client, article).json()
    assert (shown(beside["threads"]), beside["count"]) == (newest, len(threads) - 2)
    assert len(beside["passages"]) == THREADS_SHOWN
    asked = client.get(address(article), {"page": "2"}, headers={"Accept": "application/json"}).json()
    others = [number for number in range(len(threads)) if number not in newest]
    assert (shown(asked["threads"]), "Resolved (2)" in asked["threads"]) == (others, True)


@pytest.mark.thorough
def test_all_threads_are_shown_by_pages_open_ones_first(
    client: Client, article: Article, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("articles.desk.notes.shown.THREADS_SHOWN", 2)
    threads = [notes.add_note(article, by=alice, text=f"n{number}n") for number in range(6)]
    for thread in threads[:5]:
        notes.resolve_note(thread, by=alice)

    def shown(text: str) -> list[int]:
        return [number for number in range(6) if f"n{number}n<" in text]

    pages = {number: client.get(address(article), {"page": number}).text for number in (1, 2, 3)}
    assert {number: shown(text) for number, text in pages.items()} == {1: [4, 5], 2: [2, 3], 3: [0, 1]}
    assert all("Resolved (5)" in text for text in pages.values())
    assert ('href="?page=3"' in pages[2], 'href="?page=4"' in pages[3]) == (True, False)
    beside = load(client, article)
    assert ("Show all 6 notes" in beside.json()["threads"], shown(beside.json()["threads"])) == (True, [4, 5])
    asked = client.get(address(article), {"page": "3"}, headers={"Accept": "application/json"}).json()
    assert shown(asked["threads"]) == [0, 1]
    assert f'action="{address(article)}?page=3"' in pages[3]
    reply = {"do": f"reply:{threads[0].pk}", f"reply-{threads[0].pk}": "@tagger my long text"}
    make_user("tagger", "change_tag")
    assert ">@tagger my long text<" in client.post(f"{address(article)}?page=3", reply).text  # which is refused
    for odd in ("0", "-1", "9" * 30, "x", "²"):
        assert client.get(address(article), {"page": odd}).status_code == 200
    asking = {"version": beside.json()["version"]}
    assert client.get(address(article), asking, headers={"Accept": "application/json"}).status_code == 204
    notes.reopen_note(threads[0], by=alice)
    assert client.get(address(article), asking, headers={"Accept": "application/json"}).status_code == 200


def test_a_thread_with_a_new_reply_stands_beside_the_form(client: Client, article: Article, alice: User) -> None:
    threads = [notes.add_note(article, by=alice, text=f"n{number}n") for number in range(THREADS_SHOWN + 1)]
    assert "n0n<" not in load(client, article).json()["threads"]
    kept = client.get(address(article), {"keep": [str(threads[0].pk), "x"]}, headers={"Accept": "application/json"})
    assert "n0n<" in kept.json()["threads"]
    notes.reply(threads[0], by=alice, text="Here it is")
    beside = load(client, article).json()["threads"]
    assert ("Here it is" in beside, "n1n<" in beside) == (True, False)


def test_a_script_gets_what_is_new(client: Client, article: Article, alice: User) -> None:
    first = load(client, article).json()
    assert load(client, article, first["version"]).status_code == 204
    about = Selector("40 million euros", "The bridge cost ", ", the city")
    thread = notes.add_note(article, by=make_member(Role.REVIEWER, "rita"), text="@alice source?", about=about)
    second = load(client, article, first["version"]).json()
    assert (second["count"], "source?" in second["threads"], "note-mention" in second["threads"]) == (1, True, True)
    assert [(one["id"], one["quote"]) for one in second["passages"]] == [(str(thread.pk), "40 million euros")]
    Article.objects.filter(pk=article.pk).update(body="<p>The bridge cost, the city said.</p>")
    fresh = load(client, article).json()
    assert (fresh["passages"], "The passage was deleted" in fresh["threads"]) == ([], True)
    assert "40 million euros" in fresh["threads"]
    notes.resolve_note(thread, by=alice)
    assert load(client, article, second["version"]).json()["count"] == 0


def test_a_script_gets_errors_and_the_end_of_its_session(client: Client, article: Article) -> None:
    headers = {"Accept": "application/json"}
    response = client.post(address(article), {"do": "add", "text": " "}, headers=headers)
    assert (response.status_code, response.json()["code"]) == (400, "note_empty")
    response = Client().post(address(article), {"do": "add", "text": "x"}, headers=headers)
    assert (response.status_code, response.json()) == (401, {"code": "signed_out"})


def test_users_without_access_see_and_write_no_notes(article: Article, alice: User) -> None:
    notes.add_note(article, by=alice, text="Zanzibar")
    tagger = logged_in(make_user("tagger", "change_tag"))
    for response in (
        tagger.get(address(article)),
        tagger.get(address(article), headers={"Accept": "application/json"}),
    ):
        assert response.status_code == 403
        assert "Zanzibar" not in response.text
    assert send(tagger, article, "add", text="x").status_code == 403
    assert Client().get(address(article)).status_code == 302
    assert Note.objects.count() == 1


def test_a_reviewer_writes_notes_but_assigns_no_owner(article: Article) -> None:
    rita = make_member(Role.REVIEWER, "rita")
    client = logged_in(rita)
    assert 'value="assign"' not in client.get(address(article)).text
    send(client, article, "add", text="x")
    assert send(client, article, "assign", owner=rita.pk).status_code == 403
    assert (Note.objects.count(), Article.objects.get().owner) == (1, None)


def test_an_article_is_assigned_and_lists_show_it(client: Client, article: Article, alice: User) -> None:
    rita = make_member(Role.EDITOR, "rita")
    User.objects.filter(pk=rita.pk).update(first_name="Rita", last_name="Reyes")
    due = soon(days=1)
    send(client, article, "assign", owner=rita.pk, due_at=f"{due:%Y-%m-%dT%H:%M}")
    article.refresh_from_db()
    assert (article.owner, article.due_at) == (rita, due.replace(second=0, microsecond=0))
    listed = "/admin/articles/article/"
    assert "Rita Reyes<br>due" in client.get(listed).text
    assert "overdue" not in re.sub(r"<(select|nav).*?</\1>", "", client.get(listed).text, flags=re.DOTALL).lower()
    Article.objects.filter(pk=article.pk).update(due_at=soon(hours=-1))
    assert re.search(r"Rita Reyes<br>due [^<]*<strong class=\"desk-mark\">overdue", client.get(listed).text)
    for user, query, is_listed in (
        (rita, "mine", True),
        (rita, "assigned", True),
        (alice, "mine", True),
        (alice, "assigned", False),
    ):
        assert (article.title in logged_in(user).get(f"{listed}?whose={query}").text) is is_listed, (user, query)
    send(client, article, "assign", owner="", due_at="")
    assert Article.objects.filter(owner=None, due_at=None).exists()


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ({"due_at": "2001-01-01T00:00"}, "This time is past"),
        ({"due_at": "soon"}, "Enter a date and a time"),
        ({"owner": "987654"}, "Select a valid choice"),
    ],
)
def test_an_unusable_assignment_is_refused(
    client: Client, article: Article, values: dict[str, str], error: str
) -> None:
    response = send(client, article, "assign", **values)
    assert response.status_code == 400
    assert error in response.text
    assert Article.objects.filter(owner=None, due_at=None).exists()


def test_no_assignment_of_another_user_is_overwritten_unseen(client: Client, article: Article) -> None:
    rita = make_member(Role.EDITOR, "rita")
    seen = re.findall(r'name="assigned" value="([^"]*)"', client.get(address(article)).text)[0]
    send(client, article, "assign", owner=rita.pk, assigned=seen)
    response = send(client, article, "assign", owner="", due_at="2100-01-01T00:00", assigned=seen)
    assert (response.status_code, "Another user has changed the owner or due time" in response.text) == (400, True)
    assert Article.objects.values_list("owner", "due_at").get() == (rita.pk, None)


@pytest.mark.django_db(transaction=True)
def test_of_two_assignments_at_once_one_is_refused(client: Client, article: Article, alice: User) -> None:
    bob = make_editor("bob")
    seen = re.findall(r'name="assigned" value="([^"]*)"', client.get(address(article)).text)[0]
    desks = [(client, alice), (logged_in(bob), bob)]
    assign = [
        lambda by=by, to=to: send(by, article, "assign", owner=to.pk, assigned=seen).status_code for by, to in desks
    ]
    assert sorted(together(*assign)) == [302, 400]


def test_a_refused_reply_is_shown_again_although_its_thread_is_on_another_page_now(
    client: Client, article: Article, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("articles.desk.notes.shown.THREADS_SHOWN", 2)
    threads = [notes.add_note(article, by=alice, text=f"Thread {number}") for number in range(2)]
    assert "Thread 0" in client.get(address(article)).text
    notes.resolve_note(threads[0], by=alice)  # by a colleague, while the reply is written
    notes.add_note(article, by=alice, text="Newer")
    assert "Thread 0" not in client.get(address(article)).text
    make_user("tagger", "change_tag")
    reply = {"do": f"reply:{threads[0].pk}", f"reply-{threads[0].pk}": "@tagger my long text"}
    refused = client.post(address(article), reply).text
    assert (">@tagger my long text<" in refused, 'class="note-resolved" open>' in refused) == (True, True)


def test_a_screen_reads_few_of_many_resolved_threads(client: Client, article: Article, alice: User) -> None:
    """There may be any number: they would make each form, and each look of its script, as long as all of them."""
    now = soon()
    values: dict[str, Any] = {"article": article, "author": alice, "created_at": now}
    threads = [Note(**values, text=f"n{number}n", resolved_at=now) for number in range(100)]
    Note.objects.bulk_create(threads)
    Note.objects.bulk_create(Note(**values, thread=one, text="reply!") for one in threads for _ in range(3))
    form = client.get(f"/admin/articles/article/{article.pk}/change/").text
    beside = load(client, article, keep=[str(one.pk) for one in threads]).json()["threads"]
    screen = client.get(address(article)).text
    texts = {"form": form, "beside": beside, "screen": screen}
    assert {name: text.count("reply!</p>") / 3 for name, text in texts.items()} == dict.fromkeys(texts, THREADS_SHOWN)


@pytest.mark.thorough
def test_the_largest_form_is_of_bounded_size_and_can_be_sent(client: Client, article: Article, alice: User) -> None:
    """Each own note has two fields in it, and its text twice; a character may take six in HTML."""
    values: dict[str, Any] = {"article": article, "author": alice, "created_at": soon()}
    text = '"' * (THREAD_LENGTH // (MOST_REPLIES + 1))
    threads = Note.objects.bulk_create(Note(**values, text=text) for _ in range(THREADS_SHOWN + 1))
    Note.objects.bulk_create(Note(**values, thread=one, text=text) for one in threads for _ in range(MOST_REPLIES))
    for page in (client.get(f"/admin/articles/article/{article.pk}/change/"), client.get(address(article))):
        fields = dict.fromkeys(re.findall(r'form="notes-form"[^>]* name="([^"]+)"', page.text), "x")
        assert len(page.text) < 5_000_000
        assert len(fields) > 2 * THREADS_SHOWN * MOST_REPLIES
        key = next(name for name in fields if name.startswith("reply-")).removeprefix("reply-")
        sent = client.post(address(article), {**fields, "do": f"resolve:{key}"})
        assert (sent.status_code, "A thread has at most 20 replies" in sent.text) == (400, True)


def test_no_number_of_possible_mentions_closes_a_screen(client: Client, article: Article, alice: User) -> None:
    """Each beginning of a mention may be a username: there are more than a query can name."""
    values: dict[str, Any] = {"article": article, "author": alice, "created_at": soon()}

    def note(number: int, thread: Note | None = None) -> Note:
        begins = (chr(0x4E00 + 26 * number + each) for each in range(26))
        return Note(**values, thread=thread, text="".join(f" @{each}" + "字" * 149 for each in begins) + " @alice")

    threads = Note.objects.bulk_create(note(number) for number in range(2))
    Note.objects.bulk_create(note(number, threads[number % 2]) for number in range(2, 72))
    assert client.get(f"/admin/articles/article/{article.pk}/change/").status_code == 200
    screen = client.get(address(article))
    assert (screen.status_code, screen.text.count('class="note-mention"')) == (200, 72)
    assert load(client, article).status_code == 200


def test_a_reply_typed_in_a_resolved_thread_is_unfolded_when_something_else_is_refused(
    client: Client, article: Article, alice: User
) -> None:
    threads = [notes.add_note(article, by=alice, text=f"Thread {number}") for number in range(2)]
    notes.resolve_note(threads[0], by=alice)
    sent = {"do": "add", "text": "", f"reply-{threads[0].pk}": "My long text"}
    assert 'class="note-resolved" open>' in client.post(address(article), sent).text


def test_a_refused_edit_is_unfolded_also_of_a_resolved_thread(client: Client, article: Article, alice: User) -> None:
    threads = [notes.add_note(article, by=alice, text=f"Thread\n{number}") for number in range(2)]
    notes.resolve_note(threads[0], by=alice)
    sent = {f"edit-{one.pk}": f"Thread\r\n{number}" for number, one in enumerate(threads)}
    untouched = client.post(address(article), {**sent, "do": "add", "text": ""}).text
    unfolded = re.compile(r'class="(note-more|note-resolved)" open')
    assert unfolded.findall(untouched) == []
    sent |= {"do": f"edit:{threads[1].pk}", f"edit-{threads[1].pk}": "", f"edit-{threads[0].pk}": "My long text"}
    refused = client.post(address(article), sent).text
    assert sorted(set(unfolded.findall(refused))) == ["note-more", "note-resolved"]
    assert ">My long text</textarea>" in refused


def test_a_thread_is_resolved_with_a_closing_reply_though_the_article_has_its_most_notes(
    client: Client, article: Article, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("articles.notes.threads.MOST_NOTES", 2)
    threads = [notes.add_note(article, by=alice, text=f"Thread {number}") for number in range(2)]
    make_user("tagger", "change_tag")
    for text, status, replies in (("@tagger done", 400, []), ("Done", 302, ["Done"])):
        sent = {"do": f"resolve:{threads[0].pk}", f"reply-{threads[0].pk}": text, f"new-{threads[0].pk}": uuid4()}
        assert client.post(address(article), sent).status_code == status
        assert list(Note.objects.filter(thread=threads[0]).values_list("text", flat=True)) == replies
        assert Note.objects.get(pk=threads[0].pk).is_resolved is bool(replies)


def test_what_is_typed_elsewhere_in_the_form_stays_when_something_is_sent(
    client: Client, article: Article, alice: User
) -> None:
    threads = [notes.add_note(article, by=alice, text=f"Thread {number}") for number in range(3)]
    notes.resolve_note(threads[2], by=alice)
    elsewhere = {f"reply-{threads[0].pk}": "A half reply", f"edit-{threads[1].pk}": "Another half"}
    untouched = {f"edit-{threads[0].pk}": "Thread 0", "next": "/admin/"}
    for do, values in (
        ("add", {"text": "Sent"}),
        (f"reopen:{threads[2].pk}", {f"reply-{threads[2].pk}": "Sent"}),
        (f"resolve:{threads[2].pk}", {}),
    ):
        page = send(client, article, do, **values, **elsewhere, **untouched)
        assert (page.status_code, re.findall(r'name="(?:text|reply-[^"]*)"[^>]*>Sent<', page.text)) == (200, []), do
        for text in elsewhere.values():
            assert page.text.count(f">{text}</textarea>") == 1, do
        assert send(client, article, "add", **untouched, text=do).status_code == 302
    assert list(Note.objects.filter(text="Sent").values_list("thread", flat=True).order_by("created_at")) == [
        None,
        threads[2].pk,
    ]


def test_a_typed_edit_is_shown_again_although_its_thread_is_on_another_page_now(
    client: Client, article: Article, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("articles.desk.notes.shown.THREADS_SHOWN", 2)
    threads = [notes.add_note(article, by=alice, text=f"n{number}n") for number in range(5)]
    sent = {f"edit-{one.pk}": f"n{number}n" for number, one in enumerate(threads)}
    refused = send(client, article, "add", **{**sent, "text": " ", f"edit-{threads[0].pk}": "My long text"}).text
    assert (">My long text</textarea>" in refused, "n1n<" in refused, "n4n<" in refused) == (True, False, True)


def test_a_note_or_reply_that_is_added_from_a_later_page_is_shown(
    client: Client, article: Article, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("articles.desk.notes.shown.THREADS_SHOWN", 2)
    oldest, *_newer = (notes.add_note(article, by=alice, text=f"n{number}n") for number in range(5))
    later = f"{address(article)}?page=3"
    sent = {"do": "add", "text": "Zanzibar", "next": later}
    assert "Zanzibar" in client.post(later, sent, headers={"Accept": "application/json"}).json()["threads"]
    response = client.post(later, sent, follow=True)
    assert (response.redirect_chain[0][0], "Zanzibar" in response.text) == (f"{address(article)}#notes", True)
    reply = {"do": f"reply:{oldest.pk}", f"reply-{oldest.pk}": "Bridge town", "next": later}
    assert "Bridge town" in client.post(later, reply, headers={"Accept": "application/json"}).json()["threads"]
    assert "Bridge town" in client.post(later, reply, follow=True).text


def test_a_reply_to_a_deleted_thread_is_shown_again(client: Client, article: Article, alice: User) -> None:
    thread = notes.add_note(article, by=alice, text="Source?")
    notes.delete_note(thread, by=alice)
    key = f"{thread.pk}"
    refused = client.post(address(article), {"do": f"reply:{key}", f"reply-{key}": "My long text"})
    assert (refused.status_code, "My long text" in refused.text) == (400, True)
