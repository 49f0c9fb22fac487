"""Readers, their programs, exports and people with a preview link see nothing of notes and assignments."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client

from articles import notes, publishing
from articles.models import Article, CalendarFeed, PendingChange, SearchEntry
from articles.publishing.previews import make_preview_link
from articles.roles import Role
from articles.text import Selector
from tests.articles.exchange.test_export import run_export
from tests.articles.factories import make_member, soon
from tests.articles.site.test_leaks import ENTRY_POINTS, shown

pytestmark = pytest.mark.django_db(transaction=True)

__all__ = ["shown"]  # a fixture

MARKER = "Quetzalcoatl"
DUE = 2077  # a year
KNOWN = re.compile(r'csrf\w+" value="\w+"|nonce="[^"]*"|<lastBuildDate>[^<]*<|<updated>[^<]*<|"now": \d+')
"""What differs between two responses anyway."""


@pytest.fixture
def annotated(shown: Article) -> Article:
    """A live article with a pending update, on which the newsroom has notes and whose owner has a telling name."""
    owner = make_member(Role.CHIEF, MARKER.lower())
    User.objects.filter(pk=owner.pk).update(first_name=MARKER, last_name=MARKER)
    about = Selector(f"{MARKER} quote", f"{MARKER} before", f"{MARKER} after")
    thread = notes.add_note(shown, by=owner, text=f"{MARKER} note", about=about)
    notes.reply(thread, by=owner, text=f"@{owner.username} {MARKER} reply")
    notes.resolve_note(thread, by=owner)
    notes.add_note(shown, by=owner, text=f"{MARKER} on the article")
    due = soon(hours=1).replace(year=DUE)
    publishing.edit(shown, by=owner, changes={"owner": owner, "due_at": due})
    return shown


_DATED = re.compile(rf"(?<!\d){DUE}(-?\d\d-?\d\d|年)|[A-Za-z.,] {DUE}(?!\d)")
"""A date in that year; the number alone may be the id of an article."""


def has_marker(text: str) -> bool:
    return MARKER.lower() in text.lower() or _DATED.search(text) is not None


def test_readers_and_their_programs_see_no_note_and_no_owner(annotated: Article) -> None:
    for source in ENTRY_POINTS:
        address = source.format(shown=annotated.pk, author=annotated.author_id)
        assert not has_marker(Client().get(address).text), address
    for address in (f"/search/?q={MARKER}", f"/api/v1/articles/?q={MARKER}"):
        assert annotated.get_absolute_url() not in Client().get(address).text
    assert not {"owner", "due_at", "notes"} & Client().get(f"/api/v1/articles/{annotated.pk}/").json().keys()
    assert not any(has_marker(str(row)) for row in SearchEntry.objects.values())


def test_notes_and_assignments_change_no_response_for_readers(shown: Article) -> None:
    pages = [address.format(shown=shown.pk, author=shown.author_id) for address in ENTRY_POINTS]
    before = [responses(pages), PendingChange.objects.count()]
    member = make_member(Role.CHIEF)
    notes.add_note(shown, by=member, text="One", about=Selector("Two"))
    publishing.edit(shown, by=member, changes={"owner": member, "due_at": soon(hours=1)})
    assert [responses(pages), PendingChange.objects.count()] == before


def responses(pages: list[str]) -> dict[str, str]:
    return {page: KNOWN.sub("", Client().get(page).text) for page in pages}


def test_people_with_a_preview_link_or_a_calendar_address_see_no_note(annotated: Article) -> None:
    chief = make_member(Role.CHIEF, "chief")
    link = make_preview_link(annotated, by=chief, lasts=timedelta(days=1), is_following=True)
    response = Client().get(link.get_absolute_url())
    assert response.status_code == 200
    assert not has_marker(response.text)
    secret = CalendarFeed.objects.renew(chief).secret
    assert not has_marker(Client().get(f"/calendar/{secret}.ics").text)


@pytest.mark.parametrize("kind", ["jsonl", "wxr"])
def test_no_export_has_notes_or_owners(annotated: Article, tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"articles.{kind}"
    run_export(path, "--format", kind)
    text = path.read_text(encoding="utf-8")
    assert annotated.title in text
    assert not has_marker(text)
