"""Change lists whose cost does not depend on the number of rows."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import resolve, reverse
from django.utils import timezone

from articles.limits import MOST_WORDS
from articles.models import Article, AuditEntry, Update
from tests.articles.factories import APPROVED, make_article, make_editor, soon

pytestmark = pytest.mark.django_db

Status = Article.Status
LIST = "/admin/articles/article/"


@pytest.fixture
def desk() -> Client:
    client = Client()
    client.force_login(make_editor())
    return client


@pytest.fixture
def most(monkeypatch: pytest.MonkeyPatch) -> int:
    """How many rows are counted and sorted in these tests."""
    monkeypatch.setattr("articles.desk.bounded.COUNT_LIMIT", 3)
    monkeypatch.setattr("scheduling.database.counting.COUNT_LIMIT", 3)
    return 3


def make_many(*titles: str, **values: Any) -> None:
    """Articles, the last of which is the most recently changed."""
    for number, title in enumerate(titles):
        article = make_article(title, **values)
        changed = timezone.now() - timedelta(hours=len(titles) - number)
        Article.objects.filter(pk=article.pk).update(updated_at=changed)


def shown(desk: Client, query: str = "") -> list[str]:
    return [article.title for article in desk.get(f"{LIST}?{query}").context["cl"].result_list]


def test_counting_stops(desk: Client, most: int) -> None:
    make_many("A", "B")
    assert "2 articles" in " ".join(desk.get(LIST).text.split())
    make_many("C", "D")
    page = desk.get(LIST)
    assert "3+ articles" in " ".join(page.text.split())
    assert page.context["cl"].result_count == most


def test_an_order_without_an_index_sorts_the_most_recently_changed(desk: Client, most: int) -> None:
    make_many("B", "D", "A", "C")
    assert shown(desk, "o=1") == ["A", "C", "D"]
    assert shown(desk, "o=-1") == ["D", "C", "A"]


def test_an_order_with_an_index_is_followed_by_the_key_alone(desk: Client) -> None:
    orders = {query: desk.get(f"{LIST}?o={query}").context["cl"].queryset.query.order_by for query in ("3", "-3", "7")}
    assert orders == {"3": ("goes_live_at", "pk"), "-3": ("-goes_live_at", "-pk"), "7": ("updated_at", "pk")}


def test_the_soonest_scheduled_articles_come_first_whatever_their_status(desk: Client, most: int) -> None:
    for hours, status in enumerate([APPROVED, Status.MANUALLY_APPROVED] * 4):
        make_article(f"{hours}", status=status, publish_at=soon(hours=hours + 1))
    assert shown(desk, "stage=scheduled")[:most] == ["0", "1", "2"]


def test_days_are_filtered_before_rows_are_bounded(desk: Client, most: int) -> None:
    for day in range(1, 6):
        make_article(f"{day}", publish_at=soon().replace(year=2030, month=6, day=day))
    assert sorted(shown(desk, "days_from=2030-06-01&days_to=2030-06-02")) == ["1", "2"]
    assert sorted(shown(desk, "days_from=2030-06-01&days_to=2030-06-05")) == ["3", "4", "5"]


def test_a_bulk_action_on_all_takes_the_rows_that_were_counted(desk: Client, most: int) -> None:
    make_many("A", "B", "C", "D")
    User.objects.update(is_superuser=True)
    chosen = {"action": "delete_selected", "select_across": "1", "post": "yes"}
    desk.post(LIST, {**chosen, "_selected_action": [Article.objects.earliest("pk").pk]})
    assert list(Article.objects.values_list("title", flat=True)) == ["A"]


@pytest.mark.django_db(transaction=True)  # MariaDB finds committed words only
def test_older_articles_are_found_by_words_of_their_text(desk: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    public = {"status": Status.PUBLISHED, "publish_at": soon(hours=-1), "body": "<p>The cranes</p>"}
    make_many("The harbour bridge", "Bridges", **public)
    make_many("Ferry", status=Status.PUBLISHED, publish_at=soon(hours=-1))
    monkeypatch.setattr("articles.desk.articles.search.SEARCHED", 1)
    assert shown(desk, "q=ferr") == ["Ferry"]
    assert sorted(shown(desk, "q=bridge")) == ["Bridges", "The harbour bridge"]
    assert shown(desk, "q=harbour+bridge") == shown(desk, "q=harbour+crane") == ["The harbour bridge"]
    assert shown(desk, "q=harb") == shown(desk, "q=the") == shown(desk, "q=%2B") == []
    assert shown(desk, f"q={Article.objects.get(title='Bridges').pk}") == ["Bridges"]


def test_the_latest_articles_of_the_filter_are_searched(desk: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    make_many("Old draft")
    make_many("New", status=APPROVED)
    monkeypatch.setattr("articles.desk.articles.search.SEARCHED", 1)
    assert shown(desk, "q=draf") == []
    assert shown(desk, "q=draf&stage=draft") == ["Old draft"]


def test_articles_and_updates_to_review_are_counted_once_each() -> None:
    make_article(status=Status.MANUAL_REVIEW)
    live = make_article(status=Status.PUBLISHED, publish_at=soon(hours=-1))
    Update.objects.create(article=live, draft=live.revisions.get(), status=Status.MANUAL_REVIEW)
    both = make_article(status=Status.MANUAL_REVIEW)
    Update.objects.create(article=both, draft=both.revisions.get(), status=Status.MANUAL_REVIEW)
    make_article(status=APPROVED)
    assert Article.objects.needing_review().count() == 3


def test_a_page_takes_the_same_statements_for_any_number_of_articles(
    desk: Client, django_assert_max_num_queries: Any
) -> None:
    make_many(*"ABCDEFGH")
    for query in ("", "o=1", "stage=scheduled", "q=a", "stage=review"):
        with django_assert_max_num_queries(27):
            desk.get(f"{LIST}?{query}")


def test_the_audit_log_is_bounded_too(most: int) -> None:
    chief = Client()
    chief.force_login(User.objects.create_superuser("chief"))
    for name in "DBCA":
        AuditEntry.objects.create(at=timezone.now(), action="edit", source="python", user_name=name)
    latest = AuditEntry.objects.latest_first().values_list("user_name", flat=True)[:most]
    page = chief.get("/admin/articles/auditentry/?o=4")
    assert [entry.user_name for entry in page.context["cl"].result_list] == sorted(latest)
    assert "3+ audit entries" in " ".join(page.text.split())


def test_no_list_of_the_newsroom_searches_for_more_than_twenty_words(admin_client: Client) -> None:
    """Each word costs conditions on all columns that are searched."""
    resolve("/admin/")  # imports all screens
    searched = [model._meta for model, screen in admin.site._registry.items() if screen.search_fields]
    assert len(searched) > 10
    for meta in searched:
        address = reverse(f"admin:{meta.app_label}_{meta.model_name}_changelist")
        assert cost_of(admin_client, address, 100) <= cost_of(admin_client, address, MOST_WORDS) + 200, address


def cost_of(client: Client, address: str, words: int) -> int:
    """Characters of SQL that a search for so many words runs; the words have few letters of their own."""
    with CaptureQueriesContext(connection) as queries:
        response = client.get(address, {"q": " ".join(f"w{number:03}" for number in range(words))})
    assert response.status_code == 200
    return sum(len(query["sql"]) for query in queries)
