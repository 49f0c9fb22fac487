"""A link shows one page of the readers' site at an instant to come to people without an account."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from articles.exceptions import NotAllowed
from articles.models import MOST_VISITS, Article, AuditEntry, Card, SharedPage
from articles.publishing import share_page
from tests.articles.factories import APPROVED, make_article, make_editor, make_front, make_user, soon
from tests.articles.image_files import make_image

pytestmark = pytest.mark.django_db

SCREEN = "/admin/desk/shared-pages/"
API = "/api/v1/desk/shared-pages/"


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def coming(title: str = "Tomorrow’s headline", **values: Any) -> Article:
    return make_article(title, status=APPROVED, publish_at=soon(hours=2), **values)


def share(user: User, page: str, at: datetime, **values: Any) -> str:
    """The address that the screen shows to its creator."""
    desk = signed_in(user)
    asked = {"page": page, "at": at.isoformat(), "days": 3, "note": "The printer", **values}
    answer = desk.post(SCREEN, asked, follow=True)
    found = re.search(r'value="http://testserver(/preview/page/[^"]+)"', answer.text)
    assert found, answer.text
    return found[1]


def test_a_link_shows_one_page_at_one_instant_without_an_account() -> None:
    """From the bar to its reader: with the border, uncached, and with no way into the site but to the live one."""
    editor, at = make_editor(), soon(hours=3)
    article = coming(body='<p>Read <a href="/latest/">all</a> and <a href="https://weather.example/">more</a></p>')
    bar = signed_in(editor).get(f"/en/?{urlencode({'at': at.isoformat()})}").text
    leads_to = re.search(r'href="([^"]+)">Share…<', bar)
    assert leads_to and leads_to[1].startswith(SCREEN)
    form = signed_in(editor).get(leads_to[1].replace("&amp;", "&")).text
    assert 'name="page" value="/en/"' in form

    link = share(editor, "/en/", at)
    reader = Client()
    page = reader.get(link)

    assert page.status_code == 200 and article.title in page.text
    assert article.title not in Client().get("/en/").text
    assert 'class="at-another-instant"' in page.text and "This link shows one page" in page.text
    assert "no-store" in page["Cache-Control"] and "noindex" in page["X-Robots-Tag"]
    assert page["Referrer-Policy"] == "no-referrer"
    assert not {"ETag", "Last-Modified", "Cache-Tag"} & {*page.headers}
    assert re.findall(r'<a [^>]*href="(/[^"]*)"', page.text) == ["/"], "the live site, by its name"
    assert "<form" not in page.text and "What happens next" not in page.text and "<option" not in page.text
    assert reader.get("/en/").text == Client().get("/en/").text
    text = reader.get(share(editor, article.get_absolute_url(), at)).text
    assert "weather.example" in text and "<a>all</a>" in re.sub(r"<a [^>]*>all", "<a>all", text)
    shared = SharedPage.objects.get(page="/en/")
    assert (shared.uses, shared.last_used_at is None) == (1, False)
    assert list(AuditEntry.objects.filter(action="share_page").values_list("article_title", flat=True)) == [
        "/en/", article.get_absolute_url(),
    ]  # fmt: skip


def test_a_link_ends_with_its_time_its_instant_its_creator_and_when_it_is_revoked() -> None:
    editor, other = make_editor(), make_editor("other")
    coming()
    link = share(editor, "/en/", soon(hours=3))
    shared = SharedPage.objects.get()
    assert shared.expires_at == shared.at, "the instant comes before the end of the third day"
    assert link not in signed_in(other).get(SCREEN).text, "an address works for everyone who knows it"
    assert Client().get(link[:-2] + "x/").status_code == 404
    publishing = editor.user_permissions.get(codename="publish_article")
    editor.user_permissions.remove(publishing)
    assert Client().get(link).status_code == 404
    editor.user_permissions.add(publishing)
    for name in ("is_active", "is_staff"):
        User.objects.filter(pk=editor.pk).update(**{name: False})
        assert Client().get(link).status_code == 404
        User.objects.filter(pk=editor.pk).update(**{name: True})
    SharedPage.objects.update(expires_at=soon(seconds=-1))
    assert Client().get(link).status_code == 404
    SharedPage.objects.update(expires_at=soon(hours=1))
    assert Client().get(link).status_code == 200
    signed_in(other).post(f"{SCREEN}{shared.pk}/revoke/")
    assert Client().get(link).status_code == 404
    assert AuditEntry.objects.filter(action="unshare_page").count() == 1
    assert "no-store" in Client().get(link)["Cache-Control"]


@pytest.mark.cases(2)
@pytest.mark.parametrize(
    ("page", "days"),
    [("/admin/", 3), ("/feed/", 3), ("https://other.example/", 3), ("//other.example/", 3), ("/en/", 365), ("", 3)],
)
def test_only_a_page_of_the_site_at_a_time_to_come_is_shared(page: str, days: int) -> None:
    desk = signed_in(make_editor())
    assert desk.post(SCREEN, {"page": page, "at": soon(hours=1).isoformat(), "days": days}).status_code == 200
    desk.post(SCREEN, {"page": "/en/", "at": soon(hours=-1).isoformat(), "days": 3})
    desk.post(SCREEN, {"page": "/en/", "at": "nonsense", "days": 3})
    assert not SharedPage.objects.exists()


def test_who_may_not_publish_shares_nothing() -> None:
    author = make_user("author", "view_article", "change_article", "edit_any_article")
    assert signed_in(author).get(SCREEN).status_code == 403
    assert "Share…" not in signed_in(author).get(f"/en/?{urlencode({'at': soon(hours=1).isoformat()})}").text


def test_images_of_a_shared_page_are_shown_to_its_reader_until_it_ends(settings: Any) -> None:
    settings.MEDIA_ACCEL_REDIRECT = "/files/"  # the web server sends the files
    editor = make_editor()
    image = make_image(editor)
    make_front(Card(article=coming(), image=image), live_from=soon(hours=2))
    link, reader = share(editor, "/en/", soon(hours=3)), Client()
    address = f"/media/{image.path('320.webp')}"

    assert reader.get(address).status_code == 404
    reader.get(link)
    assert reader.get(address).status_code == 200
    SharedPage.objects.update(revoked_at=soon())
    assert reader.get(address).status_code == 404


def test_an_article_that_is_gone_by_then_keeps_the_border() -> None:
    editor = make_editor()
    began = soon(hours=-1)
    times = {"publish_at": began, "published_at": began, "unpublish_at": soon(hours=1)}
    article = make_article("Ends", status=Article.Status.PUBLISHED, **times)
    page = Client().get(share(editor, article.get_absolute_url(), soon(hours=2)))
    assert page.status_code in (404, 410) and "at-another-instant" in page.text
    old = f"/article/{article.pk}/"
    assert "Ends" in Client().get(share(editor, old, soon(minutes=30))).text, "its redirect is followed"


def test_the_screen_shows_the_last_visits_with_shortened_addresses() -> None:
    editor = make_editor()
    coming()
    link = share(editor, "/en/", soon(hours=3))
    for number in range(MOST_VISITS + 5):
        Client(REMOTE_ADDR=f"203.0.{number}.77").get(link)
    Client(REMOTE_ADDR="2001:db8:1:2:3:4:5:6").get(link)
    shared = SharedPage.objects.get()
    networks = [visit.network for visit in shared.visits.all()]
    assert networks[:2] == ["2001:db8:1::/48", f"203.0.{MOST_VISITS + 4}.0/24"]
    assert (len(networks), shared.uses) == (MOST_VISITS, MOST_VISITS + 6)
    screen = signed_in(editor).get(SCREEN).text
    assert "Last visits" in screen and "2001:db8:1::/48" in screen and ".77" not in screen


def test_behind_a_proxy_visits_have_the_addresses_of_visitors_which_they_cannot_choose(settings: Any) -> None:
    settings.PROXY_COUNT = 1
    editor = make_editor()
    coming()
    link = share(editor, "/en/", soon(hours=3))
    for proxy in ("", "127.0.0.1"):  # a socket has no address
        Client(REMOTE_ADDR=proxy).get(link, headers={"X-Forwarded-For": "198.51.100.9, 203.0.113.77"})
    assert [visit.network for visit in SharedPage.objects.get().visits.all()] == ["203.0.113.0/24"] * 2


def test_programs_share_list_and_revoke_pages_with_the_permissions_of_the_screen() -> None:
    editor, other = make_editor(), make_editor("other")
    api = signed_in(editor)
    asked = {"page": "/en/", "at": soon(hours=3).isoformat(), "note": "The printer"}
    made = api.post(API, asked, content_type="application/json")
    assert made.status_code == 201, made.text
    assert Client().get(made.json()["url"]).status_code == 200
    listed = api.get(API).json()["results"]
    assert [(one["uses"], len(one["visits"]), one["is_open"]) for one in listed] == [(1, 1, True)]
    assert signed_in(other).get(API).json()["results"][0]["url"] is None
    refused = api.post(API, {**asked, "page": "/admin/"}, content_type="application/json")
    assert (refused.status_code, refused.json()["code"]) == (400, "no_page")
    past = api.post(API, {**asked, "at": soon(hours=-1).isoformat()}, content_type="application/json")
    assert past.status_code == 400
    author = signed_in(make_user("author", "view_article", "change_article", "edit_any_article"))
    address = f"{API}{made.json()['id']}/"
    for stranger in (author, Client()):
        assert {stranger.get(API).status_code, stranger.delete(address).status_code} <= {401, 403}
        assert stranger.post(API, asked, content_type="application/json").status_code in (401, 403)
    assert signed_in(other).delete(address).status_code == 204
    assert Client().get(made.json()["url"]).status_code == 404
    actions = AuditEntry.objects.filter(article_title="/en/").order_by("pk").values_list("action", "source")
    assert list(actions) == [("share_page", "api"), ("unshare_page", "api")]


def test_who_may_not_act_without_a_session_shares_nothing(settings: Any) -> None:
    """The link would not work."""
    settings.SECOND_FACTOR_ROLES = ["all"]
    with pytest.raises(NotAllowed):
        share_page("/en/", at=soon(hours=3), lasts=timedelta(days=1), by=make_editor())
    assert not SharedPage.objects.exists()


def test_a_list_of_many_shared_pages_takes_as_many_statements_as_one_of_one() -> None:
    sharers = [make_user(name, "view_article", "publish_article") for name in ("alice", "bob")]
    reader, numbers = signed_in(make_user("carol", "view_article", "publish_article")), []
    for count in (1, 5):
        for _number in range(count):
            for sharer in sharers:
                share_page("/en/", at=soon(hours=3), lasts=timedelta(hours=1), by=sharer)
        with CaptureQueriesContext(connection) as captured:
            listed = reader.get(API).json()["results"]
        numbers.append(len(captured))
        assert {one["is_open"] for one in listed} == {True}
    assert numbers[0] == numbers[1]
