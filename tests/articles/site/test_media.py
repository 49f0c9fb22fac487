"""Serving images: over HTTP behind gunicorn, and from a bucket on a real S3 server."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.request import urlopen
from uuid import uuid4

import boto3
import pytest
from django.core.files.storage import default_storage
from django.test import Client
from django.urls import reverse
from moto.server import ThreadedMotoServer

from articles import images
from articles.exceptions import NotStored
from articles.models import Article, Image
from headline.bucket import LIMITS
from headline.env import WrongEnvironment
from headline.media import accel_redirect, storage
from tests.articles.factories import make_article, make_editor, soon
from tests.articles.image_files import image_bytes, make_image, sent, shown
from tests.conftest import Manage, Site
from tests.harness import free_port

pytestmark = pytest.mark.django_db(transaction=True)


@dataclass(frozen=True)
class Bucket:
    """A bucket, and the value of `MEDIA_STORAGE` that leads to it."""

    server: ThreadedMotoServer
    objects: Any
    address: str


@pytest.fixture
def bucket() -> Iterator[Bucket]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    url = "http://{}:{}".format(*server.get_host_and_port())
    keys = {"aws_access_key_id": "key", "aws_secret_access_key": "s/ecret", "region_name": "eu-central-1"}
    name = f"images-{uuid4()}"  # what is in the buckets outlives the server
    objects = boto3.resource("s3", endpoint_url=url, **keys).Bucket(name)
    objects.create(CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
    yield Bucket(server, objects, f"s3://key:s%2Fecret@{name}/desk?endpoint={url}&region=eu-central-1")
    server.stop()


@pytest.fixture
def in_bucket(bucket: Bucket, settings: Any) -> Bucket:
    """Images are stored in the bucket."""
    media = storage("MEDIA_STORAGE", bucket.address)
    settings.STORAGES = {**settings.STORAGES, "default": media.backend}
    return bucket


def test_images_are_served_behind_gunicorn(site: Site) -> None:
    """R5.7"""
    image = make_image(make_editor())
    make_article(body=shown(image), status=Article.Status.PUBLISHED, publish_at=soon(hours=-1))
    for name in image.names:
        with urlopen(f"{site.url}{image.address(name)}") as response:
            assert response.read() == image.read(name)
        assert response.headers["Content-Type"] == f"image/{name.rpartition('.')[2]}"
        assert response.headers["Cache-Control"] == "public, max-age=60, s-maxage=0"
        assert response.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("name", ["320.html", "..%2f..%2fheadline.sqlite3", "missing.webp", "320.webp%00.html"])
def test_nothing_else_is_served(name: str, client: Client) -> None:
    image = make_image(make_editor())
    assert client.get(f"/media/{image.pk}/{name}").status_code == 404
    assert client.get(f"/media/{uuid4()}/320.webp").status_code == 404
    assert client.get("/media/").status_code == 404


def test_images_can_be_stored_in_a_bucket(in_bucket: Bucket, client: Client) -> None:
    """R5.7"""
    editor = make_editor()
    image = make_image(editor)
    stored = {item.key: item.Object() for item in in_bucket.objects.objects.all()}
    assert stored.keys() == {f"desk/{image.path(name)}" for name in image.names}
    smallest = stored[f"desk/{image.pk}/320.webp"]
    assert (smallest.content_type, smallest.cache_control) == ("image/webp", "public, max-age=3600")
    client.force_login(editor)
    response = client.get(image.thumbnail)
    assert b"".join(response.streaming_content) == smallest.get()["Body"].read()  # type: ignore[attr-defined]
    assert client.get(image.address("missing.webp")).status_code == 404
    images.change_image(image, by=editor, changes={"focus_x": 10})
    assert image.shared in {item.key.rpartition("/")[2] for item in in_bucket.objects.objects.all()}
    images.delete_image(image, by=editor)
    assert list(in_bucket.objects.objects.all()) == []


def test_an_unreachable_bucket_leaves_no_files(in_bucket: Bucket, settings: Any) -> None:
    in_bucket.objects.delete()
    with pytest.raises(NotStored):
        images.upload(sent(image_bytes()), by=make_editor())
    assert not Image.objects.exists()


def test_an_unreachable_bucket_is_named_to_editors_and_readers(
    client: Client, settings: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """By a sentence, also when the focal point changes, which writes another crop; readers' requests are one line."""
    editor = make_editor()
    image = make_image(editor)
    monkeypatch.setitem(LIMITS, "retries", {"total_max_attempts": 1})
    media = storage("MEDIA_STORAGE", f"s3://key:secret@images?endpoint=http://127.0.0.1:{free_port()}&region=eu")
    settings.STORAGES = {**settings.STORAGES, "default": media.backend}
    client.force_login(editor)
    posts = {
        reverse("admin:articles_image_upload"): {"file": sent(image_bytes(colour="red"))},
        reverse("admin:articles_image_focus", args=[image.pk]): {"focus_x": 10, "focus_y": 10},
    }
    for address, values in posts.items():
        response = client.post(address, values)
        assert (response.status_code, response.json()) == (507, {"error": str(NotStored())}), address
    change = reverse("admin:articles_image_change", args=[image.pk])
    page = client.post(change, {"alt": image.alt, "title": image.title, "focus_x": 10, "focus_y": 10})
    assert str(NotStored()) in page.content.decode()
    address = f"/api/v1/desk/images/{image.pk}/"
    response = client.patch(address, {"focus_x": 10}, content_type="application/json")
    assert (response.status_code, response.json()["code"]) == (507, "not_stored")
    caplog.clear()
    responses = [client.get(image.thumbnail) for _ in range(3)]
    assert [record.name for record in caplog.records] == ["articles.site.media"]
    response = responses[-1]
    assert (response.status_code, response["Retry-After"], response["Cache-Control"]) == (
        503,
        "10",
        "private, no-store",
    )
    assert Image.objects.get().focus_x == 50


