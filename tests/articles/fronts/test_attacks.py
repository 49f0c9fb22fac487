"""What a hurried editor, two at once, or the clock could do to fronts."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.core.cache import caches
from django.db import connections
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from articles import releases
from articles.distribution import catch_up
from articles.models import Article, Card, ChangeKind, Event, FrontVersion, Release, coming_changes
from tests.articles.factories import add_block, make_article, make_channel, make_editor, make_front, make_release, soon
from tests.articles.fronts.composing import client_of
from tests.articles.fronts.test_composing import live, shown
from tests.articles.fronts.test_in_releases import Evening, draft_of
from tests.articles.site.test_front_archive import address

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_lead_shows_nothing_of_other_channels_than_those_it_was_made_for() -> None:
    deleted, own = make_channel("Gone"), make_channel("Own")
    version = make_front(size=3, backfill="channel", channel=None)
    version.blocks.update(channel=deleted)
    add_block(version, Card(url="https://example.com/", headline="A link"), backfill="none", position=1)
    make_front(Card(article=make_article("Not out", channel=own)), channel=own, size=1, backfill="none")
    live("Own news", channel=own, hours=3)
    live("Other news")
    assert shown("/channel/own/") == ["Own news"]
    deleted.delete()
    assert shown() == ["A link"], "nothing unrelated, though a lead is not empty otherwise"


def test_a_past_front_shows_nothing_that_a_release_has_unpublished_by_the_clock(settings: Any) -> None:
    settings.FRONT_ARCHIVE = True
    editor, story = make_editor(), live("Story", hours=50)
    make_front(Card(article=story, headline="Lead"), size=1, live_from=soon(hours=-48))
    release = make_release(by=editor)
    releases.add_member(release, article=story, action="unpublish", by=editor)
    releases.schedule_release(release, publish_at=soon(hours=1), by=editor)
    assert shown(address(soon(hours=-1))) == ["Lead"]
    Release.objects.update(publish_at=soon(seconds=-1), updated_at=soon(seconds=-1))
    caches["responses"].clear()
    assert shown() == shown(address(soon(hours=-1))) == []
