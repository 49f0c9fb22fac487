"""Plural forms and enumerations of the admin, in both languages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.test import Client
from django.utils.translation import override

from articles.exceptions import listed
from articles.models import Article, AuditEntry, SensitiveWord
from articles.review.findings import Finding, of_findings
from tests.articles.factories import make_article, make_user

JOINED = re.compile(r"""["'][,;]\s["']\.join|join:["'],""")
"""A list joined with the comma of one language."""


SIGN = re.compile("[\u2194-\u21ff\u2300-\u2bff]")
"""Arrows beyond the four plain ones, shapes, Braille: many systems have no glyph for them."""


@pytest.mark.django_db
def test_the_foot_of_a_list_counts_what_is_in_it(client: Client) -> None:
    client.force_login(make_user("ada", is_superuser=True))
    for title in ("Bridge", "Ferry"):
        make_article(title, status=Article.Status.MANUAL_REVIEW)
    assert "2 articles to review" in _visible_text(client, "/admin/articles/queuedarticle/")
    assert "2 audit entries" in _visible_text(client, "/admin/articles/auditentry/")
    assert "2 articles" in _visible_text(client, "/admin/articles/article/")
    assert "1 article" in _visible_text(client, "/admin/articles/article/?q=ferry")


def test_chinese_lists_have_no_western_commas() -> None:
    words = [Finding(field, word="赌场", level=SensitiveWord.Level.BLOCK) for field in ("title", "body")]
    entry = AuditEntry(details={"new": {"赌场": "block", "奇药": "block"}})
    with override("zh-hans"):
        said = [listed(["港口", "大桥"]), of_findings(words).reason, *entry.differences()]
    assert [text for text in said if ", " in text] == []


@pytest.mark.parametrize(
    "folder", ["articles/desk", "articles/templates", "articles/publishing", "articles/releases", "templates"]
)
def test_no_screen_joins_with_the_comma_of_one_language(folder: str) -> None:
    files = [path for path in Path(folder).rglob("*.*") if path.suffix in {".py", ".html"}]
    assert [str(path) for path in files if JOINED.search(path.read_text("utf-8"))] == []


@pytest.mark.parametrize("folder", ["articles/static", "articles/templates", "articles/templatetags", "templates"])
def test_signs_come_from_the_icon_font(folder: str) -> None:
    files = [path for path in Path(folder).rglob("*.*") if path.suffix in {".py", ".html", ".css", ".js"}]
    assert files
    assert [str(path) for path in files if SIGN.search(path.read_text("utf-8"))] == []


def _visible_text(client: Client, address: str) -> str:
    text = re.sub(r"<[^>]*>", " ", client.get(address).content.decode())
    return " ".join(text.split())
