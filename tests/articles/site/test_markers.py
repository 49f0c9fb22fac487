"""Sixteen texts that no reader may see yet are in no answer to a stranger: page, header, error, feed, map or copy."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from datetime import timedelta
from statistics import median
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import get_resolver

from articles import images, publishing, releases
from articles.models import Article, Channel, PreviewLink, Tag
from articles.notes import add_note
from articles.publishing.previews import make_preview_link
from tests.articles.factories import APPROVED, approve, make_article, make_channel, make_editor, make_user, soon
from tests.articles.image_files import sent, shown
from tests.headline.test_named_to_staff import flat

pytestmark = pytest.mark.django_db

Status = Article.Status

MARKERS = {
    name: f"zq{name}qz"
    for name in (
        "title", "slug", "body", "excerpt", "alt", "caption", "note", "tag", "description", "author", "update",
        "retraction", "release", "file", "correction",
    )
}  # fmt: skip
"""One for each text; the sixteenth is the token of a preview link."""


@pytest.fixture
def hidden(settings: Any) -> Article:
    """An article that goes live in an hour, beside a live and a retracted one, with all that belongs to it."""
    settings.ARTICLES_TWO_PERSON_RULE, settings.PAGE_CACHE_SECONDS = True, 60.0
    editor, root = make_editor(), make_user("root", is_superuser=True)
    author = User.objects.create_user("unknown", first_name=MARKERS["author"])
    file = sent(name=f"{MARKERS['file']}.jpg")
    image = images.upload(file, by=editor, alt=MARKERS["alt"], caption=MARKERS["caption"]).image
    live = make_article(
        "Harbour bridge",
        channel=make_channel("Town"),
        status=Status.PUBLISHED,
        publish_at=soon(hours=-2),
        author=editor,
    )
    article = make_article(
        MARKERS["title"], slug=MARKERS["slug"], summary=MARKERS["excerpt"], author=author, status=APPROVED,
        body=f"<p>{MARKERS['body']}</p>{shown(image)}", channel=live.channel, publish_at=soon(hours=1),
    )  # fmt: skip
    article.tags.add(Tag.objects.create(name=MARKERS["tag"], slug="rain"))
    make_channel("Closed", slug="closed", description=MARKERS["description"], enabled=False)
    add_note(article, by=editor, text=MARKERS["note"])
    for changes, correction in (({"title": MARKERS["update"]}, ""), ({}, MARKERS["correction"])):
        publishing.edit(live, by=editor, changes=changes, note=MARKERS["note"], correction=correction)
    publishing.submit(live, by=editor)
    approve(live)
    retracted = make_article("Old", status=Status.PUBLISHED, publish_at=soon(hours=-3), published_at=soon(hours=-3))
    publishing.retract(retracted, by=root, notice=MARKERS["retraction"])
    releases.create_release(name=MARKERS["release"], by=editor)
    make_preview_link(article, by=editor, lasts=timedelta(days=1))
    return article


def token() -> str:
    """The secret of the preview link."""
    return PreviewLink.objects.get().get_absolute_url().rstrip("/").rpartition("/")[2]


def addresses(article: Article) -> Iterator[str]:
    """Each URL of the project with the keys of what is hidden, and of what is not."""
    image, author = article.images[0], article.author_id
    for _pattern, route in flat(get_resolver().url_patterns, ""):
        plain = route.replace("\\Z", "").replace("^", "").removesuffix("$")
        if "(?P<" in plain:
            continue
        others = Article.objects.exclude(pk=article.pk).values_list("pk", flat=True)
        for key in (article.pk, *(() if plain.startswith("admin/") else others)):  # a stranger is asked to log in
            filled = plain.replace("<uuid:pk>", image).replace("author/<int:pk>", f"author/{author}")
            filled = filled.replace("<str:form>", "json").replace("<str:name>", "320.webp")
            for slug in ("rain", "closed", "town"):
                yield "/" + re.sub("<[^>]*>", str(key), filled.replace("<str:slug>", slug))
    yield from (
        f"{address}?{query}"
        for address in ("/search/", "/api/v1/articles/", "/", "/latest/")
        for query in (
            "q=harbour",
            "q=text",
            "tag=rain",
            f"author={author}",
            "channel=closed",
            "channel=town",
            "since=x",
        )
    )
    yield from ("/api/v1/articles/?updated_since=2000-01-01T00:00:00Z", "/nothing/", "/robots.txt", "/admin/nothing/")


def said(answer: Any) -> str:
    """Headers, cookies and body of an answer."""
    body = b"".join(answer.streaming_content) if answer.streaming else answer.content
    return f"{answer.headers}{answer.cookies}{body.decode('utf-8', 'replace')}"


def test_no_answer_to_a_stranger_has_any_of_sixteen_markers(hidden: Article) -> None:
    markers = {**MARKERS, "token": token()}
    assert len(markers) == 16
    asked = dict.fromkeys(addresses(hidden))
    assert len(asked) > 200
    found = set()
    for address in asked:
        for turn in range(2):  # the second answer may come from the cache
            text = said(Client().get(address, headers={"Accept-Language": ("en", "zh-hans")[turn]})).lower()
            found |= {(name, address) for name, marker in markers.items() if marker.lower() in text}
        if address.startswith("/api/"):
            text = said(Client().options(address)).lower()
            found |= {(name, f"OPTIONS {address}") for name, marker in markers.items() if marker.lower() in text}
    assert found == set()


def test_the_markers_are_found_once_they_are_public(hidden: Article) -> None:
    Article.objects.filter(pk=hidden.pk).update(publish_at=soon(seconds=-1))
    Channel.objects.update(enabled=True)
    text = "".join(said(Client().get(address)) for address in (hidden.get_absolute_url(), "/channel/closed/"))
    seen = {name for name, marker in MARKERS.items() if marker in text}
    assert seen >= {"title", "slug", "body", "excerpt", "alt", "tag", "description", "author"}


def pairs(article: Article) -> list[tuple[str, str]]:
    """Addresses of what is hidden, each with one of the same length at which there is nothing."""
    image, unknown = article.images[0], str(uuid4())
    author = article.author_id or 0
    pk, other = article.pk, 10 ** (len(str(article.pk)) - 1) * 9
    assert not Article.objects.filter(pk=other).exists()
    key, _dot, secret = token().partition(".")
    wrong = "x" * len(secret)
    return [
        (f"/article/{pk}/", f"/article/{other}/"),
        (f"/article/{pk}/{article.slug}/", f"/article/{other}/{article.slug}/"),
        (f"/article/{pk}/{article.slug}/", f"/article/{pk}/{article.slug[::-1]}/"),
        (f"/api/v1/articles/{pk}/", f"/api/v1/articles/{other}/"),
        ("/tag/rain/", "/tag/fogs/"),
        ("/tag/rain/feed/json/", "/tag/fogs/feed/json/"),
        ("/channel/closed/", "/channel/opened/"),
        (f"/author/{author}/", f"/author/{10 ** len(str(author)) - 1}/"),
        (f"/media/{image}/320.webp", f"/media/{unknown}/320.webp"),
        (f"/preview/{key}.{wrong}/", f"/preview/{uuid4()}.{wrong}/"),
        ("/api/v1/articles/?tag=rain", "/api/v1/articles/?tag=fogs"),
        (f"/api/v1/articles/?author={author}", f"/api/v1/articles/?author={author + 1}"),
        ("/search/?tag=rain", "/search/?tag=fogs"),
        (f"/search/?q={MARKERS['title']}", f"/search/?q={MARKERS['title'][::-1]}"),
        (f"/admin/articles/article/{pk}/change/", f"/admin/articles/article/{other}/change/"),
    ]


def known(address: str) -> tuple[Any, ...]:
    """What a stranger learns from an answer: status, length, headers, number of statements, and CPU seconds."""
    started = time.thread_time()
    with CaptureQueriesContext(connection) as statements:
        answer: Any = Client().get(address, headers={"Cache-Control": "no-cache"})
    spent = time.thread_time() - started
    headers = {name: text for name, text in answer.headers.items() if name not in ("Expires", "Date", "X-Request-ID")}
    length = len(said(answer))
    return answer.status_code, length, {name: len(text) for name, text in headers.items()}, len(statements), spent


def test_what_is_hidden_is_answered_as_what_does_not_exist(hidden: Article, settings: Any) -> None:
    settings.PAGE_CACHE_SECONDS = 0.0
    different = {}
    for ours, none in pairs(hidden):
        for address in (ours, none):
            known(address)  # compiles templates
        turns = [(known(ours), known(none)) for _turn in range(5)]
        first, second = turns[-1]
        ratio = median(turn[0][-1] for turn in turns) / median(turn[1][-1] for turn in turns)
        if first[:-1] != second[:-1] or not 1 / 3 < ratio < 3:
            different[ours] = (first, second, ratio)
    assert different == {}
