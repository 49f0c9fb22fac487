"""The image library: uploads, permissions and uses."""

from __future__ import annotations

import errno
import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest
from django.conf import settings
from django.core.files.storage import FileSystemStorage, default_storage
from django.db import connection
from django.db.models import ProtectedError
from django.test import Client
from django.test.utils import CaptureQueriesContext
from PIL import Image as PillowImage, ImageCms
from PIL.PngImagePlugin import PngInfo
from rest_framework.test import APIClient

from articles import images as image_library, publishing, releases
from articles.exceptions import (
    AltMissing,
    ImageInUse,
    InvalidImage,
    InvalidImageFile,
    NotAllowed,
    NotStored,
    UnknownImage,
)
from articles.models import Article, AuditEntry, CoverMode, Image, ImageUse, SensitiveWord
from articles.review.images import inspect
from articles.roles import Role
from tests.articles.factories import approve, make_article, make_editor, make_member, make_release, soon
from tests.articles.image_files import GPS, image_bytes, make_image, sent, shown

pytestmark = pytest.mark.django_db(transaction=True)


def stored() -> set[str]:
    """Everything below the folder of uploads."""
    root = Path(settings.MEDIA_ROOT)
    return {str(path.relative_to(root)) for path in root.rglob("*")} if root.exists() else set()


def opened(image: Image, name: str) -> PillowImage.Image:
    return PillowImage.open(io.BytesIO(image.read(name)))


def test_an_image_is_stored_in_full_and_as_renditions() -> None:
    """R5.7"""
    made = image_library.upload(sent(image_bytes(size=(1500, 1000))), by=make_editor(), alt="A ship", credit="Mei")
    image = made.image
    assert (made.is_new, made.remark) == (True, "")
    assert (image.title, image.alt, image.credit) == ("harbour", "A ship", "Mei")
    assert (image.width, image.height, image.widths) == (1500, 1000, [320, 640, 1280, 1500])
    for name in image.names:
        with opened(image, name) as rendition:
            width, _dot, kind = name.partition(".")
            assert rendition.format == kind.upper() or name == "shared-50-50.jpeg"
            assert rendition.width == (int(width) if width.isdecimal() else rendition.width)
    with opened(image, image.shared) as rendition:
        assert rendition.size == Image.SHARED
    assert len(stored()) == len(image.names) + 1


def test_the_same_file_uploaded_twice_is_one_image() -> None:
    """R5.7"""
    editor, data = make_editor(), image_bytes()
    first = image_library.upload(sent(data), by=editor)
    files = stored()
    second = image_library.upload(sent(data, "again.jpg"), by=editor, alt="Ships")
    assert (second.image, second.is_new) == (first.image, False)
    assert "harbour" in second.remark
    assert (stored(), Image.objects.get().alt) == (files, "Ships")


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_location_data_is_removed(kind: str) -> None:
    image = image_library.upload(sent(image_bytes(kind, located=True)), by=make_editor()).image
    for name in image.names:
        data = image.read(name)
        with PillowImage.open(io.BytesIO(data)) as opened_image:
            assert not opened_image.getexif().get_ifd(GPS)
        assert b"Exif" not in data
        assert b"XMP" not in data


def test_an_image_is_turned_upright_with_its_colours_unchanged() -> None:
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    data = image_bytes(size=(400, 300), turned=True, icc_profile=profile)
    image = image_library.upload(sent(data), by=make_editor()).image
    assert (image.width, image.height) == (300, 400)
    for name in image.names:
        with opened(image, name) as rendition:
            assert rendition.info["icc_profile"] == profile


def with_archive(data: bytes) -> bytes:
    file = io.BytesIO(data)
    file.seek(0, io.SEEK_END)
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("payload.txt", "hello")
    return file.getvalue()


@pytest.mark.parametrize(
    "spoil",
    [
        with_archive,
        lambda data: data + b"<?php system($_GET['x']); ?>",
        lambda data: data + b"<script>alert(1)</script>",
        lambda data: image_bytes(comment=b"<script>alert(1)</script>"),
    ],
    ids=["archive", "PHP", "script behind", "script within"],
)
def test_other_content_of_a_file_is_removed(spoil: Callable[[bytes], bytes]) -> None:
    image = image_library.upload(sent(spoil(image_bytes())), by=make_editor()).image
    for name in image.names:
        data = image.read(name)
        assert b"<script" not in data
        assert b"<?php" not in data
        assert b"payload" not in data
        assert name.endswith(".avif") or inspect(data) == []


