"""Every page is completely Chinese for users who chose it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils.translation import override
from playwright.sync_api import Browser, expect

from articles.models import Preferences
from articles.roles import Role
from tests.articles.browsers import LIST, Newsroom
from tests.conftest import Site
from tests.headline.texts import WORD, in_page
from tests.screens import addresses
from tests.screens.newsroom import fill
from tests.share import in_short, share_of

pytestmark = pytest.mark.django_db

CONTENT = {
    "articles.Article": ("title", "summary", "body", "byline", "retraction_notice"),
    "articles.Revision": ("title", "summary", "body", "note", "slug"),
    "articles.Channel": ("name", "description"),
    "articles.Tag": ("name", "slug"),
    "articles.Image": ("title", "alt", "caption", "credit"),
    "articles.SavedView": ("name",),
    "articles.ArticleTemplate": ("name", "title"),
    "articles.Note": ("text", "quote"),
    "articles.Release": ("name",),
    "articles.AuditEntry": ("reason",),
    "articles.Alert": ("text",),
    "articles.Endpoint": ("description",),
    "articles.SharedPage": ("note",),
    "auth.Group": ("name",),
    "headline_api.ServiceAccount": ("purpose",),
    "articles.SensitiveWord": ("text",),
    "auth.User": ("username", "first_name", "last_name"),
    "scheduling.WorkerHeartbeat": ("name",),
    "scheduling.TaskInfoLog": ("error",),
}
"""Fields with content of users, in any language."""

NAMES = re.compile(
    r"manage\.py(?: [a-z-]+)+"
    r"|[A-Z]\w+/[\w/+-]+|[\w.+-]+@[\w.-]+|https?://\S*|/[\w/.-]+|\b\w+(?:[._][a-z]+)+\b|\d [A-Z]{3,4}$"
    r"|\w+\*{5,}|^Probe .*|\b[A-Z]+(?:_[A-Z]+)+\b|smtp\+tls:\S+|(?:MariaDB|SQLite) [\d.]+"
    r"|maxmemory(?:-policy)?|Standard Webhooks|noeviction|allkeys-lru|\b(?:article|release):\d+:[\dT:.+-]+"
)
"""Zones, addresses, files, identifiers, keys, commands, options of Redis, hidden passwords, standards, our own app."""

SAME_EVERYWHERE = {
    *("Headline", "UTC", "API", "RSS", "Atom", "JSON", "Feed", "HTML", "URL", "ID", "MB", "UTF", "KB", "Shift", "Esc"),
    *("GB", "TLS"),
    *("JPEG", "PNG", "WebP", "AVIF", "GIF", "Redis", "English", "YouTube", "Bilibili", "Vimeo", "CSV"),
    *("Python", "Control", "Mac", "Command", "LDAP", "CDN", "PIN", "POST", "en", "zh", "hans", "esc", "md"),
}

RECORD_LABELS = """window.labels = new Set();
new MutationObserver((changes) => {
    for (const { target, oldValue } of changes) {
        if (oldValue) labels.add(oldValue);
        labels.add(target.getAttribute("aria-label"));
    }
}).observe(document, { subtree: true, attributeFilter: ["aria-label"], attributeOldValue: true });"""


def written() -> list[str]:
    """All content, the longest first."""
    found = set()
    for model, fields in CONTENT.items():
        for row in apps.get_model(model)._default_manager.values_list(*fields):
            found |= {text.strip() for value in row for text in re.split(r"<[^>]*>|\n", value or "")}
    return sorted((text for text in found if WORD.search(text)), key=len, reverse=True)


def left_over(page: str, content: list[str]) -> Iterator[str]:
    """The texts of a page with words that are neither Chinese nor content nor a name."""
    whole = "\n".join(content)
    for _line, text in in_page(page):
        rest = " ".join(text.split())
        if len(rest) >= 10 and rest in whole:
            continue
        for known in content:
            if known.lower() in rest.lower():  # to compile thousands of patterns takes a minute
                rest = re.sub(re.escape(known), "", rest, flags=re.IGNORECASE)
        if set(WORD.findall(NAMES.sub("", rest))) - SAME_EVERYWHERE:
            yield text


def english(client: Client, screens: Mapping[str, str]) -> dict[str, list[str]]:
    """Page to the English left on it."""
    content, found = written(), {}
    for name, address in screens.items():
        page = client.get(address, follow=True)
        assert page.status_code in {200, 404, 410}, f"{name}: {page.status_code}"
        found[name] = sorted(set(left_over(page.content.decode(), content)))
    return {name: texts for name, texts in found.items() if texts}


@pytest.fixture
def admin() -> User:
    """The administrator of a newsroom with something on every screen, who reads Chinese."""
    with override("zh-hans"):
        user = fill()
    Preferences.objects.create(pk=user.pk, language="zh-hans", time_zone="Asia/Shanghai")
    return user


def others() -> dict[str, str]:
    """Parts of screens that scripts ask for."""
    return {"image-picker": reverse("admin:articles_image_picker"), "search": f"{reverse('admin:search')}?s=港"}


@in_short(3)
def test_no_english_is_left_on_any_screen(client: Client, admin: User, share: int) -> None:
    reader = Client(headers={"accept-language": "zh-CN"})
    found_nothing = {"nothing-found": "/search/?q=nothing", "not-found": "/no-such-page/"}
    client.force_login(admin)

    screens = {**addresses.desk(), **others()}
    del screens["article-preview"]  # speaks the language of the browser, as readers' pages do
    del screens["front-preview"]  # speaks the language of its front
    of_readers = {**addresses.readers(), **addresses.forgotten(), **found_nothing}
    assert english(client, {name: screens[name] for name in share_of(screens, share)}) == {}
    assert english(reader, {name: of_readers[name] for name in share_of(of_readers, share)}) == {}


@pytest.mark.django_db(transaction=True)
def test_scripts_set_no_english_label_even_for_a_moment(browser: Browser, site: Site) -> None:
    with Newsroom(browser, site) as room:
        page = room.member(Role.CHIEF, "zhou", language="zh-hans")
        page.add_init_script(RECORD_LABELS)
        page.goto(LIST)
        expect(page.locator("[data-simplebar=init] [aria-label=可滚动区域]").first).to_be_attached()
        labels = page.evaluate("[...labels]")
    assert [label for label in labels if WORD.search(label.replace("zhou", ""))] == []
