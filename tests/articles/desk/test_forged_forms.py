"""Forged forms and parameters of admin pages are refused without server errors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client

from articles import publishing
from articles.models import Article, Notification, Update
from articles.workflow import Transition
from tests.articles.factories import APPROVED, make_article, make_channel, make_release, soon

pytestmark = pytest.mark.django_db

GARBAGE = ("x", "9" * 30, "9" * 5000)
ARTICLES, RELEASES = "/admin/articles/article/", "/admin/articles/release/"
FIELDS = ("title", "channel", "tags", "author", "cover", "publish_at", "seen", "base", "restore")

Sent = tuple[str, str, dict[str, Any]]


@pytest.fixture
def admin() -> User:
    return User.objects.create_superuser("alice", password="secret")  # noqa: S106


@pytest.fixture
def article(admin: User) -> Article:
    """One with revisions, in a release, with notifications."""
    article = make_article()
    publishing.edit(article, by=admin, changes={"summary": "It is open."})
    make_release(article, by=admin)
    Notification.objects.create(
        user=admin, kind=Notification.Kind.REJECTED, article=article, article_title="", at=soon()
    )
    return article


@pytest.fixture
def desk(admin: User, article: Article) -> Client:
    client = Client()
    client.force_login(admin)
    return client


def response(client: Client, method: str, address: str, data: dict[str, Any]) -> Any:
    """The response; its changes are rolled back."""
    with transaction.atomic():
        try:
            return getattr(client, method)(address, data)
        finally:
            transaction.set_rollback(True)


def forged(garbage: str, article: Article) -> Iterator[Sent]:
    """Invalid values for everything that takes a number, a time, a choice or a key."""
    typed = {"title": "T", "slug": "t", "cover_mode": "auto"}
    form, release = f"{ARTICLES}{article.pk}/change/", f"{RELEASES}{article.memberships.get().release_id}"
    yield from (("post", f"{ARTICLES}add/", {**typed, name: garbage}) for name in ("channel", "tags"))
    yield "post", form, {**typed, "merged_with": garbage, "base": garbage}
    yield "post", form, {**typed, "asked": [garbage, "status"]}
    yield "get", f"{ARTICLES}add/", dict.fromkeys(FIELDS, garbage)
    yield "get", f"{ARTICLES}times/", {"publish_at": "2100-01-01T12:00", "channel": garbage, "article": garbage}
    yield "get", f"{ARTICLES}{article.pk}/revisions/1/", {"against": garbage}
    yield "post", f"{release}/members/", {"article": [garbage, str(article.pk)]}
    choice = {"_selected_action": garbage, "index": "0"}
    for model, action in (("article", "approve"), ("queuedarticle", "claim"), ("notice", "mark_read")):
        yield "post", f"/admin/articles/{model}/", {**choice, "action": action}
    yield "post", "/admin/auth/group/", {**choice, "action": "delete_selected"}
    yield "post", "/admin/headline_api/apitoken/add/", {"user": garbage}
    if len(garbage) < 4000:  # others are no address
        for screen in (f"{ARTICLES}{garbage}/history/", f"{RELEASES}{garbage}/change/"):
            yield "get", screen, {}
        yield "get", f"/admin/articles/queuedarticle/{garbage}/change/", {}


@pytest.mark.thorough
def test_no_garbage_breaks_a_screen(desk: Client, article: Article) -> None:
    for method, address, data in (sent for garbage in GARBAGE for sent in forged(garbage, article)):
        code = response(desk, method, address, data).status_code
        assert code < HTTPStatus.INTERNAL_SERVER_ERROR, (method, address, data)


@pytest.mark.parametrize("name", ["reschedule", "set_embargo"])
def test_a_button_that_the_form_does_not_have_does_nothing(desk: Client, article: Article, name: str) -> None:
    form = {**typed(article), f"_step_{name}": "1"}
    assert desk.post(f"{ARTICLES}{article.pk}/change/", form).status_code == HTTPStatus.FOUND
    assert Article.objects.values_list("title", "embargo_until").get() == ("Typed", None)


def typed(article: Article) -> dict[str, Any]:
    """What the form sends at least."""
    article.refresh_from_db()
    return {"title": "Typed", "slug": "t", "base": article.revision, "seen": article.changed_at.isoformat()}


def test_a_form_without_the_version_that_it_began_from_changes_nothing(desk: Client) -> None:
    """It may lack other fields, too, such as the time."""
    moment = soon(hours=1)
    article = make_article(status=APPROVED, publish_at=moment)
    without = {name: value for name, value in typed(article).items() if name != "seen"}
    for sent in ({}, without):
        page = desk.post(f"{ARTICLES}{article.pk}/change/", sent)
        assert (page.status_code, "This form is incomplete" in page.text) == (HTTPStatus.OK, True)
        article.refresh_from_db()
        assert (article.title, article.publish_at) == ("Harbour bridge reopens", moment)


def test_fields_that_a_request_lacks_keep_their_values(desk: Client) -> None:
    """Otherwise a form that was cut off would publish the article before its embargo ends, or never."""
    times = {"publish_at": soon(hours=1), "embargo_until": soon(hours=5), "unpublish_at": soon(hours=9)}
    article = make_article(**times, summary="Kept")  # type: ignore[arg-type]
    response = desk.post(f"{ARTICLES}{article.pk}/change/", typed(article))
    assert response.status_code == HTTPStatus.FOUND
    article.refresh_from_db()
    assert {name: getattr(article, name) for name in times} == times
    assert (article.title, article.summary) == ("Typed", "Kept")
    desk.post(f"{ARTICLES}{article.pk}/change/", {**typed(article), "unpublish_at": "", "summary": ""})
    article.refresh_from_db()
    assert (article.unpublish_at, article.summary) == (None, "")


def test_a_form_without_the_time_of_an_update_keeps_it(desk: Client, admin: User) -> None:
    moment, article = soon(hours=1), make_article(status=Article.Status.PUBLISHED, publish_at=soon(hours=-1))
    publishing.edit(article, by=admin, changes={"summary": "Newer"})
    publishing.perform(Transition.SUBMIT, article, by=admin)
    publishing.schedule_update(article, publish_at=moment, by=admin, at_once=False)
    for title in (article.title, "Typed"):
        form = {**typed(article), "title": title}
        assert desk.post(f"{ARTICLES}{article.pk}/change/", form).status_code == HTTPStatus.FOUND
        assert Update.objects.get(article=article).publish_at == moment


def test_a_form_that_was_cut_off_is_refused(desk: Client, article: Article) -> None:
    """Each form without its last field lacks the version."""
    form = desk.get(f"{ARTICLES}{article.pk}/change/").text.partition('id="article_form"')[2].partition("</form>")[0]
    assert re.findall(r' name="(\w+)"', form)[-1] == "seen"


def test_a_new_article_is_not_submitted_by_a_form_that_was_cut_off(desk: Client) -> None:
    """Its embargo may be missing; a draft without it does no harm."""
    number = Article.objects.count()
    form = {"title": "New", "cover_mode": "auto", "publish_at": "2100-01-01T00:00", "_step_submit": "1"}
    page = desk.post(f"{ARTICLES}add/", form)
    assert (page.status_code, "This form is incomplete" in page.text) == (HTTPStatus.OK, True)
    assert Article.objects.count() == number
    assert desk.post(f"{ARTICLES}add/", {**form, "seen": ""}).status_code == HTTPStatus.FOUND
    assert Article.objects.latest("pk").status == Article.Status.MANUAL_REVIEW


def test_a_time_in_an_unknown_zone_is_refused(desk: Client) -> None:
    article = make_article()
    sent = {**typed(article), "publish_at": "2100-01-01T00:00", "publish_at_zone": "Mars/Base"}
    page = desk.post(f"{ARTICLES}{article.pk}/change/", sent)
    assert (page.status_code, "Enter a date and a time" in page.text) == (HTTPStatus.OK, True)
    article.refresh_from_db()
    assert article.publish_at is None


@pytest.mark.cases(2)
@pytest.mark.parametrize("time", ["x", "2026-13-45T00:00:00Z", "2026-01-01T00:00:00", "9999-12-31T23:59:59-14:00"])
def test_a_forged_time_breaks_no_screen(desk: Client, article: Article, time: str) -> None:
    assert desk.post(f"/admin/desk/monitoring/publish_at:{article.pk}/later/", {"seen": time}).status_code == 404
    assert desk.post(f"/admin/articles/queuedarticle/{article.pk}/change/", {"leave": time}).status_code == 204
    assert desk.post(f"{ARTICLES}{article.pk}/notes/", {"do": "assign", "due_at": time}).status_code == 400


def test_a_forged_choice_of_rows_is_refused_in_words(desk: Client) -> None:
    refused = desk.post(ARTICLES, {"_selected_action": "x", "action": "approve", "index": "0"})
    assert refused.status_code == HTTPStatus.BAD_REQUEST
    assert "open it again" in refused.content.decode()


def test_a_forged_version_is_refused_and_what_was_typed_stays(desk: Client, article: Article) -> None:
    page = desk.post(f"{ARTICLES}{article.pk}/change/", {"title": "Typed", "slug": "t", "merged_with": "x"})
    assert "The article changed. Open it again." in page.content.decode()
    assert ">Typed</textarea>" in page.text.replace("\n", "")


@pytest.mark.cases(2)
@pytest.mark.parametrize("more", ["page=x", "page=-1", "page=999", "s=%00", "s=" + "x" * 3000, "extended=1"])
def test_a_search_with_garbage_is_no_fault_of_ours(desk: Client, more: str) -> None:
    assert desk.get(f"/admin/search/?s=article&{more}").status_code == HTTPStatus.OK


@pytest.mark.cases(2)
@pytest.mark.parametrize("model", ["article", "image", "channel", "auditentry"])
def test_no_filter_compares_texts_by_patterns(desk: Client, model: str) -> None:
    name = {"article": "body", "auditentry": "reason"}.get(model, "title" if model == "image" else "name")
    for lookup in ("regex", "icontains", "startswith"):
        answer = desk.get(f"/admin/articles/{model}/?{name}__{lookup}=.*(a|b)%2B%24")
        assert (answer.status_code, answer.url) == (302, f"/admin/articles/{model}/?e=1")  # type: ignore[attr-defined]
    assert desk.get(f"/admin/articles/{model}/").status_code == 200


@pytest.mark.parametrize("model", ["articles/channel", "auth/user"])
def test_an_empty_name_of_a_field_is_no_fault_of_ours(desk: Client, admin: User, model: str) -> None:
    row = admin if model == "auth/user" else make_channel()
    for page in ("change", "delete"):
        address = f"/admin/{model}/{row.pk}/{page}/"
        assert desk.get(address, {"_to_field": "id"}).status_code in (200, 400)
        assert desk.get(address, {"_to_field": "", "_popup": ""}).status_code == 400
        assert desk.post(address, {"_to_field": "", "_source_model": ""}).status_code == 400
