"""Media of other hosts: refused in texts, and loaded by no page unless a setting allows the host."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from articles.models import Article, Image
from articles.publishing.foreign_media import MOST_COPIED
from articles.publishing.previews import make_preview_link
from tests.articles.factories import make_article, make_editor, make_user
from tests.articles.image_files import make_image, shown
from tests.articles.images.test_fetch import server

pytestmark = pytest.mark.django_db
__all__ = ["server"]

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


@pytest.fixture
def copying(settings: Any, server: str) -> str:
    settings.FOREIGN_MEDIA, settings.SITE_URL = "copy", "https://news.example"
    return server


def test_images_of_other_hosts_are_copied_on_saving(desk: Client, copying: str) -> None:
    one = f'<p>Look</p><img src="{copying}/a.png?x=1&amp;y=2" alt="Ships &amp; cranes">'
    two = f'{one}<img src="{copying}/near" alt="Too">'
    created = desk.post(DESK, {"title": "Bridge", "body": two}, "application/json")
    assert created.status_code == 201, created.text
    image, article = Image.objects.get(), Article.objects.get()
    assert (image.alt, article.body.count(image.in_texts), copying in article.body) == ("Ships & cranes", 2, False)
    assert 'alt="Ships &amp; cranes"' in article.body
    again = {"body": f'{article.body}<p>More</p><img src="{copying}/a.png" alt="x">'}
    tag = desk.get(f"{DESK}{article.pk}/")["ETag"]
    changed = desk.patch(f"{DESK}{article.pk}/", again, "application/json", headers={"If-Match": tag})
    assert (changed.status_code, changed.json()["body"].count(image.in_texts)) == (200, 3)


def test_the_form_copies_images_and_keeps_the_text_when_one_fails(desk: Client, alice: User, copying: str) -> None:
    form = {"title": "Bridge", "author": alice.pk, "summary": "", "window": "w" * 32}
    body = f'<p>Long text</p><img src="{copying}/none" alt="Ships">'
    refused = desk.post("/admin/articles/article/add/", {**form, "body": body})
    assert (refused.status_code, Article.objects.count()) == (200, 0)
    assert f"{copying}/none could not be copied" in refused.text
    assert "Long text" in refused.context["adminform"].form["body"].value()
    done = desk.post("/admin/articles/article/add/", {**form, "body": body.replace("none", "a.png")})
    assert (done.status_code, Image.objects.get().in_texts in Article.objects.get().body) == (302, True)


def test_only_images_of_users_who_may_write_are_fetched(copying: str) -> None:
    article = make_article("Bridge", body="<p>x</p>", author=make_editor("bob"))
    client = Client()
    client.force_login(make_user("reader", "view_article"))
    body = {"body": f'<img src="{copying}/a.png" alt="x">'}
    assert client.patch(f"{DESK}{article.pk}/", body, "application/json").status_code == 403
    client.post(f"/admin/articles/article/{article.pk}/change/", {"title": "x", **body})
    assert not Image.objects.exists()


def test_what_is_no_image_or_not_public_or_too_much_is_refused(desk: Client, copying: str, settings: Any) -> None:
    for address in ("http://127.0.0.2/a.png", "//169.254.169.254/a.png"):
        refused = desk.post(DESK, {"title": "x", "body": f'<img src="{address}" alt="x">'}, "application/json")
        assert (refused.json()["code"], address in refused.text) == ("foreign_media", True)
    film = desk.post(DESK, {"title": "x", "body": f'<video src="{copying}/a.mp4"></video>'}, "application/json")
    assert film.json()["code"] == "foreign_media"
    many = "".join(f'<img src="{copying}/a.png?{number}" alt="x">' for number in range(MOST_COPIED + 1))
    too_many = desk.post(DESK, {"title": "x", "body": many}, "application/json")
    assert (too_many.status_code, "more than 20 images" in too_many.text) == (400, True)
    assert not (Article.objects.exists() or Image.objects.exists())


def test_an_image_that_a_text_showed_before_may_stay_where_it_is(desk: Client, alice: User, copying: str) -> None:
    body = f'<img src="{copying}/none" alt="x">'
    imported = make_article("Imported", body=body, author=alice)
    assert desk.patch(f"{DESK}{imported.pk}/", {"body": f"{body}<p>More</p>"}, "application/json").status_code == 200
