"""One-line texts, such as headlines: one rule, whether they come from the form, the API or a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client

from articles.models import Article, Channel
from articles.text import visible
from tests.articles.factories import make_editor

pytestmark = pytest.mark.django_db

BROKEN = "a\r\nBcc: x\u2028\u202eb\u2066\x0b c "
LINE = "a Bcc: x b c"
UNSEEN = ["\u200b", "\u2060 \u3164", "\u202e", "\u2028"]


@pytest.fixture
def desk() -> Client:
    client = Client()
    client.force_login(make_editor())
    return client


def by_api(desk: Client, title: str) -> int:
    texts = {"title": title, "summary": title, "byline": title}
    return desk.post("/api/v1/desk/articles/", texts, content_type="application/json").status_code


def by_form(desk: Client, title: str) -> int:
    form = {"title": title, "summary": title, "byline": title, "body": "<p>x</p>", "seen": "", "cover_mode": "auto"}
    return desk.post("/admin/articles/article/add/", {**form, "_continue": "1"}).status_code


def by_file(title: str, folder: Path) -> None:
    file = folder / "articles.jsonl"
    file.write_text(json.dumps({"title": title, "summary": title, "byline": title, "body": "<p>x</p>"}))
    call_command("import_articles", str(file))


def stored() -> list[tuple[str, ...]]:
    return list(Article.objects.values_list("title", "summary", "byline"))


def test_lines_are_lines_in_every_source(desk: Client, tmp_path: Path) -> None:
    assert (by_api(desk, BROKEN), by_form(desk, BROKEN)) == (201, 302)
    by_file(BROKEN, tmp_path)
    assert stored() == [(LINE, LINE, LINE)] * 3
    pk = Article.objects.latest("pk").pk
    assert desk.patch(f"/api/v1/desk/articles/{pk}/", {"title": "\u202ex"}, "application/json").status_code == 200
    assert Article.objects.get(pk=pk).title == "x"


@pytest.mark.cases(2)
@pytest.mark.parametrize("title", UNSEEN, ids=ascii)
def test_a_headline_that_cannot_be_seen_is_refused_in_every_source(desk: Client, tmp_path: Path, title: str) -> None:
    assert (by_api(desk, title), by_form(desk, title)) == (400, 200)
    assert stored() == []
    by_file(title, tmp_path)
    assert [visible(found) for found, _summary, _byline in stored()] == ["x"], "of a file, the text gives it one"


def test_the_name_of_a_channel_is_a_line_that_can_be_seen(desk: Client) -> None:
    form = {"name": "\u200b", "slug": "x", "position": "0"}
    assert desk.post("/admin/articles/channel/add/", form).status_code == 200
    assert desk.post("/admin/articles/channel/add/", {**form, "name": BROKEN}).status_code == 302
    assert Channel.objects.get().name == LINE
