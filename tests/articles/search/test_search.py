"""Search: everything that readers may see is found by its words, and nothing else."""

from __future__ import annotations

import gc
import random
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import caches
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from articles import publishing
from articles.limits import BODY_LENGTH
from articles.listing.cursor import cursor_of
from articles.models import Article, SearchEntry, Tag
from articles.search import index, indexing, query, reconcile_index
from articles.search.terms import index_terms
from articles.site.pagination import SIZE
from tests.articles.factories import (
    APPROVED,
    EARLY,
    approve,
    make_article,
    make_channel,
    make_editor,
    make_user,
    soon,
)
from tests.articles.import_files import run_import, write_lines
from tests.conftest import Manage

# InnoDB finds a text by FULLTEXT once it is committed.
pytestmark = pytest.mark.django_db(transaction=True)

Status = Article.Status
FAR = "Far away. " * 40
HARBOUR = "Harbour bridges reopened"


def live(title: str = HARBOUR, **values: Any) -> Article:
    return make_article(title, **{"status": Status.PUBLISHED, "publish_at": soon(hours=-1), **values})


def found(q: str, **query: str | int) -> list[str]:
    """The titles that programs get; readers get the same."""
    wanted: dict[str, str | int] = {"q": q, **query}
    results = Client().get("/api/v1/articles/", wanted).json()["results"]
    page = Client().get("/search/", wanted).text
    assert re.findall(r'data-id="(\d+)"', page) == [str(item["id"]) for item in results]
    return [item["title"] for item in results]


@pytest.mark.cases(1)
@pytest.mark.parametrize("walks", [[], [100]])
def test_words_are_found_in_any_form_in_every_language(walks: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """By the index and by reading. R5.8"""
    monkeypatch.setattr(query.Frequencies, "scan_lengths", lambda _frequencies: walks)
    live(body="<p>北京<b>大學</b>在2026年開放</p><p>5G手機</p><script>tunnel</script>", byline="Zoë Façade")
    live("Elsewhere")
    words = ("bridge", "HARBOUR reopens", "ｂｒｉｄｇｅ", "facade", "zoe", "the bridges", "手机 5g", "2026")
    for text in (*words, "北京大学", "京大", "大", "学在", "开放", "“大学”，bridge!"):
        assert found(text) == [HARBOUR], text
    for text in ("brid", "京北", "harbour tunnel", "b", "p", "script", "the", "年开手"):
        assert found(text) == [], text


@pytest.mark.cases(5)
@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("The Donau\u00addampf\u00adschiff is back", "donaudampfschiff"), ("北\u200b京 opens", "北京"),
        ("A snow\u2060ball, \ufeffthrown", "snowball"), ("می\u200cخواهم", "میخواهم"), ("بِسْمِ", "بسم"),
        ("It was 10,000 tons", "10000"), ("It was 10000 tons", "10,000"), ("10\u202f000 tons", "10’000"),
        ("Send an e-mail", "email"), ("Send an email", "e\u2011mail"), ("Send an e-mail", "mail"),
        ("The U.S. agreed", "US"), ("The US agreed", "u.s."), ("J.R.R. Tolkien", "jrr tolkien"),
    ],
)  # fmt: skip
def test_words_are_found_however_they_are_written(written: str, asked: str) -> None:
    live(written)

    assert found(asked) == [written]


def test_a_headline_counts_more_than_the_text_and_news_more_than_history() -> None:
    """R5.8"""
    live("Budget", publish_at=soon(days=-9), body="rain")
    live("Rain and budget", publish_at=soon(days=-8))
    live("Weather", publish_at=soon(days=-7), summary="Rain hits the budget, and the budget hits the rain")
    live("Rains, budgets", publish_at=soon(days=-6))
    assert found("rain budget") == ["Rains, budgets", "Rain and budget", "Budget", "Weather"]
    assert found("rain") == ["Rains, budgets", "Rain and budget", "Weather", "Budget"]


def test_matches_are_marked_and_escaped() -> None:
    live(
        "<b>Bridge</b> & 大橋",
        summary="Nothing here.",
        body=f"<p>{'Far away. ' * 40}The old bridge &lt;i&gt; of 大桥.</p>",
    )
    marked = "&lt;b&gt;<mark>Bridge</mark>&lt;/b&gt; &amp; <mark>大橋</mark>"
    shown = Client().get("/api/v1/articles/", {"q": "the bridges 大桥"}).json()["results"][0]["highlight"]
    assert shown["title"] == marked
    assert "The old <mark>bridge</mark> &lt;i&gt; of <mark>大桥</mark>." in shown["text"]
    assert shown["text"].startswith("…") and len(shown["text"]) < 400
    page = Client().get("/search/", {"q": "bridges 大桥"}).text
    assert marked in page and "<i>" not in page


