"""Few images are decoded at once on a host, and each user has a number of pixels an hour."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from rest_framework.test import APIClient

from articles import images as image_library
from articles.exceptions import DecodingBusy, NotStored
from articles.images.slots import decoding_slot
from articles.models import Image
from headline.accounts.rate_limits import Limit
from tests.articles.factories import make_editor
from tests.articles.image_files import image_bytes, make_image, sent

pytestmark = pytest.mark.django_db(transaction=True)

DESK, API = "/admin/articles/image/upload/", "/api/v1/desk/images/"


@pytest.fixture
def editor() -> User:
    return make_editor()


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("articles.images.slots.SLOT_TIMEOUT", 0.05)


def answers(user: User) -> Iterator[Any]:
    """Of an upload in the admin, of one by the API, and of a new focal point."""
    client, api = Client(), APIClient()
    client.force_login(user)
    api.force_login(user)
    yield client.post(DESK, {"file": sent()})
    yield api.post(API, {"file": sent(), "alt": "Ships"}, format="multipart")
    if image := Image.objects.order_by("width").first():
        yield api.patch(f"{API}{image.pk}/", {"focus_x": 10}, format="json")


def test_uploads_wait_for_no_slot_but_are_sent_away(editor: User) -> None:
    make_image(editor)
    with ExitStack() as held:
        for _number in range(settings.IMAGES_AT_ONCE):
            held.enter_context(decoding_slot())
        refused = list(answers(editor))
    assert [(one.status_code, one["Retry-After"]) for one in refused] == [(503, "5")] * 3
    assert Image.objects.count() == 1
    assert [one.status_code for one in answers(editor)] == [201, 201, 200]


def test_without_a_place_for_slots_uploads_are_refused_in_words(editor: User, settings: Any, tmp_path: Path) -> None:
    make_image(editor)
    settings.DATA_DIR = tmp_path
    (tmp_path / "locks").touch()
    refused = list(answers(editor))
    assert [one.status_code for one in refused] == [507] * 3
    assert refused[0].json() == {"error": str(NotStored())}


def hold(started: Any, directory: Path, number: int) -> None:
    settings.DATA_DIR, settings.IMAGES_AT_ONCE = directory, number
    with decoding_slot():
        started.set()
        time.sleep(60)


def test_slots_are_shared_by_processes_and_free_when_one_dies() -> None:
    context = multiprocessing.get_context("fork")
    started = context.Event()
    process = context.Process(target=hold, args=(started, settings.DATA_DIR, settings.IMAGES_AT_ONCE))
    process.start()
    assert started.wait(60)
    with ExitStack() as held:
        for _number in range(settings.IMAGES_AT_ONCE - 1):
            held.enter_context(decoding_slot())
        with pytest.raises(DecodingBusy), decoding_slot():
            pass
        process.kill()
        process.join()
        held.enter_context(decoding_slot())


def test_a_user_has_a_number_of_pixels_an_hour(editor: User, monkeypatch: pytest.MonkeyPatch) -> None:
    pixels = Limit("image pixels of user", burst=3, every=timedelta(minutes=20))
    monkeypatch.setattr("headline.accounts.rate_limits._PIXELS", pixels)
    image_library.upload(sent(image_bytes("PNG", (1400, 1400), colour="red")), by=editor)
    image_library.upload(sent(), by=editor)
    refused = list(answers(editor))
    assert [one.status_code for one in refused] == [429] * 3
    assert all(19 * 60 < int(one["Retry-After"]) <= 20 * 60 for one in refused)
    assert "20 minutes" in refused[0].json()["error"]
    assert (refused[1].json()["code"], Image.objects.count()) == ("too_many_pixels", 2)
    assert [one.status_code for one in answers(make_editor("other"))] == [201, 201, 200]