def test_a_colour_profile_hides_nothing() -> None:
    """It is the only part of an upload that is stored unchanged, so it is checked."""
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    with pytest.raises(InvalidImageFile, match="contains other content"):
        image_library.upload(sent(image_bytes(icc_profile=profile + b"<script>alert(1)</script>")), by=make_editor())
    image = image_library.upload(
        sent(image_bytes(icc_profile=b"<script>alert(1)</script>")), by=make_editor("bob")
    ).image
    assert b"<script" not in image.read()


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: b"", "not a readable image"),
        (lambda: b"MZ" + image_bytes(), "not a readable image"),
        (lambda: image_bytes(size=(900, 900), colour=1)[:-900], "incomplete"),
        (
            lambda: b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
            "SVG files are not accepted",
        ),
        (lambda: b"\0\0\0\x18ftypheic", "HEIC files are not accepted"),
        (lambda: image_bytes("PNG", (8000, 7000), colour=0), "more than 50 million pixels"),
        (lambda: image_bytes("PNG", (17000, 200), colour=0), "16000 on one side"),
        (lambda: image_bytes("PNG", (5000, 2), colour=0), "too narrow"),
        (lambda: b"\xff" * 20_000_001, "larger than 20 MB"),
    ],
    ids=["empty", "program", "cut off", "SVG", "HEIC", "bomb", "too long", "line", "too large"],
)
def test_an_invalid_image_is_refused_with_a_reason(make: Callable[[], bytes], reason: str) -> None:
    with pytest.raises(InvalidImageFile, match=reason):
        image_library.upload(sent(make()), by=make_editor())
    assert (stored(), Image.objects.count()) == (set(), 0)


@pytest.mark.parametrize(("mode", "colour"), [("RGB", (250, 0, 250)), ("L", 7), ("1", 1)])
def test_a_transparent_colour_stays_transparent(mode: str, colour: int | tuple[int, int, int]) -> None:
    file = io.BytesIO()
    PillowImage.new(mode, (400, 300), colour).save(file, "PNG", transparency=colour)

    image = image_library.upload(sent(file.getvalue(), "key.png"), by=make_editor(), alt="Key").image

    shown_as = [opened(image, name).convert("RGBA").getpixel((5, 5)) for name in ("original.png", "320.webp")]
    assert [pixel[3] for pixel in shown_as if isinstance(pixel, tuple)] == [0, 0]


def test_a_cmyk_image_may_have_a_profile_of_another_colour_space() -> None:
    file = io.BytesIO()
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    PillowImage.new("CMYK", (400, 300), (0, 255, 255, 0)).save(file, "JPEG", icc_profile=profile)

    image = image_library.upload(sent(file.getvalue()), by=make_editor(), alt="Red").image

    red, green, blue = opened(image, "original.jpeg").convert("RGB").getpixel((5, 5))  # type: ignore[misc]
    assert (red > 200, green < 60, blue < 60) == (True, True, True)


@pytest.mark.parametrize("kind", ["zTXt", "iTXt", "iCCP"])
def test_large_texts_and_profiles_of_a_png_do_not_refuse_it(kind: str) -> None:
    file, texts = io.BytesIO(), PngInfo()
    if kind == "zTXt":
        texts.add_text("note", "x" * 3_000_000, zip=True)
    elif kind == "iTXt":
        texts.add_itxt("note", "x" * 3_000_000, zip=True)
    profile = b"x" * 2_000_000 if kind == "iCCP" else None
    PillowImage.new("RGB", (400, 300), "red").save(file, "PNG", pnginfo=texts, icc_profile=profile)

    assert image_library.upload(sent(file.getvalue(), "a.png"), by=make_editor(), alt="Red").image.width == 400


@pytest.mark.parametrize("kind", ["TIFF", "BMP"])
def test_formats_that_are_not_accepted_are_named(kind: str) -> None:
    with pytest.raises(InvalidImageFile, match=f"{kind} files are not accepted"):
        image_library.upload(sent(image_bytes(kind)), by=make_editor(), alt="A")


def test_a_wrong_extension_is_reported_and_corrected() -> None:
    made = image_library.upload(sent(image_bytes("PNG"), "scan.jpg"), by=make_editor())
    assert "really a PNG image" in made.remark
    assert made.image.original == "original.png"