def test_the_search_is_filtered_by_channel_tag_author_and_day() -> None:
    ada, sport = User.objects.create_user("ada", first_name="Ada"), make_channel("Sport")
    noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    live("Rowing in the rain", channel=sport, publish_at=noon).tags.add(Tag.objects.create(name="Boats"))
    live("Rain by Ada", author=ada, publish_at=noon + timedelta(days=1))
    live("Rain by somebody who is Ada", author=ada, byline="A reporter", publish_at=noon + timedelta(days=2))
    assert found("rain", channel="sport") == found("rain", tag="boats") == ["Rowing in the rain"]
    assert found("rain", author=ada.pk) == ["Rain by Ada"]
    page = Client().get("/search/", {"q": "rain", "since": "2026-03-02", "until": "2026-03-02"})
    assert [article.title for article in page.context["page"].articles] == ["Rain by Ada"]
    page = Client().get("/search/", {"tag": "boats"})
    assert [article.title for article in page.context["page"].articles] == ["Rowing in the rain"]


def test_the_index_is_correct_after_every_change() -> None:
    """R5.5"""
    alice, article = make_editor(), live()
    publishing.edit(article, by=alice, changes={"title": "Harbour tunnel closed"})
    assert (found("bridge"), found("tunnel")) == ([HARBOUR], [])
    publishing.submit(article, by=alice)
    approve(article)
    assert (found("bridge"), found("tunnel")) == ([HARBOUR], [])
    publishing.publish_update(article, by=alice)
    assert (found("bridge"), found("tunnel")) == ([], ["Harbour tunnel closed"])
    publishing.unpublish(article, by=alice)
    assert found("tunnel") == []
    publishing.republish(article, by=alice)
    assert found("tunnel") == ["Harbour tunnel closed"]
    publishing.retract(article, by=alice, notice="It was not so.")
    assert found("tunnel") == [] and not SearchEntry.objects.exists()


def test_an_update_is_found_as_soon_as_it_is_live() -> None:
    alice, article = make_editor(), live()
    publishing.edit(article, by=alice, changes={"body": "<p>The tunnel</p>"})
    publishing.submit(article, by=alice)
    approve(article)
    assert found("tunnel") == []
    publishing.schedule_update(article, publish_at=soon(seconds=-1), by=alice)
    assert found("tunnel") == [HARBOUR], "without a worker"
    with transaction.atomic():
        publishing.update_due([article.pk])
    assert found("tunnel") == [HARBOUR]


def test_an_article_is_found_exactly_while_it_is_live_without_any_worker() -> None:
    """R0.2, R5.5"""
    article = make_article(HARBOUR, status=APPROVED, publish_at=soon(hours=1))
    assert found("bridge") == []
    Article.objects.update(publish_at=soon())
    assert found("bridge") == [HARBOUR]
    Article.objects.update(unpublish_at=soon())
    assert found("bridge") == []
    Article.objects.update(unpublish_at=None)
    article.delete()
    assert found("bridge") == []


def test_going_live_writes_nothing_to_the_index() -> None:
    articles = [make_article(f"{HARBOUR} {n}", status=APPROVED, publish_at=soon(seconds=-1)) for n in range(3)]
    with CaptureQueriesContext(connection) as queries, transaction.atomic():
        assert len(publishing.publish_due([article.pk for article in articles]).done) == 3
    assert not [query for query in queries.captured_queries if SearchEntry._meta.db_table in query["sql"]]
    assert len(found("bridge")) == 3


def test_imports_are_found_and_drafts_are_not_indexed(tmp_path: Path) -> None:
    make_article("Bridge of a draft")
    record = {"external_id": "1", "title": HARBOUR, "status": "published", "published_at": "2026-01-01T00:00:00Z"}
    run_import(write_lines(tmp_path / "articles.jsonl", record))
    assert found("bridge") == [HARBOUR]
    assert SearchEntry.objects.count() == 1


def test_changes_that_bypass_the_index_are_reconciled(manage: Manage) -> None:
    values = {"status": Status.PUBLISHED, "publish_at": soon(hours=-1)}
    Article.objects.bulk_create([Article(title=HARBOUR, **values)])
    assert found("bridge") == []
    assert "healed=" in manage("refresh").stdout
    assert found("bridge") == [HARBOUR]
    assert reconcile_index() == 0
    Article.objects.update(title="Harbour tunnel closed")
    assert manage("reindex").stdout == "indexed=1\n"
    assert (found("bridge"), found("tunnel")) == ([], ["Harbour tunnel closed"])
    Article.objects.update(status=Status.REJECTED)
    assert manage("reindex").stdout == "indexed=1\n"
    assert not SearchEntry.objects.exists()


