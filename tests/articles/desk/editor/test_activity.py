"""Activity of an article and the audit log's screens: when readers saw what the system did."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client

from articles import notes
from articles.audit import Action
from articles.desk.audit.instants import delay_of, seen_at, seen_before
from articles.desk.editor.activity import events
from articles.limits import REASON_LENGTH
from articles.models import AuditEntry
from articles.text import Selector, format_time_exactly
from tests.articles.factories import make_article, make_editor, make_user, soon
from tests.articles.situations import SITUATIONS, Situation, run_worker

pytestmark = pytest.mark.django_db

LATE = timedelta(minutes=4)


def after_an_outage(name: str) -> Situation:
    """Made four minutes after its instant, when a worker is back."""
    made = SITUATIONS[name](soon() - LATE)
    run_worker()
    return made


@pytest.mark.cases(3)
@pytest.mark.parametrize(
    ("name", "action", "title"),
    [
        ("article", Action.PUBLISHED, "Went live"),
        ("embargo", Action.PUBLISHED, "Went live"),
        ("late_approval", Action.PUBLISHED, "Went live"),
        ("end", Action.UNPUBLISHED, "Unpublished on schedule"),
        ("end_without_record", Action.UNPUBLISHED, "Unpublished on schedule"),
        ("update", Action.UPDATED, "Update published"),
        ("member", Action.PUBLISHED, "Went live"),
    ],
)
def test_what_the_clock_shows_has_its_instant_and_says_when_it_was_recorded(name: str, action: str, title: str) -> None:
    made = after_an_outage(name)
    (found,) = [one for one in events(made.article) if one.title == title]
    entry = AuditEntry.objects.of(made.article).get(action=action)
    assert (found.at, found.who) == (made.at, "System")
    assert f"recorded {format_time_exactly(entry.at)}" in [value for _label, value in found.changes]
    assert found.when == format_time_exactly(made.at)


def test_an_article_that_came_and_went_without_a_worker_has_both_in_their_order() -> None:
    made = after_an_outage("end_without_record")
    titles = [one.title for one in events(made.article)]
    assert [title for title in titles if title != "Created"] == ["Unpublished on schedule", "Went live"]


def test_notes_and_their_passages_are_cut() -> None:
    article = make_article(body="<p>" + "tide " * 300 + "</p>")
    notes.add_note(article, by=make_editor(), text="why " * 500, about=Selector("tide " * 300))
    entry = events(article)[0]
    assert [(value[-1], len(value)) for _label, value in entry.changes] == [("…", 160)]
    assert len(entry.text) == REASON_LENGTH


@pytest.mark.parametrize("action", [Action.PUBLISHED, Action.UNPUBLISHED, Action.UPDATED])
def test_what_comes_on_time_has_no_second_time(action: str) -> None:
    due = soon()
    entry = AuditEntry(action=action, at=due + timedelta(milliseconds=900), old_time=due, new_time=due)
    assert [*delay_of(entry), *seen_before(entry)] == []


def test_what_a_person_did_is_dated_by_that() -> None:
    due = soon(hours=-1)
    entry = AuditEntry(action=Action.PUBLISHED, at=soon(), old_time=due, new_time=due, user_name="alice")
    assert (seen_at(entry), [*delay_of(entry)]) == (entry.at, [])


def test_history_release_and_audit_log_have_both_times() -> None:
    article, member = after_an_outage("article"), after_an_outage("member")
    client = Client()
    client.force_login(make_editor("alice"))
    recorded = AuditEntry.objects.of(article.article).get(action=Action.PUBLISHED).at
    history = client.get(f"/admin/articles/article/{article.article.pk}/revisions/").text
    assert format_time_exactly(article.at) in history
    assert f"recorded {format_time_exactly(recorded)}" in history
    assert member.release is not None
    page = client.get(f"/admin/articles/release/{member.release.pk}/change/").text
    released = AuditEntry.objects.of_release(member.release).get(action=Action.RELEASED).at
    stored = AuditEntry.objects.of(member.article).get(action=Action.PUBLISHED).at
    for moment in (released, stored):  # of the release and of its member, written by two statements
        assert f"recorded {format_time_exactly(moment)}" in page
    assert f"Published on {format_time_exactly(member.at)}." in page


def test_the_audit_log_says_from_when_readers_saw_it() -> None:
    made = after_an_outage("article")
    client = Client()
    client.force_login(make_user("admin", is_superuser=True))
    shown = client.get(f"/admin/articles/auditentry/?article_id__exact={made.article.pk}").text
    assert f"seen by readers {format_time_exactly(made.at)}" in shown
