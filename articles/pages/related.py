"""Related articles: those with the most tags in common first, then the newest of the channel."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Count, OuterRef, Subquery
from django.db.models.functions import Coalesce

from articles.models import Article, Tag, Tagging
from scheduling.database import database_now, in_any

RELATED = 4

MAX_TAGS, MAX_PER_TAG = 8, 12
"""Limits of the candidates: an article's first tags, and the newest articles with each of them."""


def related_to(article: Article, tags: Sequence[Tag]) -> list[Article]:
    """Live articles related to `article`, in one statement that reads a bounded number of rows."""
    live = Article.objects.live(database_now())
    of_channel = live.filter(channel=article.channel_id).newest_first().values("pk")[: RELATED + 1]
    of_each = (live.tagged(tag.pk).newest_first().values("pk")[:MAX_PER_TAG] for tag in tags[:MAX_TAGS])
    in_common = Tagging.objects.filter(article=OuterRef("pk"), tag__in=tags).order_by().values("article")
    shared = Coalesce(Subquery(in_common.values_list(Count("pk"))), 0)
    found = live.filter(pk__in=in_any(of_channel, *of_each)).exclude(pk=article.pk).annotate(shared=shared)
    ordered = found.select_related("channel", "author").defer("body").order_by("-shared", "-goes_live_at", "-pk")
    return list(ordered[:RELATED])
