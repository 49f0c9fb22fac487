"""What the automatic review says, read by people in different languages."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.utils.translation import override

from articles import publishing
from articles.models import Article, AuditEntry, Notification, Preferences, SensitiveWord
from articles.publishing import rescan
from articles.review import Finding, Opinion, findings_of, inspect
from articles.workflow import Verdict
from tests.articles.factories import make_article, make_editor

pytestmark = pytest.mark.django_db

ENGLISH, CHINESE = "Words to look at: “赌场” (headline).", "需要查看的词语：“赌场”（标题）。"


def submitted(title: str, **values: Any) -> Article:
    article = make_article(title, **values)
    publishing.submit(article, by=make_editor("ada"))
    return Article.objects.get(pk=article.pk)


def reasons(model: Any, **which: Any) -> list[str]:
    """The stored reasons, read in English and in Chinese."""
    found = []
    for language in ("en", "zh-hans"):
        with override(language):
            found.append(model.objects.filter(**which).latest("pk").reason)
    return found


def test_each_reads_the_reason_in_their_language(client: Client) -> None:
    SensitiveWord.objects.create(text="赌场", level=SensitiveWord.Level.REVIEW)
    with override("zh-hans"):
        article = submitted("新赌场开业", author=make_editor("anna"))
    rita = make_editor("rita")
    client.force_login(rita)
    queue, detail = "/admin/articles/queuedarticle/", f"/api/v1/desk/articles/{article.pk}/"

    shown = client.get(queue).content.decode(), client.get(detail).json()["status_reason"]
    Preferences.objects.create(user=rita, language="zh-hans")
    read = client.get(queue).content.decode()

    assert (ENGLISH in shown[0], shown[1]) == (True, ENGLISH)
    assert (CHINESE in read, ENGLISH in read) == (True, False)
    assert reasons(AuditEntry, article_id=article.pk) == [ENGLISH, CHINESE]
    publishing.reject(article, by=rita, reason="No source.")
    assert reasons(Notification, kind=Notification.Kind.REJECTED) == ["No source.", "No source."]


@pytest.mark.parametrize(
    "forged", ["", "{", "5", "null", '[["%(x)d", {}]]', '[["Blocked words: %(words)s.", {"words": [["w", "gone"]]}]]']
)
def test_a_service_cannot_write_what_reads_as_a_message(monkeypatch: pytest.MonkeyPatch, forged: str) -> None:
    service = Opinion(Verdict.UNSURE, f"\x1e{forged}", (Finding("title", message=f"\x1e{forged}"),))
    monkeypatch.setattr("articles.review.pipeline.ask_providers", lambda subject: [service])
    article = submitted("Casino opens", author=make_editor("anna"))
    assert article.status_reason == forged
    assert [finding.message for finding in findings_of(article.revisions.get())] == [forged]


def test_a_stored_message_that_cannot_be_read_is_shown_as_it_is() -> None:
    article = make_article()
    stored = '["%(x)d", {"x": "y"}]'
    with connection.cursor() as cursor:
        cursor.execute("UPDATE articles_article SET status_reason = %s", [f"\x1e[{stored}]"])
    assert Article.objects.get(pk=article.pk).status_reason == f"[{stored}]"


def test_the_review_page_lists_findings_once_and_says_what_is_not_among_them(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    SensitiveWord.objects.create(text="casino", level=SensitiveWord.Level.REVIEW)
    service = Opinion(Verdict.UNSURE, "Ask the lawyers.")
    monkeypatch.setattr("articles.review.pipeline.ask_providers", lambda subject: [service])
    article = submitted("Casino opens")
    client.force_login(make_editor("rita"))

    page = client.get(f"/admin/articles/queuedarticle/{article.pk}/change/").content.decode()

    assert page.count("casino") == 1
    assert "Words to look at" not in page
    assert "Ask the lawyers." in page


def test_so_is_what_a_review_in_the_background_says(settings: Any) -> None:
    SensitiveWord.objects.create(text="赌场", level=SensitiveWord.Level.BLOCK)
    settings.REVIEW_AT_ONCE = 1
    article = submitted("新赌场开业", author=make_editor("anna"))

    rescan.review_submitted(article.pk)

    assert reasons(Notification, kind=Notification.Kind.REJECTED) == [
        "Blocked words: “赌场” (headline).",
        "被拦截的词语：“赌场”（标题）。",
    ]


def test_more_words_than_fit_end_in_an_ellipsis() -> None:
    words = [f"word{number}" for number in range(80)]
    for text in words:
        SensitiveWord.objects.create(text=text, level=SensitiveWord.Level.REVIEW)

    article = submitted("Harbour", body=f"<p>{' '.join(words)}</p>")

    assert article.status_reason.startswith("Words to look at: “word0” (text, paragraph 1); “word1”")
    assert article.status_reason.endswith("; ….")


def test_a_problem_of_an_image_is_accepted_in_any_language() -> None:
    [problem] = inspect(b"", claimed="image/png")
    finding = Finding("body", message=problem.message)

    with override("zh-hans"):
        [same] = inspect(b"", claimed="image/png")
        read = Finding.stored(finding.as_json())

    assert (read.message, read.identity) == (same.message, finding.identity)
    assert read.message != finding.message


def test_words_of_a_service_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    said = Opinion(Verdict.BLOCKED, "The picture shows a minor. " * 30)
    monkeypatch.setattr("articles.publishing.run_review.review", lambda text: said)

    article = submitted("Harbour")

    assert article.status_reason.startswith("The picture shows a minor. The")
    assert len(article.status_reason) <= 500
    assert not findings_of(article.revisions.get())
