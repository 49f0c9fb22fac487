"""What the question of a bulk action says about its time: distance, conflicts, and open checks of its articles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db.models import Count, QuerySet
from django.utils.translation import gettext as _, ngettext

from articles.checks import DraftProblem, problems
from articles.desk.editor.checks import draft_of
from articles.desk.editor.time_hints import MAX_HINTS, conflict, late, near, time_in_words
from articles.models import Article, BulkAction

CHECKED = 20
"""Articles whose checks are run; the others are counted."""


@dataclass(frozen=True)
class ScheduleHints:
    """The hints for a bulk action at the instant `at`, or for no time yet."""

    bulk_action: BulkAction
    at: datetime | None
    now: datetime

    @property
    def times(self) -> list[str]:
        """The time in words, in the zone of the user and of the newsroom."""
        return time_in_words(self.at, self.now)

    def warnings(self) -> Iterator[str]:
        """That the time is past, and what else goes live in the same channels at nearly the same time."""
        if self.at is None:
            return
        yield from late(self.at, self.now)
        yield from self._together()
        others = near(self._articles().values("channel"), self.at, self.now).exclude(pk__in=self._ids())
        yield from (conflict(other, self.now) for other in others[:MAX_HINTS])
        if (more := others.count() - MAX_HINTS) > 0:
            text = ngettext("%d more at nearly the same time.", "%d more at nearly the same time.", more)
            yield text % more

    def checks(self) -> list[tuple[Article, list[DraftProblem]]]:
        """The first articles with open checks."""
        related = ("channel", "author", "update__approved", "update__draft")
        articles = self._articles().select_related(*related).order_by("pk")[:CHECKED]
        found = ((article, self._problems(article)) for article in articles)
        return [(article, open_checks) for article, open_checks in found if open_checks]

    def unchecked(self) -> int:
        """How many articles are not checked here."""
        return max(0, self.bulk_action.items.count() - CHECKED)

    def _together(self) -> Iterator[str]:
        """The channels in which several of the chosen articles go live at once."""
        channels = self._articles().filter(channel__isnull=False).order_by().values_list("channel__name")
        several = channels.annotate(number=Count("pk")).filter(number__gt=1).order_by("-number", "channel")
        for name, number in several[:MAX_HINTS]:
            text = _("%(number)d of the selected articles go live in “%(channel)s” at this time.")
            yield text % {"number": number, "channel": name}

    def _problems(self, article: Article) -> list[DraftProblem]:
        """Without those of the time, which the question asks for itself."""
        draft = replace(draft_of(article), publish_at=self.at)
        return [problem for problem in problems(draft) if problem.field != "publish_at"]

    def _articles(self) -> QuerySet[Article]:
        return Article.objects.filter(pk__in=self._ids())

    def _ids(self) -> Any:
        return self.bulk_action.items.values("article_id")
