"""Covers and images in texts: validation, HTML for readers, and review."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from playwright.sync_api import Page
from rest_framework.test import APIClient

from articles import images as image_library, publishing
from articles.exceptions import UnknownImage, WrongCover
from articles.models import Article, CoverMode, Image, ImageUse, SensitiveWord
from articles.publishing.comparison import compare
from tests.articles.factories import approve, make_article, make_channel, make_editor, soon
from tests.articles.image_files import make_image, shown
from tests.articles.statements import reading

pytestmark = pytest.mark.django_db(transaction=True)

Status = Article.Status


@pytest.fixture
def editor() -> User:
    return make_editor()


@pytest.fixture
def images(editor: User) -> list[Image]:
    return [make_image(editor, f"Ship {number}", caption=f"At sea {number}") for number in range(3)]


def ids(images: list[Image]) -> list[str]:
    return [str(image.pk) for image in images]


def live(title: str = "Ships", **values: Any) -> Article:
    return make_article(title, **{"status": Status.PUBLISHED, "publish_at": soon(minutes=-1), **values})


@pytest.mark.cases(3)
@pytest.mark.parametrize(
    ("mode", "chosen", "in_body", "cover"),
    [
        (CoverMode.NONE, 0, 3, 0),
        (CoverMode.ONE, 1, 0, 1),
        (CoverMode.THREE, 3, 0, 3),
        (CoverMode.AUTO, 0, 0, 0),
        (CoverMode.AUTO, 0, 1, 1),
        (CoverMode.AUTO, 0, 2, 1),
        (CoverMode.AUTO, 0, 3, 3),
    ],
)
def test_a_cover_is_none_one_three_or_the_texts(
    editor: User, images: list[Image], mode: CoverMode, chosen: int, in_body: int, cover: int
) -> None:
    """R5.4"""
    body = "".join(map(shown, images[:in_body]))
    article = Article(title="Ships", body=body, cover_mode=mode, cover=ids(images[:chosen]))
    publishing.create(article, by=editor)
    article.refresh_from_db()
    assert article.cover == ids(images[:cover])
    assert article.revisions.get().cover == article.cover


@pytest.mark.parametrize(("mode", "given"), [("one", 0), ("one", 2), ("three", 2)])
def test_a_cover_has_as_many_images_as_its_mode_says(editor: User, images: list[Image], mode: str, given: int) -> None:
    """R5.4"""
    article = make_article()
    with pytest.raises(WrongCover):
        publishing.edit(article, by=editor, changes={"cover_mode": mode, "cover": ids(images[:given])})
    with pytest.raises(WrongCover, match="none, one, three, auto"):
        publishing.edit(article, by=editor, changes={"cover_mode": "some"})


UNKNOWN = str(uuid4())


@pytest.mark.parametrize(
    "changes",
    [
        {"cover_mode": "one", "cover": [UNKNOWN]},
        {"body": f'<img src="/media/{UNKNOWN}/640.webp">'},
        {"body": f'<figure><img src="http://127.0.0.1:8000/media/{UNKNOWN}/640.webp"></figure>'},
        {"body": f'<video poster="/media/{UNKNOWN}/640.webp"></video>'},
        {"body": '<img alt="x > y" src="&#47;media/nonsense">'},
    ],
    ids=["cover", "text", "whole address", "poster", "no id"],
)
def test_an_unknown_image_is_refused(editor: User, changes: dict[str, Any]) -> None:
    """R5.4"""
    article = make_article(author=editor, body="Old")
    with pytest.raises(UnknownImage):
        publishing.edit(article, by=editor, changes=changes)
    with pytest.raises(UnknownImage):
        publishing.create(Article(title="Ships", **changes), by=editor)
    client = APIClient()
    client.force_authenticate(editor)
    for response in (
        client.patch(f"/api/v1/desk/articles/{article.pk}/", changes),
        client.post("/api/v1/desk/articles/", {"title": "Ships", **changes}),
    ):
        assert (response.status_code, response.json()["code"]) == (400, "unknown_image")
    article.refresh_from_db()
    assert (article.body, Article.objects.count()) == ("Old", 1)


def test_a_deleted_image_is_refused(editor: User, images: list[Image]) -> None:
    """R5.4"""
    gone = images[0]
    image_library.delete_image(Image.objects.get(pk=gone.pk), by=editor)
    with pytest.raises(UnknownImage):
        publishing.edit(make_article(), by=editor, changes={"cover_mode": "one", "cover": [str(gone.pk)]})


def test_an_import_refuses_an_unknown_image(
    images: list[Image], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """R5.4"""
    file = tmp_path / "articles.jsonl"
    bodies = {"Good": shown(images[0]), "Bad": f'<img src="/media/{UNKNOWN}/640.webp">'}
    file.write_text("\n".join(json.dumps({"title": title, "body": body}) for title, body in bodies.items()))
    with pytest.raises((CommandError, SystemExit)):
        call_command("import_articles", str(file))
    article = Article.objects.get()
    assert (article.title, article.cover) == ("Good", ids(images[:1]))
    assert ImageUse.objects.get().article == article
    assert "There is no such image" in capsys.readouterr().out


def test_readers_get_the_cover_in_every_size(images: list[Image]) -> None:
    """R5.4"""
    first = images[0]
    article = live(cover_mode=CoverMode.ONE, cover=ids(images[:1]))
    for address in ("/", article.get_absolute_url()):
        page = Client().get(address).content.decode()
        assert f'srcset="/media/{first.pk}/320.avif 320w, /media/{first.pk}/400.avif 400w"' in page
        assert 'alt="Ship 0" width="400" height="300"' in page
    assert f'property="og:image" content="{settings.SITE_URL}/media/{first.pk}/shared-50-50.jpeg"' in page
    (data,) = Client().get("/api/v1/articles/").json()["results"]
    (cover,) = data["cover"]
    assert (cover["alt"], cover["width"], len(cover["versions"])) == ("Ship 0", 400, 4)
    assert cover["url"] == f"{settings.SITE_URL}/media/{first.pk}/400.webp"


def test_covers_of_a_page_cost_one_statement(images: list[Image], client: Client) -> None:
    for _number in range(5):
        live(cover=ids(images), cover_mode=CoverMode.THREE)
    with CaptureQueriesContext(connection) as queries:
        client.get("/api/v1/articles/")
    assert len(reading(queries)) == 4  # how long it is true, the articles, their tags, their covers


def test_images_in_a_text_have_all_renditions(images: list[Image]) -> None:
    first, second, _third = images
    figure = f'<figure><img src="{second.preview}" alt="Its &quot;bow&quot;"><figcaption>Bow</figcaption></figure>'
    article = live(
        body=shown(first) + figure + f'<img src="/media/{UNKNOWN}/1.webp"><img src="https://x.example/a.jpg">'
    )
    page = Client().get(article.get_absolute_url()).content.decode()
    assert page.count("<picture>") == 2
    assert 'alt="Ship 0"' in page
    assert 'alt="Its &quot;bow&quot;"' in page
    assert "<figcaption>Bow</figcaption>" in page
    assert UNKNOWN not in page
    assert '<img src="https://x.example/a.jpg">' in page
    data = Client().get(f"/api/v1/articles/{article.pk}/").json()["body"]
    assert f'srcset="{settings.SITE_URL}/media/{first.pk}/320.avif 320w' in data


@pytest.mark.cases(1)
@pytest.mark.parametrize("by_the_clock", [False, True])
def test_the_approved_cover_is_what_readers_see(editor: User, images: list[Image], by_the_clock: bool) -> None:
    """R5.4"""
    article = live(cover=ids(images[:1]), cover_mode=CoverMode.ONE)
    publishing.edit(article, by=editor, changes={"cover": ids(images[1:2])})
    article.refresh_from_db()
    assert article.cover == ids(images[:1])
    publishing.submit(article, by=editor)
    approve(article)
    if by_the_clock:
        publishing.schedule_update(article, publish_at=soon(), by=editor)
        with transaction.atomic():
            publishing.update_due([article.pk])
    else:
        publishing.publish_update(article, by=editor)
    article.refresh_from_db()
    assert article.cover == ids(images[1:2])
    assert set(ImageUse.objects.values_list("image", flat=True)) == {images[1].pk}


def test_the_history_lists_the_images(editor: User, images: list[Image]) -> None:
    article = make_article()
    publishing.edit(article, by=editor, changes={"cover_mode": "one", "cover": ids(images[:1])})
    old, new = article.revisions.order_by("number")
    assert {field.name for field in compare(old, new)} == {"cover_mode", "cover"}
    assert "harbour" in [piece.text for field in compare(old, new) for piece in field.pieces]


def test_reviewers_see_the_cover_with_its_texts(editor: User, images: list[Image]) -> None:
    article = make_article(cover_mode=CoverMode.ONE, cover=ids(images[:1]))
    publishing.submit(article, by=editor)
    client = Client()
    client.force_login(make_editor("bob"))
    page = client.get(f"/admin/articles/queuedarticle/{article.pk}/change/").content.decode()
    assert images[0].preview in page
    assert "Ship 0<br>At sea 0" in page


@pytest.mark.cases(3)
@pytest.mark.parametrize("place", ["cover", "body"])
@pytest.mark.parametrize("said", ["alt", "caption", "credit"])
def test_texts_of_images_are_reviewed(editor: User, place: str, said: str) -> None:
    SensitiveWord.objects.create(text="casino", level=SensitiveWord.Level.BLOCK)
    image = make_image(editor, **{said: "A casino"})
    values: dict[str, Any] = {"body": shown(image)}
    if place == "cover":
        values = {"cover_mode": CoverMode.ONE, "cover": ids([image])}
    article = make_article(**values)
    publishing.submit(article, by=editor)
    assert (article.status, "casino" in article.status_reason) == (Status.REJECTED, True)


@pytest.mark.parametrize(
    ("content", "status"), [(b"<?php ?>", Status.REJECTED), (None, Status.MANUAL_REVIEW)], ids=["spoilt", "lost"]
)
def test_image_files_are_reviewed(editor: User, content: bytes | None, status: Status) -> None:
    SensitiveWord.objects.create(text="casino", level=SensitiveWord.Level.BLOCK)
    image = make_image(editor)
    article = make_article(cover_mode=CoverMode.ONE, cover=ids([image]))
    default_storage.delete(image.path(image.original))
    if content is not None:
        (Path(settings.MEDIA_ROOT) / image.path(image.original)).write_bytes(content)
    publishing.submit(article, by=editor)
    assert (article.status, "harbour" in article.status_reason) == (status, True)


@pytest.mark.thorough
def test_three_images_are_in_a_row(page: Page, editor: User, images: list[Image]) -> None:
    channel = make_channel()
    live("Newer", channel=channel)
    live("Ships", channel=channel, cover=ids(images), cover_mode=CoverMode.THREE, publish_at=soon(hours=-1))
    page.goto(channel.get_absolute_url())
    boxes = [image.bounding_box() for image in page.locator(".cover img").all()]
    assert len({box["y"] for box in boxes if box}) == 1
    assert len({box["x"] for box in boxes if box}) == 3
