"""The articles that the link dialog of the editor finds by their headline and text, with their state and time."""

from __future__ import annotations

from datetime import datetime

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, JsonResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext as _, ngettext
from unfold.admin import ModelAdmin

from articles.desk.articles.search import best_matching
from articles.limits import SEARCH_LENGTH
from articles.models import Article, State, state_at
from articles.permissions import reads_articles
from articles.text import format_time_briefly, linked_article
from scheduling.database import read_database_clock

MAX_RESULTS = 8
"""Articles found at once."""


class LinkScreens(ModelAdmin):
    """Mixin with the endpoint of the link dialog."""

    def get_urls(self) -> list[URLPattern]:
        """The endpoint's URL."""
        own = [path("targets/", self.admin_site.admin_view(self.targets), name="articles_article_targets")]
        return [*own, *super().get_urls()]

    def targets(self, request: HttpRequest) -> JsonResponse:
        """The articles with all words of `?q=`, or the one at this address, and a sentence with their number."""
        if not reads_articles(request.user):
            raise PermissionDenied
        text, now = " ".join(request.GET.get("q", "").replace("\0", "").split())[:SEARCH_LENGTH], read_database_clock()
        articles = _found(text)
        results = [_row(article, now) for article in articles[:MAX_RESULTS]]
        return JsonResponse({"results": results, "found": _sentence(len(articles))})


def _found(text: str) -> list[Article]:
    """One more than is shown, if there are more."""
    if (pk := linked_article(text)) is not None:
        return list(Article.objects.filter(pk=pk).select_related("channel"))
    return best_matching(text, limit=MAX_RESULTS + 1) if text else []


def _row(article: Article, now: datetime) -> dict[str, str]:
    about = " · ".join(filter(None, (_state(article, now), str(article.channel or ""))))
    return {"title": article.title, "address": article.get_absolute_url(), "about": about}


def _state(article: Article, now: datetime) -> str:
    """Such as "Scheduled 27 Nov, 07:00:00 UTC": what readers see decides, not what is stored."""
    found = state_at(article, now)
    if found.state in (State.SCHEDULED, State.LIVE):
        return _with_time(found.label, found.since)
    return _with_time(found.label, found.until if article.is_over_at(now) else None)


def _with_time(state: str, moment: datetime | None) -> str:
    return f"{state} {format_time_briefly(moment)}" if moment else state


def _sentence(count: int) -> str:
    if not count:
        return _("No article found.")
    if count > MAX_RESULTS:
        text = _("The first %(count)d articles found. More words find fewer.")
        return text % {"count": MAX_RESULTS}
    return ngettext("%(count)d article found.", "%(count)d articles found.", count) % {"count": count}
