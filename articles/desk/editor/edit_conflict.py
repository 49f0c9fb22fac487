"""The form when somebody else has saved the article meanwhile: it comes back with what both changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import QueryDict

from articles.desk.articles.forms import ArticleForm
from articles.desk.editor.changes_since import happened, who_saved_last
from articles.desk.editor.merge import Merge, base_of
from articles.models import Article


def taking_over(sent: QueryDict, article_id: int, changes: Mapping[str, Any]) -> QueryDict:
    """What was sent, with the other's values in the fields that the other alone changed."""
    article = Article.objects.select_related("update").get(pk=article_id)
    merge, fresh, taken = Merge(article, base_of(article, sent.get("base", "")), changes), None, sent.copy()
    for name in merge.theirs_alone() & changes.keys():
        fresh = fresh or ArticleForm(instance=article)
        value = fresh[name].value()
        taken.setlist(name, [str(item) for item in value] if isinstance(value, list) else [str(value or "")])
    return taken


def merge_shown(form: ArticleForm) -> dict[str, Any]:
    """What the form shows of the two versions, if there are two."""
    if not form.is_bound or (merge := form.merge) is None:
        return {}
    labels = {name: str(field.label) for name, field in form.fields.items() if field.label}
    return {
        "merged_with": merge.article.changed_at.isoformat(),
        "differences": merge.differences(labels, form.chosen),
        "happened": happened(merge.article, str(merge.base.number) if merge.base else ""),
        "other": who_saved_last(merge.article),
    }
