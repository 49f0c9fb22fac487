"""Changing what an article says, without overwriting what somebody else changed meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from articles.exceptions import StaleEdit
from articles.models import Article
from articles.services.scheduling import refuse_empty_span
from articles.services.steps import Person, lock, require


def edit(article: Article, *, by: Person, changes: Mapping[str, Any], seen: datetime | None = None) -> None:
    """Write `changes` (field name to value) to an article; nothing that changes where it stands.

    `seen` is the `updated_at` the editor started from; raises `StaleEdit` if somebody saved it since, and
    `InvalidSchedule` if the times no longer make sense.
    """
    require("articles.change_article", by)
    with transaction.atomic():
        lock(article)
        if seen is not None and article.updated_at != seen:
            raise StaleEdit
        for name, value in changes.items():
            setattr(article, name, value)
        refuse_empty_span(article)
        article.save()
