"""Pagination of live articles, search results and the change feed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from rest_framework.request import Request
from rest_framework.utils.urls import remove_query_param, replace_query_param
from rest_framework.views import APIView

from articles.api.pagination import CursorPages
from articles.api.reader_serializers import GONE, RemovalSerializer
from articles.distribution import FeedPage
from articles.listing import first_live
from articles.models import NEWEST_FIRST, Article

if TYPE_CHECKING:
    from articles.api.reader import LiveArticleViewSet


def _schema_of_changes() -> dict[str, Any]:
    """The additional properties of a page of changes."""
    removal = {
        "type": "object",
        "required": ["id", "kind", "at"],
        "properties": {
            "id": {"type": "integer"},
            "kind": {"type": "string", "enum": [kind for kind, _label in GONE]},
            "at": {"type": "string", "format": "date-time", "description": _("When readers last saw it.")},
        },
    }
    removed = _("With `updated_since`: articles that readers no longer see, in the order of removal.")
    checkpoint = _("With `updated_since`: where to continue. Store it once you have stored the page.")
    return {
        "removed": {"type": "array", "description": removed, "items": removal},
        "checkpoint": {"type": "string", "description": checkpoint},
    }


def page_of_changes(request: Request, page: FeedPage, shown: Any) -> dict[str, Any]:
    """A page of the change feed."""
    checkpoint = page.checkpoint
    following = replace_query_param(settings.SITE_URL + request.get_full_path(), "updated_since", checkpoint)
    removed = RemovalSerializer(page.gone, many=True).data
    links = {"next": following if page.has_more else None, "previous": None}
    return {**links, "results": shown, "removed": removed, "checkpoint": checkpoint}


class LivePages(CursorPages):
    """For a view with the `article_filter` of its list, or with the cursor `beyond` its search results."""

    view: LiveArticleViewSet

    def paginate_queryset(self, queryset: Any, request: Request, view: APIView | None = None) -> list[Any]:
        """The rows of the requested page."""
        self.view = view  # type: ignore[assignment]  # always given
        rows = super().paginate_queryset(queryset, request, view)
        self.url = settings.SITE_URL + request.get_full_path()  # the same response for all hosts
        return rows

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Include the properties of a page of changes."""
        page = super().get_paginated_response_schema(schema)
        return {**page, "properties": {**page["properties"], **_schema_of_changes()}}

    def next_link(self) -> str | None:
        """The next page; after the last page of a search window, the first page of the next window."""
        link, beyond = super().next_link(), self.view.beyond
        if link is not None or beyond is None:
            return link
        return replace_query_param(remove_query_param(self.url, "cursor"), "older", str(beyond))

    def first(self, queryset: QuerySet[Article], most: int) -> list[Article]:  # type: ignore[override]
        """Only the first page can be read directly; see `first_live`."""
        chosen = self.view.article_filter
        if chosen is None or (self.cursor is None and chosen.is_newest and self.ordering == NEWEST_FIRST):
            return super().first(queryset, most)
        return first_live(self.arranged(queryset), self.arranged(chosen.candidates()), most)
