"""Tools of the benchmarks."""

from __future__ import annotations

import pytest
from django.db import connection

from articles.models import Article
from bench.rows import multiply
from tests.articles.factories import make_article


@pytest.mark.slow  # the benchmarks' own SQL needs MariaDB
@pytest.mark.django_db
def test_rows_are_copied_whatever_columns_their_table_has() -> None:
    made = make_article("One", body="<p>Text</p>", status=Article.Status.APPROVED)
    with connection.cursor() as cursor:
        multiply(cursor, "articles_article", 3, title="CONCAT('Copy ', seq)", status="ELT(seq, 8, 9, 9)")
    copies = Article.objects.exclude(pk=made.pk).order_by("title")
    assert [(one.title, one.status) for one in copies] == [("Copy 1", 8), ("Copy 2", 9), ("Copy 3", 9)]
    assert {one.body for one in copies} == {made.body}
