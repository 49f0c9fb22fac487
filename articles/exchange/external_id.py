"""External ids of our own articles in exports, by which an import recognises them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC

from articles.models import Article

_PATTERN = re.compile(r"headline:([0-9]{1,18})@\S+")


def identity(article: Article) -> str:
    """Its id and creation time, since the id alone is not unique across installations."""
    return f"headline:{article.pk}@{article.created_at.astimezone(UTC).isoformat()}"


def own_ids(external_ids: Iterable[str]) -> set[str]:
    """The external ids that belong to articles of this installation."""
    wanted = {int(found[1]): each for each in external_ids if (found := _PATTERN.fullmatch(each))}
    articles = Article.objects.filter(pk__in=wanted).only("created_at") if wanted else Article.objects.none()
    return {identity(article) for article in articles} & set(wanted.values())
