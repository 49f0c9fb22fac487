"""Times that the database sets when a row is saved: they are read when they are asked for."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from django.db import transaction
from django.db.models.signals import post_delete

from articles.models import SensitiveWord
from tests.articles.factories import make_article, soon

pytestmark = pytest.mark.django_db


def make_word(text: str = "foo") -> SensitiveWord:
    word = SensitiveWord(text=text, level="block")
    word.save()
    return word


def test_a_row_that_is_saved_again_keeps_the_time_of_its_creation() -> None:
    since = soon()
    word = make_word()
    word.level = "review"
    word.save()
    created = word.created_at
    assert since <= created <= soon()
    word.save()
    assert SensitiveWord.objects.values_list("level", "created_at").get() == ("review", created)


def test_a_copy_of_a_row_that_was_just_created_is_a_new_row() -> None:
    word = make_word()
    word.pk, word.text, word._state.adding = None, "bar", True
    word.save()
    assert sorted(SensitiveWord.objects.values_list("text", flat=True)) == ["bar", "foo"]
    assert pickle.loads(pickle.dumps(word)).created_at == SensitiveWord.objects.get(text="bar").created_at  # noqa: S301


def test_a_row_is_saved_again_after_its_transaction_was_rolled_back() -> None:
    word = SensitiveWord(text="foo", level="block")
    with pytest.raises(RuntimeError), transaction.atomic():
        word.save()
        raise RuntimeError
    assert [word.created_at] == [None], "it is not stored"
    word.save()
    assert SensitiveWord.objects.get().created_at == word.created_at
    word.delete()
    assert word.created_at is not None


def test_a_row_that_is_saved_by_its_key_has_its_times() -> None:
    stored = make_word()
    word = SensitiveWord(pk=stored.pk, text="foo", level="review")
    word.save()
    assert word.created_at == stored.created_at


def test_a_deleted_row_has_no_time_that_was_not_read_before() -> None:
    seen: list[Any] = []

    def look(instance: Any, **_sent: Any) -> None:
        seen.append(instance.created_at)

    post_delete.connect(look, SensitiveWord)
    try:
        make_word().delete()
    finally:
        post_delete.disconnect(look, SensitiveWord)
    assert seen == [None]


def test_an_article_that_is_saved_has_its_times() -> None:
    article = make_article()
    created, updated = article.created_at, article.updated_at
    article.title = "Harbour bridge closes"
    article.save(update_fields=["title"])
    assert (article.created_at, article.updated_at) == (created, updated)
    article.title = "Harbour bridge reopens"
    article.save()
    assert article.created_at == created
    assert article.updated_at > updated
