"""Changing what an article says, without overwriting what somebody else changed meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from articles.exceptions import NotEditable, StaleEdit, WrongState
from articles.models import Article
from articles.services.recording import EDIT, recorded
from articles.services.scheduling import checked_time, refuse_empty_span
from articles.services.steps import Person, lock, require
from articles.workflow import STEPS, Step

TIMES = frozenset({"publish_at", "unpublish_at", "embargo_until"})
EDITABLE = TIMES | {"title", "slug", "summary", "body", "channel", "author", "byline"}


def edit(article: Article, *, by: Person, changes: Mapping[str, Any], seen: datetime | None = None) -> None:
    """Write `changes` (field name to value) to an article; where it stands is not among them.

    `seen` is the `updated_at` the editor started from. Raises `StaleEdit` if somebody saved the article since,
    `NotAllowed` if `by` may not change it (or, once it is approved, its times), `NotEditable` for other fields,
    `InvalidSchedule` for times that make no sense and `WrongState` for a new time of something already out.
    """
    require("articles.change_article", by)
    if unknown := changes.keys() - EDITABLE:
        raise NotEditable(_("Not editable: %(names)s") % {"names": ", ".join(sorted(unknown))})
    with transaction.atomic():
        lock(article)
        if seen is not None and article.updated_at != seen:
            raise StaleEdit
        _check_times(article, {name: changes[name] for name in TIMES & changes.keys()}, by)
        with recorded(EDIT, article, by=by) as notes:
            for name, value in changes.items():
                setattr(article, name, value)
            refuse_empty_span(article)
            notes.facts["changed"] = sorted(article.changed_fields())
            article.save()


def _check_times(article: Article, times: Mapping[str, datetime | None], by: Person) -> None:
    for value in times.values():
        if value is not None:
            checked_time(value)
    if times and article.status in Article.Status.visible():
        require(STEPS[Step.SCHEDULE].permission, by)
    if "publish_at" in times and article.status in (Article.Status.PUBLISHED, Article.Status.WITHDRAWN):
        raise WrongState(_("The article has been published; its time can no longer be changed."))
