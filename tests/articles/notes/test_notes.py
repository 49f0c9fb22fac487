"""Notes: threads, mentions, resolving and deleting, with permissions, audit entries and notifications."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from threading import Barrier, BrokenBarrierError
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User

from articles import notes, publishing
from articles.audit import StateSnapshot
from articles.exceptions import (
    ArticleError,
    ArticleGone,
    NotAllowed,
    NoteChanged,
    NoteEmpty,
    NoteGone,
    TooLong,
    TooMany,
    WithoutAccess,
)
from articles.limits import MOST_MENTIONS, NOTE_LENGTH, QUOTE_LENGTH
from articles.models import Article, AuditEntry, Note, Notification
from articles.publishing.undo import latest_entries, undo_transition
from articles.roles import Role
from articles.text import Selector
from articles.workflow import Transition
from tests.articles.factories import APPROVED, make_article, make_editor, make_member, make_user, some_user, soon
from tests.articles.publishing.test_races import together

pytestmark = pytest.mark.django_db

Kind = Notification.Kind


@pytest.fixture
def author() -> User:
    return make_member(Role.AUTHOR, "wen")


@pytest.fixture
def reviewer() -> User:
    return make_member(Role.REVIEWER, "rita")


@pytest.fixture
def article(author: User) -> Article:
    return make_article(author=author, body="<p>The bridge cost 40 million.</p>")


def actions() -> list[str]:
    return list(AuditEntry.objects.filter(article_id__isnull=False).order_by("id").values_list("action", flat=True))


def notified(user: User) -> list[tuple[str, str]]:
    return list(Notification.objects.filter(user=user).order_by("at", "kind").values_list("kind", "reason"))


def test_a_thread_about_a_passage_is_written_answered_resolved_and_reopened(
    article: Article, author: User, reviewer: User
) -> None:
    about = Selector("40 million", "The bridge cost ", ".")
    note = notes.add_note(article, by=reviewer, text=" Source? ", about=about)
    answer = notes.reply(note, by=author, text="City council")
    notes.resolve_note(answer, by=author)

    thread = notes.threads_of(article).get()
    assert (thread.text, thread.quote, thread.prefix, thread.suffix) == (
        "Source?",
        "40 million",
        "The bridge cost ",
        ".",
    )
    assert [(each.text, each.author) for each in thread.replies.all()] == [("City council", author)]
    assert (thread.is_resolved, thread.resolved_by) == (True, author)
    notes.reopen_note(thread, by=reviewer)
    assert Note.objects.threads().get(resolved_at=None) == note
    assert actions()[1:] == ["add_note", "reply", "resolve_note", "reopen_note"]
    entry = AuditEntry.objects.get(action="add_note")
    assert (entry.reason, entry.details["quote"], entry.user_id) == ("Source?", "40 million", reviewer.pk)
    assert notified(author) == [(Kind.NOTED, "Source?")]
    assert notified(reviewer) == [(Kind.NOTED, "City council")]


def test_all_roles_that_see_articles_write_notes_and_others_do_not(article: Article) -> None:
    for role in Role:
        notes.add_note(article, by=make_member(role), text=role)
    assert Note.objects.count() == len(Role)
    reader = User.objects.create_user("reader")
    for other in (make_user("tagger", "change_tag"), reader):
        with pytest.raises(NotAllowed):
            notes.add_note(article, by=other, text="x")
        with pytest.raises(NotAllowed):
            notes.resolve_note(Note.objects.all()[0], by=other)


@pytest.mark.parametrize(
    "text",
    ["@mei please check", "请@mei看一下", "(@mei)", "See @Mei.", "@mei请看", "a\n@mei", "@mei's text", "@mei: now"],
)
def test_a_mentioned_user_is_notified(article: Article, author: User, text: str) -> None:
    mei = make_member(Role.EDITOR, "mei")
    notes.add_note(article, by=author, text=text)
    assert notified(mei) == [(Kind.MENTIONED, text)]


@pytest.mark.parametrize("text", ["mail mei@mei.org or x@mei", "@meister", "@mei2", "@", "@@", "@ mei"])
def test_other_at_signs_are_text(article: Article, author: User, text: str) -> None:
    mei = make_member(Role.EDITOR, "mei")
    note = notes.add_note(article, by=author, text=text)
    assert notified(mei) == []
    assert "".join(part.text for part in notes.parts_of(note.text, notes.mentioned_users([text]))) == text


def test_of_several_names_the_longest_is_mentioned(article: Article, author: User) -> None:
    users = {name: make_member(Role.EDITOR, name) for name in ("mei", "mei.li", "王芳", "王芳芳")}
    text = "@mei.li. @王芳芳请看"
    notes.add_note(article, by=author, text=text)
    assert [name for name, user in users.items() if notified(user)] == ["mei.li", "王芳芳"]
    parts = list(notes.parts_of(text, notes.mentioned_users([text])))
    assert [(part.text, part.user) for part in parts if part.user] == [
        ("@mei.li", users["mei.li"]),
        ("@王芳芳", users["王芳芳"]),
    ]


def test_users_without_access_are_not_mentioned(article: Article, author: User) -> None:
    make_user("tagger", "change_tag")
    User.objects.create_user("reader", first_name="Rea", last_name="Der")
    gone = make_member(Role.EDITOR, "gone")
    User.objects.filter(pk=gone.pk).update(is_active=False)
    for name, shown in (("tagger", "tagger"), ("reader", "Rea Der"), ("gone", "gone")):
        with pytest.raises(WithoutAccess, match=f"“{shown}” may not see this article"):
            notes.add_note(article, by=author, text=f"@{name} look")
    assert not Note.objects.exists()
    assert not Notification.objects.exists()


def test_an_edit_notifies_only_users_mentioned_for_the_first_time(article: Article, author: User) -> None:
    mei, ann = make_member(Role.EDITOR, "mei"), make_member(Role.EDITOR, "ann")
    note = notes.add_note(article, by=author, text="@mei look")
    notes.edit_note(note, by=author, text="@mei and @ann, look")
    assert (len(notified(mei)), notified(ann)) == (1, [(Kind.MENTIONED, "@mei and @ann, look")])
    note.refresh_from_db()
    assert note.edited_at is not None
    notes.edit_note(note, by=author, text="@mei and @ann, look")
    assert actions().count("edit_note") == 1


def test_users_edit_only_their_own_notes_and_not_over_their_other_window(
    article: Article, author: User, reviewer: User
) -> None:
    note = notes.add_note(article, by=author, text="One")
    seen = note.changed_at
    with pytest.raises(NotAllowed):
        notes.edit_note(note, by=reviewer, text="Two")
    notes.edit_note(note, by=author, text="Two", seen=seen)
    with pytest.raises(NoteChanged):
        notes.edit_note(note, by=author, text="Three", seen=seen)
    assert Note.objects.get().text == "Two"


def test_only_the_author_or_an_administrator_deletes_and_no_replies_of_others(
    article: Article, author: User, reviewer: User
) -> None:
    note = notes.add_note(article, by=author, text="One")
    answer = notes.reply(note, by=reviewer, text="Two")
    with pytest.raises(NotAllowed, match="Only its author"):
        notes.delete_note(note, by=make_member(Role.CHIEF))
    with pytest.raises(NotAllowed, match="resolve it instead"):
        notes.delete_note(note, by=author)
    notes.delete_note(answer, by=reviewer)
    notes.delete_note(note, by=author)
    with pytest.raises(NoteGone):
        notes.reply(note, by=author, text="Three")
    with pytest.raises(NoteGone):
        notes.resolve_note(note, by=author)

    note = notes.add_note(article, by=author, text="One")
    notes.reply(note, by=reviewer, text="Two")
    notes.delete_note(note, by=make_user("root", is_superuser=True))
    assert not Note.objects.exists()
    assert actions().count("delete_note") == 3


def test_a_note_that_is_sent_twice_is_stored_once(article: Article, author: User, reviewer: User) -> None:
    pk = uuid4()
    first = notes.add_note(article, by=reviewer, text="One", pk=pk)
    assert notes.add_note(article, by=reviewer, text="One", pk=pk) == first
    assert (Note.objects.count(), actions().count("add_note"), len(notified(author))) == (1, 1, 1)
    others = [
        notes.add_note(article, by=author, text="One", pk=pk),
        notes.add_note(article, by=reviewer, text="Two", pk=pk),  # typed in a copy of the window
        notes.add_note(article, by=reviewer, text="One", about=Selector("40 million"), pk=pk),
        notes.reply(first, by=reviewer, text="One", pk=pk),
    ]
    assert len({one.pk for one in [first, *others]}) == 5 == Note.objects.count()
    assert Note.objects.get(pk=pk).text == "One"


def test_resolving_twice_is_recorded_once(article: Article, author: User, reviewer: User) -> None:
    note = notes.add_note(article, by=author, text="One")
    notes.resolve_note(Note.objects.get(), by=author)
    notes.resolve_note(note, by=reviewer)
    assert (note.resolved_by, actions().count("resolve_note")) == (author, 1)


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ({"text": " \n "}, NoteEmpty),
        ({"text": "x" * (NOTE_LENGTH + 1)}, TooLong),
        ({"text": "x", "about": Selector("x" * (QUOTE_LENGTH + 1))}, TooLong),
    ],
)
def test_unusable_notes_are_refused(
    article: Article, author: User, values: dict[str, Any], error: type[ArticleError]
) -> None:
    with pytest.raises(error):
        notes.add_note(article, by=author, **values)
    assert not Note.objects.exists()


def test_an_article_has_a_bounded_number_of_notes_in_open_threads(
    article: Article, author: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("articles.notes.threads.MOST_NOTES", 2)
    pk = uuid4()
    thread = notes.add_note(article, by=author, text="One", pk=pk)
    notes.reply(thread, by=author, text="Two")
    with pytest.raises(TooMany):
        notes.add_note(article, by=author, text="Three")
    with pytest.raises(TooMany):
        notes.reply(thread, by=author, text="Three")
    notes.add_note(article, by=author, text="One", pk=pk)  # sent again
    notes.resolve_note(thread, by=author)
    other = notes.add_note(article, by=author, text="Three")
    assert Note.objects.count() == 3
    answer = notes.reply(thread, by=author, text="Four")  # which is resolved
    with pytest.raises(TooMany):
        notes.reopen_note(thread, by=author)
    notes.delete_note(other, by=author)
    notes.delete_note(answer, by=author)
    notes.reopen_note(thread, by=author)


def test_a_note_has_a_bounded_number_of_mentions(article: Article, author: User, reviewer: User) -> None:
    mention = f"@{reviewer.username} "
    thread = notes.add_note(article, by=author, text=mention * MOST_MENTIONS)
    with pytest.raises(TooMany):
        notes.reply(thread, by=author, text=mention * (MOST_MENTIONS + 1))
    with pytest.raises(TooMany):
        notes.edit_note(thread, by=author, text=mention * (MOST_MENTIONS + 1))


def test_a_thread_has_a_bounded_number_of_replies(
    article: Article, author: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("articles.notes.threads.MOST_REPLIES", 2)
    thread, pk = notes.add_note(article, by=author, text="One"), uuid4()
    for key in (None, pk):
        notes.reply(thread, by=author, text="Two", pk=key)
    with pytest.raises(TooMany):
        notes.reply(thread, by=author, text="Three")
    notes.reply(thread, by=author, text="Two", pk=pk)  # sent again
    assert thread.replies.count() == 2


def test_a_thread_has_a_bounded_length(article: Article, author: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("articles.notes.threads.THREAD_LENGTH", 10)
    thread = notes.add_note(article, by=author, text="12345")
    answer = notes.reply(thread, by=author, text="12345")
    with pytest.raises(TooLong):
        notes.reply(answer, by=author, text="1")
    with pytest.raises(TooLong):
        notes.edit_note(answer, by=author, text="123456")
    notes.edit_note(thread, by=author, text="1234")
    notes.edit_note(answer, by=author, text="123456")
    monkeypatch.setattr("articles.notes.threads.THREAD_LENGTH", 5)
    notes.edit_note(answer, by=author, text="12345")  # of a thread from before the limit
    notes.add_note(article, by=author, text="12345")


@pytest.mark.django_db(transaction=True)
def test_edits_at_once_keep_the_length_of_a_thread(
    article: Article, author: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("articles.notes.threads.THREAD_LENGTH", 10)
    thread = notes.add_note(article, by=author, text="1")
    answers = [notes.reply(thread, by=author, text="1") for _ in range(2)]
    both = Barrier(2)

    def find_mentions(*args: Any, **options: Any) -> list[User]:
        with suppress(BrokenBarrierError):  # the other waits for the lock
            both.wait(1)
        return []

    monkeypatch.setattr("articles.notes.threads.new_mentions", find_mentions)
    edits = [partial(notes.edit_note, Note.objects.get(pk=one.pk), by=author, text="1" * 7) for one in answers]
    results = together(*edits)
    assert [type(result) for result in results if result is not None] == [TooLong]
    assert sum(len(one.text) for one in Note.objects.all()) == 9


def test_notes_are_deleted_with_their_article_and_stay_when_their_author_leaves(
    article: Article, author: User, reviewer: User
) -> None:
    note = notes.add_note(article, by=reviewer, text="One")
    reviewer.delete()
    note.refresh_from_db()
    assert note.author is None
    article.delete()
    assert not Note.objects.exists()
    with pytest.raises(ArticleGone):
        notes.add_note(Article(pk=article.pk or 10**9, title="x"), by=author, text="Two")


def test_a_user_without_access_is_not_notified_of_new_notes(article: Article, author: User, reviewer: User) -> None:
    User.objects.filter(pk=author.pk).update(is_staff=False)
    notes.add_note(article, by=reviewer, text="One")
    assert notified(author) == []


def test_a_note_takes_no_approval_and_makes_no_contributor(author: User) -> None:
    reviewer, article = some_user("rita", "review_article"), make_article(author=author)
    publishing.submit(article, by=author)
    article.refresh_from_db()
    notes.add_note(article, by=reviewer, text="Fine")
    publishing.approve(article, by=reviewer, revision=article.revision)
    approved = article.revision
    notes.add_note(article, by=author, text="Thanks")
    article.refresh_from_db()
    assert (article.status, article.revision) == (Article.Status.MANUALLY_APPROVED, approved)


def test_a_transition_can_be_undone_after_a_note_and_an_assignment(article: Article, author: User) -> None:
    editor = make_editor()
    Article.objects.filter(pk=article.pk).update(status=APPROVED)
    article.refresh_from_db()
    before = StateSnapshot.of(article)
    publishing.schedule(article, publish_at=soon(hours=1), by=editor)
    entry = latest_entries([article.pk])[article.pk]
    notes.add_note(article, by=author, text="One")
    publishing.edit(article, by=editor, changes={"owner": author})
    assert latest_entries([article.pk]) == {article.pk: entry}
    undo_transition(article, transition=Transition.SCHEDULE, before=before, entry=entry, by=editor)
    assert Article.objects.get().publish_at is None
