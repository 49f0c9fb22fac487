"""Previews of unpublished texts: beside the form, and by preview links."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Page, expect

from articles.models import Article, AuditEntry, PreviewLink
from articles.publishing.previews import make_preview_link, revoke_preview_link
from articles.publishing.publish import retract
from articles.publishing.submissions import submit
from articles.roles import Role
from tests.articles.browsers import sign_in
from tests.articles.desk.articles.test_admin import form_address, logged_in, press
from tests.articles.desk.editor.test_autosave import keep
from tests.articles.desk.editor.test_body import open_form
from tests.articles.factories import make_article, make_channel, make_editor, make_member, make_user, soon

pytestmark = pytest.mark.django_db

Status = Article.Status


@pytest.fixture
def alice() -> User:
    return make_editor()


@pytest.fixture
def desk(alice: User) -> Client:
    return logged_in(alice)


def preview_address(article: Article) -> str:
    return f"/admin/articles/article/{article.pk}/preview/"


def is_secret(page: Any) -> bool:
    uncached = {"no-store", "private"} <= set(page.headers["Cache-Control"].split(", "))
    shown_no_one = page.headers["Referrer-Policy"] == "no-referrer" and "noindex" in page.headers["X-Robots-Tag"]
    return uncached and shown_no_one


def part(page: Any, start: str, end: str) -> str:
    text: str = page.text
    return text[text.index(start) : text.index(end)]


def test_the_address_of_a_link_is_shown_to_its_creator_alone(alice: User, desk: Client) -> None:
    article = make_article("Bridge")
    address = make_preview_link(article, by=alice, lasts=timedelta(days=1), note="The lawyer").get_absolute_url()
    screen = f"/admin/articles/article/{article.pk}/links/"
    assert address in desk.get(screen).text
    for other in (make_member(Role.OPERATOR), make_editor("bob")):
        shown = logged_in(other).get(screen)
        assert ("The lawyer" in shown.text, "/preview/" in shown.text) == (True, False)
    assert "/revoke/" in shown.text


@pytest.mark.django_db(transaction=True)
def test_the_preview_follows_what_is_typed_and_nothing_is_saved(page: Page) -> None:
    body = open_form(page, make_article("Bridge", body="<p>Old</p>"))
    page.get_by_role("button", name="Preview", exact=True).press("Enter")
    shown = page.frame_locator("#preview iframe")
    expect(shown.get_by_role("heading", name="Bridge")).to_be_visible()
    body.press_sequentially("Brand new. ")
    expect(shown.get_by_text("Brand new. Old")).to_be_visible()
    page.get_by_role("button", name="Phone").click()
    expect(page.locator("#preview iframe")).to_have_css("width", "390px")
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Preview", exact=True)).to_be_focused()
    assert Article.objects.values_list("body", "revision").get() == ("<p>Old</p>", 1)


@pytest.mark.cases(1)
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("width", "shown", "least"), [(1440, "Desktop", 320), (390, "Phone", 0)])
def test_the_preview_leaves_room_to_write_and_begins_with_the_width_of_the_device(
    page: Page, width: int, shown: str, least: int
) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    open_form(page, make_article("Bridge"))
    page.get_by_role("button", name="Preview", exact=True).press("Enter")
    expect(page.get_by_role("button", name=shown)).to_have_attribute("aria-pressed", "true")
    box = page.get_by_label("Headline").bounding_box()
    assert box is not None
    assert box["width"] > least
    if width == 1440:
        preview = page.locator("#preview").bounding_box()
        assert preview is not None
        assert box["x"] + box["width"] <= preview["x"], "nothing to write in is covered"


def test_the_preview_is_the_page_that_readers_get(desk: Client) -> None:
    article = make_article("Bridge", channel=make_channel(), summary="It reopens.", body="One\n\nTwo & three")
    shown = desk.get(preview_address(article))
    Article.objects.update(status=Status.PUBLISHED, publish_at=soon(), published_at=soon())
    article.refresh_from_db()
    real = Client().get(article.get_absolute_url())

    assert part(shown, '<div class="prose">', "</article>") == part(real, '<div class="prose">', "</article>")
    assert is_secret(shown)
    assert shown.headers["X-Frame-Options"] == "SAMEORIGIN"


def test_the_preview_shows_the_newer_text_of_an_article_that_is_out(desk: Client) -> None:
    article = make_article("Old", status=Status.PUBLISHED, publish_at=soon(hours=-1), published_at=soon(hours=-1))
    press(desk, article, "_save", title="Newer", correction="It was old.")
    shown = desk.get(preview_address(article)).text
    assert "<h1>Newer</h1>" in shown
    assert "It was old." in shown
    assert "Newer" not in Client().get(article.get_absolute_url()).text


def test_a_new_article_is_previewed_before_it_exists(desk: Client, alice: User) -> None:
    window, _status = keep(desk, alice, typed={"title": ["Bridge"], "body": ["<p>A<script>x()</script></p>"]})
    shown = desk.get(f"/admin/articles/article/add/preview/?copy={window}").text
    assert "<h1>Bridge</h1>" in shown
    assert "<p>A</p>" in shown
    assert not Article.objects.exists()


def test_previews_are_for_those_who_may_see_the_article() -> None:
    address = preview_address(make_article("Bridge"))
    assert Client().get(address).status_code == 302
    assert logged_in(make_user("bob")).get(address).status_code == 403
    assert logged_in(make_user("carol", "view_article")).get(address).status_code == 200


def test_what_others_type_is_not_previewed(desk: Client, alice: User) -> None:
    article = make_article("Bridge")
    window, _status = keep(desk, alice, article, typed={"title": ["Hers alone"]})
    shown = logged_in(make_editor("bob")).get(f"{preview_address(article)}?copy={window}")
    assert "Hers alone" not in shown.text
    assert desk.get(f"{preview_address(article)}?copy=nonsense").status_code == 404


def test_a_link_shows_outsiders_the_newest_text_or_one_revision_alone(desk: Client, alice: User) -> None:
    article = make_article("First")
    newest = make_preview_link(article, by=alice, lasts=timedelta(days=1), is_following=True)
    fixed = make_preview_link(article, by=alice, lasts=timedelta(days=1), revision=1, note="The lawyer")
    press(desk, article, "_save", title="Second")
    outsider = Client()
    assert "<h1>Second</h1>" in outsider.get(newest.get_absolute_url()).text
    assert "<h1>First</h1>" in outsider.get(fixed.get_absolute_url()).text
    assert "has not been published" in outsider.get(fixed.get_absolute_url()).text
    assert is_secret(outsider.get(newest.get_absolute_url()))


@pytest.mark.parametrize("end", ["expired", "revoked", "retracted", "deleted", "forged", "nonsense"])
def test_a_link_that_leads_nowhere_looks_like_any_page_that_does_not_exist(alice: User, end: str) -> None:
    article = make_article("Bridge", status=Status.PUBLISHED, publish_at=soon(hours=-1), published_at=soon(hours=-1))
    link = make_preview_link(article, by=alice, lasts=timedelta(hours=1))
    address = link.get_absolute_url()
    assert Client().get(address).status_code == 200
    if end == "expired":
        PreviewLink.objects.update(expires_at=soon(seconds=-1))
    elif end == "revoked":
        revoke_preview_link(link, by=alice)
    elif end == "retracted":
        retract(article, by=alice, notice="Invented.")
    elif end == "deleted":
        article.delete()
    address = {"forged": f"/preview/{link.pk}.x/", "nonsense": "/preview/nonsense/"}.get(end, address)
    gone = Client().get(address)
    assert gone.status_code == 404
    assert is_secret(gone)
    assert part(gone, "<main", "</main>") == part(Client().get("/article/0/nothing/"), "<main", "</main>")


def test_links_are_made_listed_and_revoked_on_their_screen_and_recorded(desk: Client) -> None:
    article = make_article("Bridge")
    screen = f"/admin/articles/article/{article.pk}/links/"
    page = desk.post(screen, {"days": "7", "revision": "", "note": "The lawyer"}, follow=True)
    assert "The lawyer" in page.text
    link = PreviewLink.objects.get()
    assert link.expires_at - link.created_at == timedelta(days=7)
    assert link.get_absolute_url() in page.text
    desk.post(f"{screen}{link.pk}/revoke/")
    desk.post(f"{screen}{link.pk}/revoke/")
    assert "revoked" in desk.get(screen).text
    actions = AuditEntry.objects.filter(article_id=article.pk).order_by("pk").values_list("action", "user_name")
    assert list(actions)[-2:] == [("preview_link", "alice"), ("preview_revoked", "alice")]


def test_who_may_not_write_the_article_makes_and_revokes_no_links(alice: User) -> None:
    article = make_article("Bridge")
    link = make_preview_link(article, by=alice, lasts=timedelta(days=1))
    carol, screen = logged_in(make_user("carol", "view_article")), f"/admin/articles/article/{article.pk}/links/"
    assert "Create link" not in carol.get(screen).text
    carol.post(screen, {"days": "7"})
    carol.post(f"{screen}{link.pk}/revoke/")
    assert PreviewLink.objects.filter(revoked_at=None).count() == 1
    assert logged_in(make_user("bob")).get(screen).status_code == 403


def test_the_form_leads_to_the_links(desk: Client) -> None:
    article = make_article("Bridge")
    assert f"/admin/articles/article/{article.pk}/links/" in desk.get(form_address(article)).text
    submit(article, by=make_editor("bob"))
    assert desk.get(preview_address(article)).status_code == 200


@pytest.mark.parametrize("chosen", ["", "1"])
def test_a_link_shows_no_later_draft_unless_that_was_asked_for(desk: Client, chosen: str) -> None:
    article = make_article("First")
    screen = f"/admin/articles/article/{article.pk}/links/"
    desk.post(screen, {"days": "7", "revision": chosen})
    desk.post(screen, {"days": "7", "revision": "0", "note": "follows"})
    press(desk, article, "_save", title="Second")
    fixed, following = PreviewLink.objects.exclude(note="follows").get(), PreviewLink.objects.get(note="follows")
    assert "<h1>First</h1>" in Client().get(fixed.get_absolute_url()).text
    assert "<h1>Second</h1>" in Client().get(following.get_absolute_url()).text


@pytest.mark.parametrize("end", ["deactivated", "deleted", "no staff", "no permission", "author of another"])
def test_a_link_ends_with_its_maker(end: str) -> None:
    wen = make_member(Role.AUTHOR)
    article = make_article("Bridge", author=wen)
    address = make_preview_link(article, by=wen, lasts=timedelta(days=1)).get_absolute_url()
    assert Client().get(address).status_code == 200
    if end == "deleted":
        Article.objects.update(author=None)
        wen.delete()
    elif end == "no permission":
        wen.groups.clear()
    elif end == "author of another":
        Article.objects.update(author=make_user("bob"))
    else:
        User.objects.filter(pk=wen.pk).update(**{{"deactivated": "is_active", "no staff": "is_staff"}[end]: False})
    assert Client().get(address).status_code == 404


def test_approval_ends_no_link() -> None:
    wen = make_member(Role.AUTHOR)
    article = make_article("Bridge", author=wen)
    address = make_preview_link(article, by=wen, lasts=timedelta(days=1)).get_absolute_url()
    Article.objects.update(status=Status.APPROVED)
    assert Client().get(address).status_code == 200


def test_a_frame_without_session_says_so_and_where_to_sign_in(client: Client) -> None:
    article = make_article("Secret")
    page = client.get(f"{preview_address(article)}?copy={uuid4()}&frame=1")
    assert (page.status_code, page.headers["X-Frame-Options"]) == (401, "SAMEORIGIN")
    assert "You have been signed out." in page.text
    assert 'href="/admin/login/" target="_blank"' in page.text
    assert client.get(preview_address(article)).status_code == 302


@pytest.mark.thorough
@pytest.mark.django_db(transaction=True)
def test_the_preview_comes_back_after_signing_in_again(page: Page) -> None:
    open_form(page, make_article("Harbour"))
    page.context.clear_cookies(name="sessionid")
    page.get_by_role("button", name="Preview").click()
    frame = page.frame_locator(".preview iframe")
    expect(frame.get_by_role("link", name="sign in again in a new window")).to_be_visible()
    sign_in(page)
    page.evaluate("window.dispatchEvent(new Event('focus'))")
    expect(frame.get_by_role("heading", name="Harbour")).to_be_visible()
