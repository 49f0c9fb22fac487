"""The service behind the form of an article."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from articles import publishing
from articles.models import Article, AuditEntry, Autosave
from articles.publishing import SentForm, Unconfirmed
from articles.workflow import Transition
from tests.articles.factories import APPROVED, make_article, make_editor

pytestmark = pytest.mark.django_db(transaction=True)


def sent(**more: Any) -> SentForm:
    values: dict[str, Any] = {"note": "", "correction": "", "tags": [], "publish_at": None, "update_at": None}
    given: dict[str, Any] = {"window": uuid4(), "digest": "0", "transitions": [], "values": values, "changes": {}}
    return SentForm(**{**given, "changed": (), "sets_update_time": False, "seen": None, "answers": {}, **more})


def test_what_readers_notice_is_made_only_when_it_is_confirmed() -> None:
    article, editor = make_article("Harbour", status=APPROVED), make_editor()
    form = sent(transitions=[Transition.PUBLISH_NOW], changed=["note"])
    publishing.save_autosave(form.window, article, by=editor, typed={"note": ["x"]}, number=1)
    entries = AuditEntry.objects.count()
    with pytest.raises(Unconfirmed) as asked:
        publishing.apply_form(article, form, by=editor, confirmed=False)
    assert asked.value.typed and "Readers will see it immediately." in asked.value.consequences
    assert Article.objects.get().status == APPROVED
    assert (AuditEntry.objects.count(), Autosave.objects.count()) == (entries, 1)
    publishing.apply_form(article, form, by=editor, confirmed=True)
    assert Article.objects.get().status == Article.Status.PUBLISHED
    assert not Autosave.objects.exists()


def test_a_window_creates_one_article() -> None:
    editor, form = make_editor(), sent()
    publishing.apply_form(Article(title="Harbour", body="<p>A quay.</p>"), form, by=editor, confirmed=False)
    with pytest.raises(publishing.FormSubmitted) as earlier:
        publishing.apply_form(Article(title="Harbour", body="<p>A quay.</p>"), form, by=editor, confirmed=False)
    assert earlier.value.form.article == Article.objects.get()
