"""Who sees a picture: readers while something live shows it, the newsroom always, others while their link is open."""

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
from articles.models import Article, Channel, Material, PreviewLink, Text
from articles.publishing.previews import make_preview_link, revoke_preview_link
from articles.site.sitemaps import SECTION
from headline.api.models import Scope
from headline.api.tokens import issue
from tests.articles.desk.articles.test_changelist import logged_in
from tests.articles.factories import APPROVED, make_article, make_editor, make_person, soon
from tests.articles.image_files import make_material, shown
from tests.harness import eventually

pytestmark = pytest.mark.django_db(transaction=True)

Status = Article.Status


@pytest.fixture(autouse=True)
def _kept_for_a_minute(settings: Any) -> None:
    """As with Redis, whichever cache the tests run on."""
    settings.PAGE_CACHE_SECONDS = 60.0


@pytest.fixture
def alice() -> User:
    return make_editor()


@pytest.fixture
def material(alice: User) -> Material:
    return make_material(alice)


def article_with(material: Material, **values: Any) -> Article:
    channel = Channel.objects.get_or_create(name="Politics")[0]
    values = {"status": Status.PUBLISHED, "publish_at": soon(hours=-1), "published_at": soon(hours=-1), **values}
    return make_article("Harbour bridge reopens", body=shown(material), channel=channel, **values)


def fetch(material: Material, name: str = "320.webp", client: Client | None = None, **headers: str) -> Any:
    """The answer to whoever asks for one of its files."""
    answer: Any = (client or Client()).get(f"/media/{material.path(name)}", headers=headers)
    answer.text_length = len(b"".join(answer.streaming_content)) if answer.streaming else len(answer.content)
    answer.close()
    return answer


def statuses(material: Material, client: Client | None = None) -> set[int]:
    """What asking for each of its files is answered."""
    return {fetch(material, name, client).status_code for name in material.names}


SEEN, HIDDEN = {HTTPStatus.OK}, {HTTPStatus.NOT_FOUND}


def test_a_picture_that_nothing_shows_is_for_the_newsroom_alone(material: Material, alice: User) -> None:
    assert statuses(material) == HIDDEN
    assert statuses(material, logged_in(alice)) == SEEN


@pytest.mark.parametrize(
    "values",
    [
        {"status": Status.DRAFT},
        {"status": Status.MANUAL_REVIEW},
        {"status": APPROVED, "publish_at": timedelta(hours=1)},
        {"status": APPROVED, "embargo_until": timedelta(hours=1)},
        {"unpublish_at": timedelta(minutes=-1)},
        {"status": Status.WITHDRAWN},
        {"status": Status.KILLED, "kill_notice": "All wrong."},
    ],
    ids=["draft", "in review", "waiting", "embargo", "over", "unpublished", "retracted"],
)
def test_pictures_of_what_readers_may_not_see_are_not_served(material: Material, values: dict[str, Any]) -> None:
    """S14"""
    now = soon()
    article_with(
        material, **{name: now + value if isinstance(value, timedelta) else value for name, value in values.items()}
    )
    assert statuses(material) == HIDDEN
    answer = fetch(material)
    assert answer["Cache-Control"] == "private, no-store"


def unpublish(article: Article, by: User) -> None:
    publishing.withdraw(article, by=by)


def retract(article: Article, by: User) -> None:
    publishing.kill(article, by=by, notice="It was all wrong.")


def delete(article: Article, by: User) -> None:
    article.delete()


def take_picture_out(article: Article, by: User) -> None:
    article.body = "<p>Without it</p>"
    article.save()


@pytest.mark.parametrize("step", [unpublish, retract, delete, take_picture_out])
def test_an_address_stops_with_what_showed_its_picture(
    material: Material, alice: User, step: Callable[[Article, User], None]
) -> None:
    """S14"""
    article = article_with(material)
    assert statuses(material) == SEEN
    step(article, alice)
    assert statuses(material) == HIDDEN
    assert fetch(material, if_none_match="*").status_code == HTTPStatus.NOT_FOUND
    assert statuses(material, logged_in(alice)) == SEEN


def test_a_picture_comes_and_goes_by_the_clock_with_its_article(material: Material) -> None:
    moment = soon(seconds=1)
    article = article_with(material, status=APPROVED, publish_at=moment, unpublish_at=moment + timedelta(seconds=1))
    assert statuses(material) == HIDDEN or soon() >= moment
    eventually(lambda: article.title in Client().get("/").text)
    assert statuses(material) == SEEN or soon() >= moment + timedelta(seconds=1)
    eventually(lambda: statuses(material) == HIDDEN)


def test_a_picture_of_two_articles_stays_while_one_of_them_is_live(material: Material, alice: User) -> None:
    first, second = article_with(material), article_with(material)
    assert statuses(material) == SEEN
    publishing.withdraw(first, by=alice)
    assert statuses(material) == SEEN
    publishing.withdraw(second, by=alice)
    assert statuses(material) == HIDDEN


def test_a_picture_of_a_pending_update_of_a_live_article_is_not_public(material: Material, alice: User) -> None:
    article = make_article(
        "Harbour bridge reopens", status=Status.PUBLISHED, publish_at=soon(hours=-1), published_at=soon(hours=-1)
    )
    publishing.edit(article, by=alice, changes={"body": shown(material)})
    assert article.material_uses.filter(material=material).exists()
    assert statuses(material) == HIDDEN


def test_a_cover_counts_as_shown(material: Material) -> None:
    article_with(make_material(make_editor("bob")), cover_mode="one", cover=[str(material.pk)])
    assert statuses(material) == SEEN