@pytest.mark.parametrize("written", range(0, 6, 2))
def test_a_full_disk_leaves_nothing_behind(written: int) -> None:
    """The disk is full after so many files."""
    full = OSError(errno.ENOSPC, "No space left on device")
    real, count = FileSystemStorage._save, iter(range(100))  # type: ignore[attr-defined]

    def save(storage: FileSystemStorage, name: str, content: object) -> str:
        if next(count) >= written:
            (Path(storage.location) / name).parent.mkdir(parents=True, exist_ok=True)
            (Path(storage.location) / name).write_bytes(b"half")
            raise full
        return real(storage, name, content)  # type: ignore[no-any-return]

    with mock.patch.object(FileSystemStorage, "_save", save), pytest.raises(NotStored):
        image_library.upload(sent(), by=make_editor())
    assert (stored(), Image.objects.count()) == (set(), 0)


def test_an_image_needs_alt_text_before_it_is_used() -> None:
    editor = make_editor()
    image = image_library.upload(sent(), by=editor).image
    article = make_article(author=editor)
    with pytest.raises(AltMissing):
        publishing.edit(article, by=editor, changes={"body": shown(image)})
    image_library.change_image(image, by=editor, changes={"alt": "Ships"})
    publishing.edit(article, by=editor, changes={"body": shown(image)})
    with pytest.raises(AltMissing):
        image_library.change_image(image, by=editor, changes={"alt": " "})


def test_an_image_in_use_cannot_be_deleted() -> None:
    """R5.7"""
    editor = make_editor()
    image = make_image(editor)
    article = make_article("Bridge", body=shown(image))
    with pytest.raises(ImageInUse, match="Bridge"):
        image_library.delete_image(image, by=editor)
    with pytest.raises(ProtectedError):
        image.delete()
    publishing.edit(article, by=editor, changes={"body": ""})
    image_library.delete_image(image, by=editor)
    assert (stored(), Image.objects.count()) == (set(), 0)
    assert [entry.action for entry in AuditEntry.objects.filter(article_title="harbour")] == [
        "upload",
        "delete_image",
    ]


@pytest.mark.cases(2)
@pytest.mark.parametrize("source", ["service", "form", "deletion", "api", "api list"])
def test_uses_are_listed_without_reading_texts(source: str, client: Client) -> None:
    """A logo is in thousands."""
    editor = make_editor()
    image = make_image(editor)
    make_article("Bridge", body=shown(image))
    client.force_login(editor)
    desk, api = f"/admin/articles/image/{image.pk}/", "/api/v1/desk/images/"
    pages = {"form": f"{desk}change/", "deletion": f"{desk}delete/", "api": f"{api}{image.pk}/", "api list": api}
    with CaptureQueriesContext(connection) as captured:
        if source in pages:
            assert "Bridge" in client.get(pages[source], follow=True).text
        else:
            with pytest.raises(ImageInUse, match="Bridge"):
                image_library.delete_image(image, by=editor)
    assert not any("body" in query["sql"] for query in captured.captured_queries)


def test_images_of_pending_updates_are_in_use() -> None:
    """The approved text, the newer one beside it, and both until one has replaced the other."""
    editor = make_editor()
    old, new = make_image(editor), make_image(editor)
    article = make_article(body=shown(old), status=Article.Status.PUBLISHED)
    publishing.edit(article, by=editor, changes={"body": shown(new)})
    for used in (old, new):
        with pytest.raises(ImageInUse):
            image_library.delete_image(used, by=editor)
    publishing.discard_update(article, by=editor)
    image_library.delete_image(new, by=editor)
    with pytest.raises(UnknownImage):
        publishing.restore_revision(article, number=2, by=editor)
    article.delete()
    image_library.delete_image(old, by=editor)


def test_images_that_a_rollback_restores_are_in_use() -> None:
    editor = make_editor()
    old, new = make_image(editor), make_image(editor)
    article = make_article(body=shown(old), status=Article.Status.PUBLISHED, publish_at=soon(days=-1))
    publishing.edit(article, by=editor, changes={"body": shown(new)})
    publishing.submit(article, by=editor)
    approve(article)
    release = make_release(Article.objects.get(), by=editor)
    releases.publish_release_now(release, by=editor)
    with pytest.raises(ImageInUse):
        image_library.delete_image(old, by=editor)
    releases.roll_back_release(release, by=editor)
    publishing.discard_update(Article.objects.get(), by=editor)
    image_library.delete_image(new, by=editor)
    assert ImageUse.objects.get().image == old


