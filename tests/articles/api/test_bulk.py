"""Bulk actions by API: a row of the answer for each id, also where nothing was done."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from articles.limits import MOST_BULK
from articles.models import Article
from articles.roles import Role
from headline.api.tokens import issue
from tests.articles.factories import make_article, make_editor, make_member

URL = "/api/v1/desk/bulk-actions/"

pytestmark = pytest.mark.django_db


def client_of(user: User) -> APIClient:
    """With a token, since large bodies need a signed-in user before they are read."""
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {issue(user, by=user, name='sync')[1]}")
    return client


@pytest.mark.thorough
def test_ten_thousand_ids_have_a_row_each_in_few_statements() -> None:
    drafts = [make_article(f"Draft {number}", body="<p>Text.</p>").pk for number in range(3)]
    sent = [*drafts, *range(10**9, 10**9 + MOST_BULK - len(drafts))]
    with CaptureQueriesContext(
        connection,
    ) as queries:
        response = client_of(make_editor()).post(URL, {"transition": "submit", "articles": sent})
    assert response.status_code == 201, response.content
    report: dict[str, Any] = response.json()
    rows = {row["article"]: row for row in report["results"]}
    assert report["finished_at"] is not None
    assert sorted(rows) == sent
    assert report["counts"] == {"total": MOST_BULK, "done": 3, "refused": MOST_BULK - 3}
    assert rows[sent[-1]] == {
        "article": sent[-1],
        "title": "",
        "state": "refused",
        "reason": "The article has been deleted.",
    }
    assert len(queries) < 250
    refused = client_of(make_editor("bob")).post(URL, {"transition": "submit", "articles": [*sent, 1]})
    assert (refused.status_code, [*refused.json()]) == (400, ["articles", "code"])


def test_a_row_says_why_an_article_is_refused() -> None:
    mei = make_member(Role.AUTHOR, "mei")
    own, other = make_article("Own", author=mei), make_article("Other", author=make_editor())
    asked = {"transition": "submit", "articles": [own.pk, other.pk, own.pk]}
    report = client_of(mei).post(URL, asked).json()
    assert [(row["article"], row["state"]) for row in report["results"]] == [(own.pk, "done"), (other.pk, "refused")]
    assert report["results"][1]["reason"]
    assert Article.objects.get(pk=other.pk).status == Article.Status.DRAFT
