"""No page of the admin names an article to staff who may not see it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Permission, User
from django.contrib.contenttypes.models import ContentType
from django.db.models import Model
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone

from articles import publishing, releases
from articles.models import Article, Channel, Image, Notification, Release, Tag
from articles.permissions import READ_WITH
from articles.publishing import bulk
from articles.publishing.previews import make_preview_link
from articles.roles import Role
from articles.task_types import RELEASE
from articles.workflow import Transition
from scheduling.models import TaskInfoLog
from scheduling.services import refresh, run_due
from tests.articles.factories import (
    make_article,
    make_channel,
    make_editor,
    make_member,
    make_release,
    make_user,
    soon,
)
from tests.articles.image_files import make_image

pytestmark = pytest.mark.django_db

MARK = "Zebraquartz"
SEES_ARTICLES = {
    *READ_WITH,
    "articles.delete_article",  # the confirmation names the articles
    "articles.view_auditentry",  # the audit log names articles
    *(f"articles.{verb}_release" for verb in ("add", "change", "delete", "view", "schedule")),  # so do releases
}


@pytest.fixture
def marked() -> Article:
    """An article under embargo, with all related objects."""
    chief = make_editor("chief")
    image = make_image(chief)
    article = make_article(
        MARK,
        slug="z",
        author=chief,
        channel=make_channel(),
        body=f'<p>Text</p><img src="{image.in_texts}" alt="A port">',
        embargo_until=soon(hours=9),
    )
    other = make_article(f"{MARK} too", slug="y", author=chief, status=Article.Status.APPROVED)
    article.tags.add(Tag.objects.create(name="harbour", slug="harbour"))
    publishing.schedule(other, publish_at=soon(hours=8), by=chief)
    make_release(article, by=chief)
    bulk.start_bulk_action(bulk.gather_articles(Transition.SUBMIT, [(article.pk, article.title)], by=chief))
    Notification.objects.create(
        user=chief, kind=Notification.Kind.REJECTED, article=article, article_title=MARK, at=timezone.now()
    )
    assert image.used_in() == [MARK]
    TaskInfoLog.objects.update(status=TaskInfoLog.Status.FAILED, execute_time=timezone.now() - timedelta(hours=1))
    return article


def screens() -> Iterator[str]:
    """The URL of each admin page, for the first and the last row of each model."""
    for _pattern, route in flat(get_resolver().url_patterns, ""):
        if not route.startswith("admin/") or "(?P<" in route:
            continue
        model = model_of(route)
        keys = [str(pk) for pk in model._default_manager.values_list("pk", flat=True)[:3]] if model else ["1"]
        for key in keys if "<" in route else [""]:
            yield "/" + filled(route, key)


def flat(patterns: Any, before: str) -> Iterator[tuple[URLPattern, str]]:
    """Each URL pattern with its whole route."""
    for pattern in patterns:
        route = before + str(pattern.pattern).lstrip("^")
        if isinstance(pattern, URLResolver):
            yield from flat(pattern.url_patterns, route)
        else:
            yield pattern, route


def model_of(route: str) -> type[Model] | None:
    """The model of a route of the admin."""
    app, _slash, rest = route.removeprefix("admin/").partition("/")
    models = apps.get_app_config(app).get_models() if app in apps.app_configs else ()
    return next((model for model in models if model._meta.model_name == rest.partition("/")[0]), None)


def filled(route: str, key: str) -> str:
    """The first parameter is the row; others, such as a revision's number, are 1."""
    return re.sub("<[^>]*>", "1", re.sub("<[^>]*>", key, route, count=1))


def _names(desk: Client, address: str, **query: Any) -> bool:
    response = desk.get(address, query, follow=True)
    assert response.status_code < 500, address
    content = b"".join(response.streaming_content) if response.streaming else response.content  # type: ignore[attr-defined]
    return MARK.encode() in content