def test_what_is_public_costs_no_statement_the_second_time_and_304_when_known(material: Material) -> None:
    article = article_with(material)
    first = fetch(material)
    with CaptureQueriesContext(connection) as queries:
        again = fetch(material)
        known = fetch(material, if_none_match=first["ETag"])
    assert len(queries) == 0
    assert (again.status_code, known.status_code) == (HTTPStatus.OK, HTTPStatus.NOT_MODIFIED)
    assert f"article:{article.pk}" in first["Surrogate-Key"].split()
    assert not first.cookies and "Cookie" not in first.get("Vary", "")


def test_browsers_and_proxies_keep_it_for_a_short_time_and_other_sites_may_embed_it(
    material: Material, settings: Any, alice: User
) -> None:
    article = article_with(material)
    answer = fetch(material, material.original)
    seconds = int(answer["Cache-Control"].removeprefix("public, max-age="))
    assert 0 <= seconds <= 60
    assert answer["Cross-Origin-Resource-Policy"] == "cross-origin"
    settings.CDN_PURGE_URLS = ["http://127.0.0.1:1/"]
    assert "s-maxage=" in fetch(material, material.original)["Cache-Control"]
    publishing.withdraw(article, by=alice)
    answer = fetch(material, client=logged_in(alice))
    assert (answer["Cache-Control"], answer["Cross-Origin-Resource-Policy"]) == ("private, no-store", "same-origin")


@pytest.mark.parametrize(("rights", "is_seen"), [(["view_material"], True), (["view_article"], False), ([], False)])
def test_of_the_staff_those_see_it_who_may_see_the_image_library(
    material: Material, rights: list[str], is_seen: bool
) -> None:
    assert statuses(material, logged_in(make_person("bob", *rights))) == (SEEN if is_seen else HIDDEN)


def test_a_member_who_left_sees_it_no_more(material: Material, alice: User) -> None:
    client = logged_in(alice)
    assert statuses(material, client) == SEEN
    User.objects.update(is_staff=False)
    assert statuses(material, client) == HIDDEN


def test_programs_of_the_newsroom_see_it_by_their_token(material: Material, alice: User) -> None:
    for scopes, status in [((Scope.DESK_READ,), HTTPStatus.OK), ((Scope.TASKS_READ,), HTTPStatus.NOT_FOUND)]:
        _token, secret = issue(alice, by=alice, name="Layout", scopes=scopes)
        assert fetch(material, authorization=f"Token {secret}").status_code == status
    assert fetch(material, authorization="Token wrong").status_code == HTTPStatus.NOT_FOUND


@pytest.mark.parametrize("of_revision", [None, 1])
def test_who_opened_a_preview_link_sees_its_pictures_until_it_is_revoked(
    material: Material, alice: User, of_revision: int | None
) -> None:
    """S14"""
    article = article_with(material, status=Status.DRAFT, publish_at=None, published_at=None)
    other = make_material(alice)
    link = make_preview_link(article, by=alice, lasts=timedelta(days=1), revision=of_revision)
    guest = Client()
    assert statuses(material, guest) == HIDDEN
    assert material.preview in guest.get(link.get_absolute_url()).text
    assert statuses(material, guest) == SEEN
    assert statuses(other, guest) == HIDDEN
    assert fetch(material, client=guest)["Cache-Control"] == "private, no-store"
    revoke_preview_link(link, by=alice)
    assert statuses(material, guest) == HIDDEN


def test_two_previews_in_one_browser_both_have_their_pictures(material: Material, alice: User) -> None:
    other, guest = make_material(alice), Client()
    for picture in (material, other):
        draft = article_with(picture, status=Status.DRAFT, publish_at=None, published_at=None)
        guest.get(make_preview_link(draft, by=alice, lasts=timedelta(days=1)).get_absolute_url())
    assert statuses(material, guest) == statuses(other, guest) == SEEN


def test_a_link_that_ended_and_a_forged_one_show_nothing(material: Material, alice: User) -> None:
    article = article_with(material, status=Status.DRAFT, publish_at=None, published_at=None)
    link, guest = make_preview_link(article, by=alice, lasts=timedelta(days=1)), Client()
    guest.get(link.get_absolute_url())
    for name in list(guest.cookies):
        forged = Client()
        forged.cookies[name] = f"{link.pk}.forged"
        assert statuses(material, forged) == HIDDEN
    PreviewLink.objects.update(expires_at=soon(seconds=-1))
    assert statuses(material, guest) == HIDDEN


def test_nginx_is_told_where_the_file_lies_once_it_may_be_seen(material: Material, settings: Any) -> None:
    settings.MEDIA_ACCEL_REDIRECT = "/protected/"
    assert statuses(material) == HIDDEN
    article_with(material)
    answer = fetch(material)
    assert answer["X-Accel-Redirect"] == f"/protected/{material.path('320.webp')}"
    assert (answer.text_length, answer["Content-Type"]) == (0, "image/webp")


def test_wherever_readers_meet_a_picture_it_is_there(material: Material) -> None:
    article = article_with(material, cover_mode="one", cover=[str(material.pk)])
    for address in (
        "/",
        article.get_absolute_url(),
        "/feed/",
        f"/sitemap-{article.pk // SECTION}.xml",
        f"/api/v1/articles/{article.pk}/",
    ):
        assert f"/media/{material.pk}/" in Client().get(address).text, address
    assert statuses(material) == SEEN
    assert Text.of(article).shown == [str(material.pk)]
