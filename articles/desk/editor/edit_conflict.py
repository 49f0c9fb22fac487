"""Shows the article form again after an edit conflict, with both versions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext as _

from articles.audit import Actor
from articles.desk.articles.forms import ArticleForm
from articles.desk.editor.changes_since import happened, who_saved_last
from articles.desk.editor.merge import Merge
from articles.desk.parse import number_or_zero
from articles.models import Article, named


def taking_over(sent: QueryDict, article_id: int, changes: Mapping[str, Any]) -> QueryDict:
    """The submitted form, with the other user's values in fields and paragraphs only they changed."""
    article = Article.objects.select_related("update").get(pk=article_id)
    base = article.revisions.filter(number=number_or_zero(sent.get("base", ""))).first()
    merge, fresh, taken = Merge(article, base, changes), None, sent.copy()
    for name in merge.theirs_alone() & changes.keys():
        fresh = fresh or ArticleForm(instance=article)
        value = fresh[name].value()
        taken.setlist(name, [str(item) for item in value] if isinstance(value, list) else [str(value or "")])
    if base and merge.body:
        taken["body"] = merge.body.body({})
    return taken


def merge_shown(form: ArticleForm, reader: Actor) -> dict[str, Any]:
    """The conflict as shown by the form, if there is one."""
    if not form.is_bound or (merge := form.merge) is None:
        return {}
    labels = {name: str(field.label) for name, field in form.fields.items() if field.label}
    other = who_saved_last(merge.article)
    return {
        "merged_with": merge.article.changed_at.isoformat(),
        "differences": merge.differences(labels, form.chosen),
        "happened": happened(merge.article, str(merge.base.number) if merge.base else "", reader),
        "other": named(other) if other else _("Another user"),
        "is_own": other == reader,
    }