def _shown(desk: Client) -> list[str]:
    """Where the headline occurs in the response."""
    found = [address for address in {*screens()} if _names(desk, address)]
    found += [
        f"{address}?_popup=1" for address in {*screens()} if "/change/" in address and _names(desk, address, _popup=1)
    ]
    field = {"app_label": "articles", "field_name": "article", "term": MARK[:4]}
    for model in ("releasemember", "notice", "batch", "imageuse"):
        if _names(desk, "/admin/autocomplete/", model_name=model, **field):
            found.append(f"autocomplete {model}")
    for registered in filter(admin.site.is_registered, apps.get_models()):
        address = f"/admin/{registered._meta.app_label}/{registered._meta.model_name}/"
        chosen = {
            "action": "delete_selected",
            "_selected_action": [*registered._default_manager.values_list("pk", flat=True)[:5]],
        }
        if MARK in desk.post(address, chosen, follow=True).content.decode():
            found.append(f"delete_selected {address}")
        if _names(desk, address, q="zzz"):
            found.append(f"search {address}")
    return found


def _others() -> list[str]:
    """Every permission that does not allow reading articles."""
    rows = Permission.objects.values_list("content_type__app_label", "codename")
    return [codename for app, codename in rows if f"{app}.{codename}" not in SEES_ARTICLES]


@pytest.mark.parametrize("rights", [pytest.param("none", marks=pytest.mark.thorough), "all others"])
def test_no_page_names_an_article_to_staff_who_may_not_see_it(marked: Article, rights: str) -> None:
    nosy = make_user("nosy", *(_others() if rights == "all others" else ()))
    desk = Client()
    desk.force_login(nosy)
    assert len({*screens()}) > 90
    assert _shown(desk) == []


@pytest.mark.thorough
def test_no_page_names_an_article_to_a_user_who_has_lost_the_role(marked: Article) -> None:
    """With notifications about it, a bulk action to confirm and one that was refused."""
    chief = User.objects.get(username="chief")
    bulk.gather_articles(Transition.SUBMIT, [(marked.pk, marked.title)], by=chief)
    chief.user_permissions.clear()
    chief = User.objects.get(pk=chief.pk)
    desk = Client()
    desk.force_login(chief)
    assert _shown(desk) == []


@pytest.mark.parametrize("rights", ["none", "all others"])
def test_the_view_on_site_link_reveals_no_headline_and_opens_no_preview(marked: Article, rights: str) -> None:
    link = make_preview_link(marked, lasts=timedelta(hours=1), by=make_editor("bob"))
    nosy, desk = make_user("nosy", *(_others() if rights == "all others" else ())), Client()
    desk.force_login(nosy)
    for row in (marked, link):
        assert desk.get(_short_cut(row)).status_code == 404
    assert desk.get("/admin/r/x/1/").status_code == 404


def test_the_view_on_site_link_works_for_users_who_may_see_channels(marked: Article) -> None:
    desk, channel = Client(), Channel.objects.get()
    desk.force_login(make_member(Role.EDITOR))
    answer = desk.get(_short_cut(channel))
    assert (answer.status_code, answer.headers["Location"]) == (302, f"http://testserver{channel.get_absolute_url()}")
    for row in (marked, channel.articles.get()):
        assert desk.get(_short_cut(row)).status_code == 404  # the form links to the page itself, once there is one


def _short_cut(row: Model) -> str:
    return f"/admin/r/{ContentType.objects.get_for_model(row).pk}/{row.pk}/"


def test_no_record_of_a_failed_release_names_its_members() -> None:
    """A program may read task records without permission to read articles."""
    chief = make_editor("chief")
    article = make_article(MARK, status=Article.Status.APPROVED)
    releases.schedule_release(make_release(article, by=chief), publish_at=soon(), by=chief)
    Article.objects.update(embargo_until=soon(hours=9))
    refresh()
    run_due(10)
    desk = Client()
    desk.force_login(make_user("robot", *_others()))
    (log,) = TaskInfoLog.objects.filter(task_type=RELEASE)
    assert (log.status, MARK in Release.objects.get().reason) == (TaskInfoLog.Status.CANCELLED, True)
    assert not _names(desk, f"/admin/scheduling/taskinfolog/{log.pk}/change/")
    assert not _names(desk, f"/api/v1/tasks/{log.pk}/")


def test_users_who_may_see_articles_get_the_same_pages(marked: Article) -> None:
    desk = Client()
    desk.force_login(make_member(Role.EDITOR))
    image = Image.objects.get()
    assert _names(desk, f"/admin/articles/image/{image.pk}/change/")
    assert _names(desk, "/admin/articles/article/")
