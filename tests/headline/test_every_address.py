"""Every address of the URLconf × every role: a new one is refused to those without a role, or is listed here."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.db.models import Model
from django.test import Client
from django.urls import Resolver404, get_resolver, resolve

from articles.models import Article, ProposedChange, Tag
from articles.review import propose
from articles.roles import Role
from tests.articles.factories import make_article, make_channel, make_editor, make_member, make_user, soon
from tests.articles.image_files import make_image, shown
from tests.headline.test_named_to_staff import flat, screens

pytestmark = pytest.mark.django_db

PUBLIC = {
    "home", "front", "front-detail", "latest", "channel", "tag", "author", "article", "article-by-id", "search", "feed",
    "channel-feed", "tag-feed", "author-feed", "sitemap", "sitemap-pages", "sitemap-section", "news-sitemap", "robots",
    "icon", "media", "live-article-list", "live-article-detail", "channel-list", "channel-detail", "api-schema",
    "api-docs", "account_login", "admin:login", "admin_password_reset", "password_reset_done", "password_reset_confirm",
    "password_reset_complete", "admin:jsi18n",
}  # fmt: skip
"""What a stranger may open."""

OF_STAFF = PUBLIC | {
    "admin:index", "desk_dashboard", "admin:password_change", "admin:password_change_done", "mfa_index", "desk-me",
    "admin:articles_notification_changelist", "admin:articles_notification_choose", "desk-notification-list",
    "admin:articles_preferences_changelist", "admin:headline_api_apitoken_changelist", "desk-notification-choices",
    "admin:headline_api_apitoken_add", "desk-token-list", "desk_bulk_actions", "account_reauthenticate",
    "headline.accounts.views.change_password", "articles.desk.palette.views.search",  # of screens that they may open
    "admin:articles_article_preview_new",  # of what they have typed
}  # fmt: skip
"""What a member of staff without a role may open besides: what is about the account itself."""

ROLES = [role.value for role in Role]
KINDS = ("stranger", "reader", "staff", *ROLES)
MAIN_KINDS = ("stranger", "staff")


def each(kinds: Iterable[str], main: Container[str] = MAIN_KINDS) -> list[Any]:
    """The kinds of users; `make thorough` tries the others than the main ones."""
    return [kind if kind in main else pytest.param(kind, marks=pytest.mark.thorough) for kind in kinds]


@pytest.fixture
def newsroom() -> Article:
    """A live and a hidden article with all around them, and a change that waits."""
    editor = make_editor()
    channel, image = make_channel("Town"), make_image(editor)
    live = make_article(
        "Bridge", channel=channel, author=editor, status=Article.Status.PUBLISHED, publish_at=soon(hours=-1),
        body=shown(image),
    )  # fmt: skip
    live.tags.add(Tag.objects.create(name="Rain", slug="rain"))
    propose(channel, {"description": "All about the town"}, name="Town", by=editor)
    return make_article("Hidden", channel=channel, author=editor, publish_at=soon(hours=1))


def addresses(article: Article) -> dict[str, str]:
    """URL name to an address."""
    found: dict[str, str] = {}
    for address in (*screens(), *plain(article)):
        try:
            match = resolve(address)
        except Resolver404:
            continue
        found.setdefault(match.view_name or address, address)
    return found


def plain(article: Article) -> Iterator[str]:
    """An address for each URL outside the admin."""
    for _pattern, route in flat(get_resolver().url_patterns, ""):
        if route.startswith("admin/") or "(?P<" in route:
            continue
        filled = route.replace("<str:slug>", "rain").replace("<str:form>", "json")
        yield "/" + re.sub("<[^>]*>", str(article.pk), filled)


def user_of(kind: str) -> User | None:
    """A user of this kind; None for a stranger."""
    if kind in ROLES:
        return make_member(Role(kind), "member")
    if kind == "stranger":
        return None
    return make_user("member") if kind == "staff" else User.objects.create_user("member")


def client_of(user: User | None) -> Client:
    client = Client(raise_request_exception=False)
    if user is not None:
        client.force_login(user)
    return client


def statuses(client: Client, asked: Mapping[str, str], method: str = "get") -> dict[str, int]:
    found = {}
    for name, address in asked.items():
        answer: Any = getattr(client, method)(address)
        if answer.streaming:
            list(answer.streaming_content)
        found[name] = answer.status_code
    return found


def rows() -> dict[str, Any]:
    """The newsroom's rows, as far as a request could change them."""
    kept: list[type[Model]] = [*apps.get_app_config("articles").get_models(), User]
    return {model._meta.label: list(model._default_manager.order_by("pk").values()) for model in kept}


@pytest.mark.parametrize("kind", each(KINDS))
def test_every_address_is_refused_to_those_without_a_role(newsroom: Article, kind: str) -> None:
    asked = addresses(newsroom)
    assert {"desk_proposed_changes", "desk_approve_change", "desk-proposed-change-list"} <= asked.keys()
    assert len(asked) > 200
    found = statuses(client_of(user_of(kind)), asked)
    assert {name: status for name, status in found.items() if status >= 500} == {}
    opened = {name for name, status in found.items() if status == 200}
    assert opened - {"staff": OF_STAFF, "stranger": PUBLIC, "reader": PUBLIC}.get(kind, opened) == set()
    assert ("desk_proposed_changes" in opened) == (kind in ROLES)


@pytest.mark.parametrize("kind", each(["stranger", "reader", "staff"], ["staff"]))
def test_no_address_changes_anything_for_those_without_a_role(newsroom: Article, kind: str) -> None:
    asked = addresses(newsroom)
    client, before = client_of(user_of(kind)), rows()
    for name in ("admin:logout", "admin:articles_notification_read"):
        asked.pop(name, None)
    for method in ("post", "patch", "delete"):
        failed = {name: status for name, status in statuses(client, asked, method).items() if status >= 500}
        assert failed == {}
    after = rows()
    changed = {model for model in before if before[model] != after[model]}
    assert changed - {"articles.AuditEntry", "auth.User", "articles.Preferences"} == set()
    assert ProposedChange.objects.count() == 1


@pytest.mark.parametrize("kind", KINDS)
def test_only_reviewers_decide_about_a_proposed_change(newsroom: Article, kind: str) -> None:
    (change,) = ProposedChange.objects.all()
    address = f"/api/v1/desk/proposed-changes/{change.pk}/approve/"
    answer = client_of(user_of(kind)).post(address, {"version": "other"}, "application/json")
    assert answer.status_code in ((409,) if kind in (Role.REVIEWER.value, Role.CHIEF.value) else (401, 403))