def test_a_text_written_by_a_statement_is_indexed_by_the_next_run() -> None:
    article = live()
    seen = article.updated_at
    Article.objects.filter(pk=article.pk).update(title="Harbour tunnel closed")
    assert reconcile_index() == 1
    assert (found("bridge"), found("tunnel")) == ([], ["Harbour tunnel closed"])
    assert Article.objects.get().updated_at > seen, "an editor who has the form open gets a conflict"


@pytest.mark.thorough
def test_indexed_texts_are_freed_without_the_garbage_collector() -> None:
    """Workers rarely run it."""
    Article.objects.filter(pk=live().pk).update(body="<p>Ferries</p>")
    gc.collect()
    gc.disable()
    try:
        assert reconcile_index() == 1
        assert not [found for found in gc.get_objects() if type(found) is SearchEntry]  # `isinstance` asks weak proxies
    finally:
        gc.enable()


def test_articles_about_to_go_live_are_indexed_by_the_next_run() -> None:
    Article.objects.bulk_create([Article(title=HARBOUR, status=APPROVED, publish_at=soon(seconds=1))])
    assert reconcile_index() == 0
    Article.objects.update(publish_at=soon(hours=-1), cleared_at=EARLY)
    assert reconcile_index() == 1
    assert found("bridge") == [HARBOUR]


def test_pages_of_results_are_complete_with_equal_times_and_ranks() -> None:
    moment = soon(hours=-1)
    titles = [*(f"Rain {number}" for number in range(SIZE)), *(f"Dry {number}" for number in range(SIZE))]
    Article.objects.bulk_create(
        Article(title=title, summary="Rain", status=Status.PUBLISHED, publish_at=moment) for title in titles
    )
    reconcile_index()
    address, seen = "?q=rain", []
    while address:
        text = Client().get(f"/search/{address}")
        page = text.context["page"]
        seen += [article.title for article in page.articles]
        address = f"?{text.context['older']}" if page.last else ""
    expected = [*titles[:SIZE][::-1], *titles[SIZE:][::-1]]
    assert seen == expected
    response, listed = Client().get("/api/v1/articles/?q=rain&page_size=30").json(), []
    while True:
        listed += [item["title"] for item in response["results"]]
        if response["next"] is None:
            break
        response = Client().get(response["next"]).json()
    assert listed == expected


BAD = [
    "x" * 10_240, "汉" * 10_240, "%", "***", "+-*\"()~<>@", "\0", "a\0b", "\x01\x02\x1b", "🚀", "👩\u200d👧", "汉",
    "'; DROP TABLE", "a AND", "NEAR(", "heading:", "\"unbalanced", "{a b}", "^", "-", "the", " ", "ü" * 90,
    "\u202e\u200b", "a" * 100, " ".join("abcdefghijklmnopqrstuvwxyz"),
]  # fmt: skip


def test_any_input_gives_a_page_and_the_api_reports_errors() -> None:
    live()
    for text in BAD:
        page = Client().get("/search/", {"q": text})
        assert page.status_code == 200, text
        assert HARBOUR not in page.text
        assert Client().get("/api/v1/articles/", {"q": text}).status_code in (200, 400), text
    odd = {"channel": "x", "since": "yesterday", "until": "9999-12-31", "author": "9" * 30, "before": "²", "tag": "\0"}
    for name, value in (*odd.items(), ("before", "9" * 99), ("since", "0001-01-01")):
        assert Client().get("/search/", {"q": "bridge", name: value}).status_code == 200, name
    assert "at most 100 characters" in Client().get("/search/", {"q": "x" * 101}).text


def test_a_search_without_results_says_so_and_an_empty_form_does_not() -> None:
    live()
    advice = "No results. Try fewer or different words"
    assert advice in Client().get("/search/", {"q": "submarine"}).text
    assert advice not in Client().get("/search/", {"q": "bridge"}).text
    assert advice not in Client().get("/search/").text


