"""Media of other hosts: refused in texts, and loaded by no page unless a setting allows the host."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from articles.models import Article
from articles.publishing.previews import make_preview_link
from tests.articles.factories import make_article, make_editor
from tests.articles.image_files import make_image, shown

pytestmark = pytest.mark.django_db

DESK = "/api/v1/desk/articles/"
FOREIGN = [
    '<p>x</p><img src="https://evil.example/a.png" alt="x">',
    '<video poster="//evil.example/p.png" controls></video>',
    '<picture><source src="https://evil.example/a.webp"></picture>',
    '<audio src="https:\\\\evil.example/a.mp3"></audio>',
]


@pytest.fixture
def alice() -> User:
    return make_editor()


@pytest.fixture
def desk(alice: User) -> Client:
    client = Client()
    client.force_login(alice)
    return client


def sources(client: Client, address: str, directive: str = "img-src") -> list[str]:
    policy = client.get(address)["Content-Security-Policy"].split("; ")
    return next(one.split()[1:] for one in policy if one.startswith(f"{directive} "))


@pytest.mark.parametrize("body", FOREIGN)
def test_media_of_another_host_are_refused_unless_a_setting_allows_it(desk: Client, settings: Any, body: str) -> None:
    refused = desk.post(DESK, {"title": "Bridge", "body": body}, "application/json")
    assert (refused.status_code, refused.json()["code"]) == (400, "foreign_media")
    article = make_article("Bridge", body="<p>x</p>", author=User.objects.get())
    assert desk.patch(f"{DESK}{article.pk}/", {"body": body}, "application/json").status_code == 400
    settings.FOREIGN_MEDIA_HOSTS = ["evil.example"]
    assert desk.patch(f"{DESK}{article.pk}/", {"body": body}, "application/json").status_code == 200


def test_own_media_and_links_are_allowed_and_old_ones_stay(desk: Client, alice: User) -> None:
    body = f'{shown(make_image(alice))}<p><a href="https://evil.example/">x</a></p>'
    assert desk.post(DESK, {"title": "Bridge", "body": body}, "application/json").status_code == 201
    imported = make_article("Imported", body=FOREIGN[0], author=alice)
    longer = {"body": f"{FOREIGN[0]}<p>More</p>"}
    assert desk.patch(f"{DESK}{imported.pk}/", longer, "application/json").status_code == 200


def test_pages_load_media_of_the_site_and_previews_nothing_else(desk: Client, alice: User, settings: Any) -> None:
    article = make_article("Bridge", author=alice)
    link = make_preview_link(article, by=alice, lasts=timedelta(days=1)).get_absolute_url()
    previews = [link, f"/admin/articles/article/{article.pk}/preview/"]
    assert sources(desk, "/admin/articles/article/") == ["'self'", "data:", "blob:"]
    for address in ["/", *previews]:
        assert (sources(desk, address), sources(desk, address, "media-src")) == (["'self'", "data:"], ["'self'"])
    settings.FOREIGN_MEDIA_HOSTS, settings.MEDIA_URL = ["old.example"], "https://files.example/media/"
    assert sources(desk, "/") == ["'self'", "https://files.example", "old.example", "data:"]
    for address in previews:
        assert sources(desk, address) == ["'self'", "https://files.example", "data:"]
        assert sources(desk, address, "frame-src") == ["'none'"]
    assert Article.objects.count() == 1
