"""Access to images: readers while a live article shows it, staff always, others by a valid preview link."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from http import HTTPStatus
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from articles import publishing
from articles.cache.backend import responses
from articles.models import Article, Channel, Image, PreviewLink, Text
from articles.publishing.previews import make_preview_link, revoke_preview_link
from articles.site.sitemaps import SECTION
from headline.api.models import Scope
from headline.api.tokens import issue
from tests.articles.desk.articles.test_changelist import logged_in
from tests.articles.factories import APPROVED, make_article, make_editor, make_user, soon
from tests.articles.image_files import make_image, shown
from tests.harness import eventually

pytestmark = pytest.mark.django_db(transaction=True)

Status = Article.Status


@pytest.fixture(autouse=True)
def _cached_for_a_minute(settings: Any) -> None:
    """As with Redis, whichever cache the tests run on."""
    settings.PAGE_CACHE_SECONDS = 60.0


@pytest.fixture
def alice() -> User:
    return make_editor()


@pytest.fixture
def image(alice: User) -> Image:
    return make_image(alice)


def article_with(image: Image, **values: Any) -> Article:
    channel = Channel.objects.get_or_create(name="Politics")[0]
    values = {"status": Status.PUBLISHED, "publish_at": soon(hours=-1), "published_at": soon(hours=-1), **values}
    return make_article("Harbour bridge reopens", body=shown(image), channel=channel, **values)


def fetch(image: Image, name: str = "320.webp", client: Client | None = None, **headers: str) -> Any:
    """The response for one of its files."""
    response: Any = (client or Client()).get(f"/media/{image.path(name)}", headers=headers)
    response.text_length = len(b"".join(response.streaming_content)) if response.streaming else len(response.content)
    response.close()
    return response


def statuses(image: Image, client: Client | None = None) -> set[int]:
    """The status of the response for each of its files."""
    return {fetch(image, name, client).status_code for name in image.names}


SEEN, HIDDEN = {HTTPStatus.OK}, {HTTPStatus.NOT_FOUND}


def test_an_unused_image_is_visible_to_staff_only(image: Image, alice: User) -> None:
    assert statuses(image) == HIDDEN
    assert statuses(image, logged_in(alice)) == SEEN


@pytest.mark.parametrize(
    "values",
    [
        {"status": Status.DRAFT},
        {"status": Status.MANUAL_REVIEW},
        {"status": APPROVED, "publish_at": timedelta(hours=1)},
        {"status": APPROVED, "embargo_until": timedelta(hours=1)},
        {"unpublish_at": timedelta(minutes=-1)},
        {"status": Status.UNPUBLISHED},
        {"status": Status.RETRACTED, "retraction_notice": "All wrong."},
    ],
    ids=["draft", "in review", "waiting", "embargo", "over", "unpublished", "retracted"],
)
def test_images_of_hidden_articles_are_not_served(image: Image, values: dict[str, Any]) -> None:
    now = soon()
    article_with(
        image, **{name: now + value if isinstance(value, timedelta) else value for name, value in values.items()}
    )
    assert statuses(image) == HIDDEN
    response = fetch(image)
    assert response["Cache-Control"] == "private, no-store"


def unpublish(article: Article, by: User) -> None:
    publishing.unpublish(article, by=by)


def retract(article: Article, by: User) -> None:
    publishing.retract(article, by=by, notice="It was all wrong.")


def delete(article: Article, by: User) -> None:
    article.delete()


def take_image_out(article: Article, by: User) -> None:
    article.body = "<p>Without it</p>"
    article.save()


@pytest.mark.parametrize("transition", [unpublish, retract, delete, take_image_out])
def test_an_image_url_stops_when_no_live_article_shows_it(
    image: Image, alice: User, transition: Callable[[Article, User], None]
) -> None:
    article = article_with(image)
    assert statuses(image) == SEEN
    transition(article, alice)
    assert statuses(image) == HIDDEN
    assert fetch(image, if_none_match="*").status_code == HTTPStatus.NOT_FOUND
    assert statuses(image, logged_in(alice)) == SEEN


def test_an_image_appears_and_disappears_with_its_article_by_the_clock(image: Image) -> None:
    moment = soon(seconds=1)
    article = article_with(image, status=APPROVED, publish_at=moment, unpublish_at=moment + timedelta(seconds=1))
    assert statuses(image) == HIDDEN or soon() >= moment
    eventually(lambda: article.title in Client().get("/").text)
    assert statuses(image) == SEEN or soon() >= moment + timedelta(seconds=1)
    eventually(lambda: statuses(image) == HIDDEN)


def test_an_image_of_two_articles_stays_while_one_of_them_is_live(image: Image, alice: User) -> None:
    first, second = article_with(image), article_with(image)
    assert statuses(image) == SEEN
    publishing.unpublish(first, by=alice)
    assert statuses(image) == SEEN
    publishing.unpublish(second, by=alice)
    assert statuses(image) == HIDDEN


def test_an_image_of_a_pending_update_is_not_public(image: Image, alice: User) -> None:
    article = make_article(
        "Harbour bridge reopens", status=Status.PUBLISHED, publish_at=soon(hours=-1), published_at=soon(hours=-1)
    )
    publishing.edit(article, by=alice, changes={"body": shown(image)})
    assert article.image_uses.filter(image=image).exists()
    assert statuses(image) == HIDDEN


def test_a_cover_counts_as_shown(image: Image) -> None:
    article_with(make_image(make_editor("bob")), cover_mode="one", cover=[str(image.pk)])
    assert statuses(image) == SEEN


def test_what_is_public_costs_no_statement_the_second_time_and_304_when_known(image: Image) -> None:
    article = article_with(image)
    first = fetch(image)
    with CaptureQueriesContext(connection) as queries:
        again = fetch(image)
        known = fetch(image, if_none_match=first["ETag"])
    assert len(queries) == 0
    assert (again.status_code, known.status_code) == (HTTPStatus.OK, HTTPStatus.NOT_MODIFIED)
    assert f"article:{article.pk}" in first["Surrogate-Key"].split()
    assert not first.cookies and "Cookie" not in first.get("Vary", "")


def test_browsers_and_proxies_cache_it_for_a_short_time_and_other_sites_may_embed_it(
    image: Image, settings: Any, alice: User
) -> None:
    article = article_with(image)
    response = fetch(image, image.original)
    assert response["Cache-Control"] == "public, max-age=60, s-maxage=0"
    assert response["Cross-Origin-Resource-Policy"] == "cross-origin"
    settings.CDN_PURGE_URLS = ["http://127.0.0.1:1/"]
    assert fetch(image, image.original)["Cache-Control"] == "public, max-age=60, s-maxage=1"
    publishing.unpublish(article, by=alice)
    response = fetch(image, client=logged_in(alice))
    assert (response["Cache-Control"], response["Cross-Origin-Resource-Policy"]) == ("private, no-store", "same-origin")


def test_no_header_says_when_something_is_scheduled(image: Image, settings: Any) -> None:
    article = article_with(image)

    def headers() -> list[dict[str, str]]:
        responses.clear()
        return [dict(fetch(image).headers), *(dict(Client().get(url).headers) for url in ("/", "/feed/", page))]

    page = article.get_absolute_url()
    for settings.CDN_PURGE_URLS in ([], ["http://127.0.0.1:1/"]):
        before = headers()
        for seconds in (50, 40, 30):
            make_article("Coming", status=Status.APPROVED, publish_at=soon(seconds=seconds))
            assert [one["Cache-Control"] for one in headers()] == [one["Cache-Control"] for one in before]
            assert [one.get("Expires") for one in headers()] == [None] * len(before)


@pytest.mark.parametrize(("rights", "is_seen"), [(["view_image"], True), (["view_article"], False), ([], False)])
def test_staff_need_the_permission_for_the_image_library(image: Image, rights: list[str], is_seen: bool) -> None:
    assert statuses(image, logged_in(make_user("bob", *rights))) == (SEEN if is_seen else HIDDEN)


def test_a_deactivated_user_does_not_see_it(image: Image, alice: User) -> None:
    client = logged_in(alice)
    assert statuses(image, client) == SEEN
    User.objects.update(is_staff=False)
    assert statuses(image, client) == HIDDEN


def test_an_api_token_gives_access(image: Image, alice: User) -> None:
    for scopes, status in [((Scope.DESK_READ,), HTTPStatus.OK), ((Scope.TASKS_READ,), HTTPStatus.NOT_FOUND)]:
        _token, secret = issue(alice, by=alice, name="Layout", scopes=scopes)
        assert fetch(image, authorization=f"Token {secret}").status_code == status
    assert fetch(image, authorization="Token wrong").status_code == HTTPStatus.NOT_FOUND


@pytest.mark.cases(1)
@pytest.mark.parametrize("of_revision", [None, 1])
def test_a_preview_link_gives_access_to_its_images_until_it_is_revoked(
    image: Image, alice: User, of_revision: int | None
) -> None:
    article = article_with(image, status=Status.DRAFT, publish_at=None, published_at=None)
    other = make_image(alice)
    link = make_preview_link(article, by=alice, lasts=timedelta(days=1), revision=of_revision)
    guest = Client()
    assert statuses(image, guest) == HIDDEN
    assert image.preview in guest.get(link.get_absolute_url()).text
    assert statuses(image, guest) == SEEN
    assert statuses(other, guest) == HIDDEN
    assert fetch(image, client=guest)["Cache-Control"] == "private, no-store"
    revoke_preview_link(link, by=alice)
    assert statuses(image, guest) == HIDDEN


@pytest.mark.thorough
def test_two_previews_in_one_browser_both_show_their_images(image: Image, alice: User) -> None:
    other, guest = make_image(alice), Client()
    for one in (image, other):
        draft = article_with(one, status=Status.DRAFT, publish_at=None, published_at=None)
        guest.get(make_preview_link(draft, by=alice, lasts=timedelta(days=1)).get_absolute_url())
    assert statuses(image, guest) == statuses(other, guest) == SEEN


def test_expired_and_forged_links_give_no_access(image: Image, alice: User) -> None:
    article = article_with(image, status=Status.DRAFT, publish_at=None, published_at=None)
    link, guest = make_preview_link(article, by=alice, lasts=timedelta(days=1)), Client()
    guest.get(link.get_absolute_url())
    for name in list(guest.cookies):
        forged = Client()
        forged.cookies[name] = f"{link.pk}.forged"
        assert statuses(image, forged) == HIDDEN
    PreviewLink.objects.update(expires_at=soon(seconds=-1))
    assert statuses(image, guest) == HIDDEN


def test_nginx_serves_the_file_after_the_permission_check(image: Image, settings: Any) -> None:
    settings.MEDIA_ACCEL_REDIRECT = "/protected/"
    assert statuses(image) == HIDDEN
    article_with(image)
    response = fetch(image)
    assert response["X-Accel-Redirect"] == f"/protected/{image.path('320.webp')}"
    assert (response.text_length, response["Content-Type"]) == (0, "image/webp")


def test_images_are_served_on_every_page_that_shows_them(image: Image) -> None:
    article = article_with(image, cover_mode="one", cover=[str(image.pk)])
    for address in (
        "/",
        article.get_absolute_url(),
        "/feed/",
        f"/sitemap-{article.pk // SECTION}.xml",
        f"/api/v1/articles/{article.pk}/",
    ):
        assert f"/media/{image.pk}/" in Client().get(address).text, address
    assert statuses(image) == SEEN
    assert Text.of(article).shown == [str(image.pk)]