def test_hidden_articles_cannot_be_found_not_even_through_cursors() -> None:
    live("Rain in March", publish_at=soon(days=-2))
    hidden = make_article("Rain tomorrow", status=APPROVED, publish_at=soon(days=1), author=make_user("eve"))
    unpublished = make_article("Rain withdrawn", status=Status.UNPUBLISHED, publish_at=soon(days=-3))
    for article in (hidden, unpublished):
        page = Client().get("/search/", {"q": "rain", "before": str(article.pk)}).context["page"]
        assert [shown.title for shown in page.articles] == ["Rain in March"]
    assert found("tomorrow") == found("unpublished") == []


@pytest.fixture
def common(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Rain in every other one of 60 articles, in the headline or in the text: the titles as they should be found."""
    monkeypatch.setattr(query, "_SMALL_INDEX", 0)
    monkeypatch.setattr(query, "_sample", lambda _largest: SearchEntry.objects.all())
    monkeypatch.setattr(query, "WINDOW", 7)
    texts = [("Rain", ""), ("Sun", ""), ("Wind", "and rain"), ("Snow", "")] * 15
    titles = [f"{title} {number}" for number, (title, _summary) in enumerate(texts)]
    Article.objects.bulk_create(
        Article(title=title, summary=summary, status=Status.PUBLISHED, publish_at=soon(hours=-number))
        for number, (title, (_title, summary)) in enumerate(zip(titles, texts, strict=True), 1)
    )
    reconcile_index()
    found = titles[::2]
    windows = [found[start : start + 7] for start in range(0, len(found), 7)]
    return [title for window in windows for title in sorted(window, key=lambda title: title.startswith("Wind"))]


def walked(address: str, **query: str) -> list[str]:
    """The titles on all pages of what programs find."""
    response, titles = Client().get(address, query).json(), []
    while True:
        titles += [item["title"] for item in response["results"]]
        if response["next"] is None:
            return titles
        response = Client().get(response["next"]).json()


@pytest.mark.thorough
def test_all_articles_with_a_common_word_are_found_in_windows_by_scan_and_index(
    common: list[str], monkeypatch: pytest.MonkeyPatch, client: Client
) -> None:
    """R5.8"""
    with CaptureQueriesContext(connection) as read:
        assert walked("/api/v1/articles/", q="rain", page_size="3") == common
    monkeypatch.setattr(query, "_MAX_SCAN", 0)
    caches["responses"].clear()  # or the second asking would get the answers of the first
    with CaptureQueriesContext(connection) as indexed:
        assert walked("/api/v1/articles/", q="rain", page_size="3") == common
    assert [any("MATCH" in query["sql"] for query in way.captured_queries) for way in (read, indexed)] == [False, True]
    address, titles = "q=rain", []
    while address:
        context = client.get(f"/search/?{address}").context
        titles += [article.title for article in context["page"].articles]
        address = context["older"]
    assert titles == common


def test_a_forged_cursor_is_ignored() -> None:
    live()
    assert Client().get("/api/v1/articles/", {"q": "bridge", "older": "1~x"}).status_code == 400
    page = Client().get("/search/", {"q": "bridge", "older": "1~x"}).context["page"]
    assert [article.title for article in page.articles] == [HARBOUR]


def test_a_cursor_filters_a_list_too_and_has_its_own_cache_entry() -> None:
    pending_update, older = live("Newer"), live("Older", publish_at=soon(hours=-2))
    address = "/api/v1/articles/"
    titles = [
        [item["title"] for item in Client().get(address, query).json()["results"]]
        for query in ({}, {"older": str(cursor_of(pending_update))}, {"older": str(cursor_of(older))})
    ]
    assert titles == [["Newer", "Older"], ["Older"], []]


@pytest.mark.thorough
def test_the_longest_text_fits_into_a_packet_of_mariadb() -> None:
    body = "".join(map(chr, random.Random(1).choices(range(0x4E00, 0x9000), k=BODY_LENGTH)))
    packet = 16 * 1024 * 1024  # the server's default
    assert len(index_terms(body).encode()) < packet
    assert indexing._MAX_CHARACTERS * len("汉".encode()) < packet


def test_entries_too_long_for_one_statement_are_inserted_by_several(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one statement they would be longer than MariaDB takes, and a release with their updates never went live."""
    monkeypatch.setattr(indexing, "_MAX_CHARACTERS", 5_000)
    body = " ".join(f"word{number}" for number in range(500))
    articles = [Article(title=f"No. {number}", status=APPROVED, body=body) for number in range(3)]
    Article.objects.bulk_create(articles)
    with CaptureQueriesContext(connection) as captured:
        assert index(Article.objects.values_list("pk", flat=True)) == 3
    inserts = [query["sql"] for query in captured if query["sql"].startswith("INSERT")]
    assert [len(sql) < 8_000 for sql in inserts] == [True] * 3
