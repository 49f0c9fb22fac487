"""Pages of live articles, wherever in a long list and however many were found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from rest_framework.request import Request
from rest_framework.utils.urls import remove_query_param, replace_query_param
from rest_framework.views import APIView

from articles.api.reader_serializers import GONE, RemovalSerializer
from articles.distribution import FeedPage
from articles.listing import nearest
from articles.models import Article
from headline.api.pagination import CursorPages

if TYPE_CHECKING:
    from articles.api.reader import LiveArticleViewSet


def _schema_of_changes() -> dict[str, Any]:
    """What a page of changes has besides."""
    removal = {
        "type": "object",
        "required": ["id", "kind", "at"],
        "properties": {
            "id": {"type": "integer"},
            "kind": {"type": "string", "enum": [kind for kind, _label in GONE]},
            "at": {"type": "string", "format": "date-time", "description": _("When readers saw it last.")},
        },
    }
    went = _("With `updated_since`: what readers saw and do no longer, in the order in which it went.")
    goes_on = _("With `updated_since`: where to go on. Keep it once the page is stored.")
    return {
        "removed": {"type": "array", "description": went, "items": removal},
        "checkpoint": {"type": "string", "description": goes_on},
    }


def page_of_changes(request: Request, page: FeedPage, shown: Any) -> dict[str, Any]:
    """A page of the change feed."""
    checkpoint = f"c{page.sequence}"
    following = replace_query_param(settings.SITE_URL + request.get_full_path(), "updated_since", checkpoint)
    removed = RemovalSerializer(page.gone, many=True).data
    links = {"next": following if page.has_more else None, "previous": None}
    return {**links, "results": shown, "removed": removed, "checkpoint": checkpoint}


class LivePages(CursorPages):
    """For a view with the `part` that it lists, or with the place `beyond` what it found."""

    view: LiveArticleViewSet

    def paginate_queryset(self, queryset: Any, request: Request, view: APIView | None = None) -> list[Any]:
        """The rows of the page that the request asks for."""
        self.view = view  # type: ignore[assignment]  # there is one, and it is ours
        rows = super().paginate_queryset(queryset, request, view)
        self.url = settings.SITE_URL + request.get_full_path()  # one answer for all hosts
        return rows

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        """With what a page of changes has besides."""
        page = super().get_paginated_response_schema(schema)
        return {**page, "properties": {**page["properties"], **_schema_of_changes()}}

    def next_link(self) -> str | None:
        """The following page; after the last of what was found, the first of what is older."""
        link, beyond = super().next_link(), self.view.beyond
        if link is not None or beyond is None:
            return link
        return replace_query_param(remove_query_param(self.url, "cursor"), "older", str(beyond))

    def first(self, queryset: QuerySet[Article], most: int) -> list[Article]:  # type: ignore[override]
        """From the middle of a part on they are looked for in another way than at its head."""
        part = self.view.part
        if part is None or (self.cursor is None and part.is_newest):
            return super().first(queryset, most)
        return nearest(self.arranged(queryset), self.arranged(part.shelf()), most)
