"""The history of a front: two versions side by side; and what the editor asks of the database."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from articles.models import Card, FrontVersion
from tests.articles.desk.fronts.test_editor import LIST, desk_of, live
from tests.articles.factories import make_editor, make_front

pytestmark = pytest.mark.django_db


@pytest.fixture
def desk() -> Client:
    return desk_of(make_editor())


def test_two_versions_are_compared_as_readers_see_them_and_as_text(desk: Client) -> None:
    old = make_front(Card(article=live("One"), headline="Before"), live("Two"), live("Three"), size=3)
    draft = desk.post(f"{LIST}{old.front_id}/start/", follow=True).context["version"]
    cards = list(Card.objects.filter(block__version=draft).order_by("position"))
    Card.objects.filter(pk=cards[0].pk).update(headline="After", position=1)
    Card.objects.filter(pk=cards[1].pk).update(position=0)
    cards[2].delete()
    page = desk.get(f"{LIST}version/{draft.pk}/compare/")
    changes = {(change.name, change.label): (change.old, change.new) for change in page.context["changes"]}
    assert changes == {
        ("Two", "place"): ("Lead 2", "Lead 1"),
        ("After", "place"): ("Lead 1", "Lead 2"),
        ("After", "headline"): ("Before", "After"),
        ("Three", "removed"): ("Lead 3", ""),
    }
    assert page.text.count("<iframe") == 2
    framed = desk.get(f"{LIST}version/{old.pk}/preview/")
    assert framed["X-Frame-Options"] == "SAMEORIGIN"
    assert desk.get(f"{LIST}version/{draft.pk}/compare/?with=99").status_code == 404


@pytest.mark.thorough
def test_more_cards_take_no_more_statements(desk: Client) -> None:
    version = make_front(live("One"), size=1)
    address = f"{LIST}{desk.post(f'{LIST}{version.front_id}/start/', follow=True).context['front'].pk}/change/"
    desk.get(address)
    with CaptureQueriesContext(connection) as few:
        desk.get(address)
    block = FrontVersion.objects.latest("pk").blocks.get()
    for number in range(20):
        block.cards.create(article=live(f"More {number}", channel=version.front.channel), position=number + 1)
    with CaptureQueriesContext(connection) as many:
        desk.get(address)
    assert len(many) <= len(few) + 2
