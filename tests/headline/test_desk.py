"""The sidebar of the admin and its history links."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin import AdminSite
from django.db.models import DateTimeField
from django.http import HttpRequest
from django.test import Client, RequestFactory
from django.urls import reverse

from articles.models import Article, AuditEntry
from tests.articles.factories import make_article, make_user

pytestmark = pytest.mark.django_db


def sidebar(*permissions: str, is_superuser: bool = False, name: str = "bob") -> list[str]:
    client = Client()
    client.force_login(make_user(name, *permissions, is_superuser=is_superuser))
    groups = client.get("/admin/").context["sidebar_navigation"]
    return [str(group["title"]) for group in groups]


def test_the_sidebar_groups_pages_by_purpose() -> None:
    assert sidebar(is_superuser=True) == ["", "Write", "Review", "Publish", "System", "Users"]


def test_the_sidebar_hides_forbidden_pages() -> None:
    assert sidebar("view_article") == ["", "Write", "Publish"]
    assert sidebar("view_channel", name="carol") == ["", "Publish"]


@pytest.mark.parametrize(("waiting", "badge"), [(3, 3), (99, 99), (100, "99+"), (120, "99+")])
def test_a_reviewer_sees_how_many_articles_wait(waiting: int, badge: int | str) -> None:
    Article.objects.bulk_create(
        Article(title=f"No. {number}", status=Article.Status.MANUAL_REVIEW) for number in range(waiting)
    )
    client = Client()
    client.force_login(make_user("bob", "review_article", "view_article"))
    items = {
        item["title"]: item for group in client.get("/admin/").context["sidebar_navigation"] for item in group["items"]
    }
    assert items["Review queue"]["badge"] == badge


def test_a_page_finds_out_once_what_its_user_may_open(monkeypatch: pytest.MonkeyPatch) -> None:
    built, build = [], AdminSite._build_app_dict

    def count(site: AdminSite, request: HttpRequest, label: str | None = None) -> dict[str, Any]:
        built.append(request.user)
        return build(site, request, label)

    monkeypatch.setattr(AdminSite, "_build_app_dict", count)
    client = Client()
    client.force_login(bob := make_user("bob", "view_article"))
    assert "Articles" in client.get("/admin/articles/article/").text
    assert built == [bob]


def test_what_is_cached_is_of_one_user_and_one_request(rf: RequestFactory) -> None:
    request = rf.get("/admin/")
    for permission, model in {"view_article": "Article", "view_channel": "Channel"}.items():
        request.user = user = make_user(permission, permission)
        assert model in models_of(request)
    user.user_permissions.clear()
    request = rf.get("/admin/")
    request.user = type(user).objects.get(pk=user.pk)
    assert "Channel" not in models_of(request)


def models_of(request: HttpRequest) -> set[str]:
    return {model["object_name"] for app in admin.site.get_app_list(request) for model in app["models"]}


def test_logging_in_leads_to_the_desk() -> None:
    user = make_user("bob", "view_article")
    user.set_password("a secret")
    user.save()
    response = Client().post("/admin/login/", {"username": user.get_username(), "password": "a secret"})
    assert response.headers["Location"] == "/admin/"


def test_a_page_leads_to_its_history_where_there_is_one() -> None:
    client = Client()
    client.force_login(make_user("bob", is_superuser=True))
    article = make_article()
    assert "/history/" in client.get(f"/admin/articles/article/{article.pk}/change/").text
    entry = AuditEntry.objects.latest("pk")
    assert "/history/" not in client.get(f"/admin/articles/auditentry/{entry.pk}/change/").text


def test_a_page_without_permission_says_so_in_the_sites_style(client: Client) -> None:
    client.force_login(make_user("bob", "view_article"))
    page = client.get("/admin/articles/auditentry/")
    assert page.status_code == 403
    assert "<h1>No permission</h1>" in page.text
    assert 'href="/admin/">Go to dashboard' in page.text


def test_a_form_without_csrf_token_says_what_to_do() -> None:
    page = Client(enforce_csrf_checks=True).post("/admin/login/", {"username": "bob", "password": "x"})
    assert page.status_code == 403
    assert "<h1>Form expired</h1>" in page.text


ODD_YEARS = ("0", "-1", "99999", "9999", "999", "", "x", "2020,0", "9" * 30)


@pytest.mark.thorough
def test_no_odd_year_breaks_a_list() -> None:
    client = Client()
    client.force_login(make_user("root", is_superuser=True))
    assert client.get("/admin/").status_code == 200  # which registers the screens
    fields = [
        (reverse(f"admin:{model._meta.label_lower.replace('.', '_')}_changelist"), field.name)
        for model in admin.site._registry
        for field in model._meta.fields
        if isinstance(field, DateTimeField)
    ]
    assert len(fields) > 15
    for address, name in fields:
        odd_years = ODD_YEARS if name == "publish_at" else ODD_YEARS[:1]
        for query in [{f"{name}__year": year} for year in odd_years] + [{f"{name}__date": "9999-12-31"}]:
            response = client.get(address, query)
            assert response.status_code in (200, 302, 400, 403), f"{address} {query}"
    asked = client.get("/admin/articles/article/?publish_at__year=0")
    assert (asked.status_code, asked["Location"]) == (302, "/admin/articles/article/?e=1")
    assert client.get("/admin/articles/article/?publish_at__year=2026").status_code == 200