def test_authors_change_and_delete_their_own() -> None:
    author, other, editor = make_member(Role.AUTHOR), make_member(Role.AUTHOR, "ann"), make_member(Role.EDITOR)
    reader = make_member(Role.REVIEWER)
    image = make_image(author)
    for user in (other, reader):
        with pytest.raises(NotAllowed):
            image_library.change_image(image, by=user, changes={"alt": "Mine"})
        with pytest.raises(NotAllowed):
            image_library.delete_image(image, by=user)
    with pytest.raises(NotAllowed):
        image_library.upload(sent(), by=reader)
    image_library.change_image(image, by=editor, changes={"alt": "Cranes"})
    image_library.delete_image(image, by=author)


def test_each_user_has_their_own_favourites() -> None:
    """R5.7"""
    editor, author = make_editor(), make_member(Role.AUTHOR)
    image = make_image(editor)
    image_library.favour(image, by=author, is_favourite=True)
    assert list(author.favourite_images.all()) == [image]
    assert not editor.favourite_images.exists()
    image_library.favour(image, by=author, is_favourite=False)
    assert not author.favourite_images.exists()


def test_the_crop_follows_the_focal_point() -> None:
    editor = make_editor()
    two_colours = PillowImage.new("RGB", (1200, 1200), "blue")
    two_colours.paste("red", (0, 0, 1200, 600))
    file = io.BytesIO()
    two_colours.save(file, "PNG")
    image = image_library.upload(sent(file.getvalue(), "x.png"), by=editor).image
    image_library.change_image(image, by=editor, changes={"focus_x": 50, "focus_y": 0})
    with opened(image, "shared-50-0.jpeg") as cut:
        red, _green, blue = cut.convert("RGB").getpixel((600, 500))  # type: ignore[misc]
        assert red > 200 > 50 > blue
    assert not default_storage.exists(image.path("shared-50-50.jpeg"))
    with pytest.raises(InvalidImage):
        image_library.change_image(image, by=editor, changes={"focus_x": 101})


def test_images_of_approved_articles_cannot_get_sensitive_words() -> None:
    SensitiveWord.objects.create(text="casino", level=SensitiveWord.Level.BLOCK)
    editor = make_editor()
    image = make_image(editor)
    image_library.change_image(image, by=editor, changes={"caption": "The casino"})
    image_library.change_image(image, by=editor, changes={"caption": ""})
    make_article(cover_mode=CoverMode.ONE, cover=[str(image.pk)], status=Article.Status.APPROVED)
    with pytest.raises(InvalidImage, match="casino"):
        image_library.change_image(image, by=editor, changes={"caption": "The casino"})
    image.refresh_from_db()
    assert image.caption == ""


def show_everywhere(image: Image) -> list[Article]:
    """Sixty articles that show it."""
    articles = [make_article(f"No. {number}") for number in range(60)]
    ImageUse.objects.bulk_create([ImageUse(image=image, article=article) for article in articles])
    return articles


@pytest.mark.thorough
def test_uses_are_listed_in_pages_of_50() -> None:
    editor = make_editor()
    image = make_image(editor)
    articles = show_everywhere(image)
    client = Client()
    client.force_login(editor)
    address = f"/admin/articles/image/{image.pk}/change/"
    first, second = client.get(address), client.get(f"{address}?page=2")
    assert list(first.context["uses"]) == articles[:9:-1]
    assert list(second.context["uses"]) == articles[9::-1]
    assert 'href="?page=2"' in first.content.decode()
    assert not first.context["show_delete"]


def test_the_api_lists_the_uses_of_an_image_in_pages() -> None:
    editor = make_editor()
    image = make_image(editor)
    articles = show_everywhere(image)
    client = APIClient()
    client.force_authenticate(editor)
    newest = [article.pk for article in reversed(articles)]
    address = f"/api/v1/desk/images/{image.pk}/"
    assert [user["id"] for user in client.get(address).json()["used_in"]] == newest[:50]
    first = client.get(f"{address}uses/?page_size=50").json()
    second = client.get(first["next"]).json()
    assert [user["id"] for page in (first, second) for user in page["results"]] == newest
    assert second["next"] is None
