"""The name of an article in other newsrooms, by which it is recognised when it comes home."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC

from articles.models import Article

_NAME = re.compile(r"headline:([0-9]{1,18})@\S+")


def identity(article: Article) -> str:
    """Its number and the instant it was made: the number alone would name another article in another newsroom."""
    return f"headline:{article.pk}@{article.created_at.astimezone(UTC).isoformat()}"


def at_home(names: Iterable[str]) -> set[str]:
    """Those of these names that are of articles made here."""
    wanted = {int(found[1]): name for name in names if (found := _NAME.fullmatch(name))}
    made = Article.objects.filter(pk__in=wanted).only("created_at") if wanted else Article.objects.none()
    return {identity(article) for article in made} & set(wanted.values())