def test_a_bucket_that_does_not_respond_is_given_up_within_seconds(in_bucket: Bucket) -> None:
    config = default_storage.connection.meta.client.meta.config  # type: ignore[attr-defined]
    assert max(config.connect_timeout, config.read_timeout) <= 15
    assert config.retries["total_max_attempts"] == 2


@pytest.mark.thorough
def test_the_variable_reaches_the_storage(manage: Manage) -> None:
    code = "from django.core.files.storage import default_storage as s; print(s.bucket_name, s.location, s.access_key)"
    done = manage("shell", "--no-imports", "--command", code, env={"MEDIA_STORAGE": "s3://me:secret@images/desk"})
    assert done.stdout.split() == ["images", "desk", "me"]
    done = manage("check", env={"MEDIA_STORAGE": "s3://"})
    assert (done.returncode, "MEDIA_STORAGE has an unknown format: write s3://" in done.stderr) == (1, True)


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ("/srv/images", "has an unknown format"),
        ("gs://images", "has an unknown format"),
        ("s3://key@images", "has an unknown format"),
        ("s3://images?acl=public", "has the unknown option 'acl'"),
        ("s3://images?endpoint=localhost:9000", "has the endpoint 'localhost:9000': begin it with https://"),
        ("s3://images?public", "is no address"),
        ("s3://[images", "is no address"),
    ],
)
def test_a_wrong_storage_stops_the_start(value: str, fault: str) -> None:
    with pytest.raises(WrongEnvironment, match="MEDIA_STORAGE") as refusal:
        storage("MEDIA_STORAGE", value)
    assert fault in str(refusal.value)


def test_browsers_are_redirected_to_public_images(settings: Any) -> None:
    media = storage("MEDIA_STORAGE", "s3://images?public=https://cdn.example.org/news/")
    settings.MEDIA_URL = media.url
    image = make_image(make_editor())
    assert image.thumbnail == f"https://cdn.example.org/news/{image.pk}/320.webp"


@pytest.mark.parametrize(("value", "path"), [("", ""), ("/protected", "/protected/"), ("/a/b/", "/a/b/")])
def test_the_internal_location_of_a_web_server_ends_with_a_slash(value: str, path: str) -> None:
    assert accel_redirect("MEDIA_ACCEL_REDIRECT", value) == path


@pytest.mark.parametrize("value", ["protected", "https://example.org/", "/a b/", "/"])
def test_an_invalid_internal_location_stops_the_start(value: str) -> None:
    with pytest.raises(WrongEnvironment, match="MEDIA_ACCEL_REDIRECT"):
        accel_redirect("MEDIA_ACCEL_REDIRECT", value)
