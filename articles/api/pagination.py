"""Keyset pagination with signed cursors, stable while articles go live between two requests.

DRF's own cursor counts offsets among equal values, up to 1,000; here 10,000 articles may go live at the same time, so
the cursor holds the values and the primary key of the last row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from django.db.models import Model, Q, QuerySet
from django.utils.translation import gettext_lazy as _
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param
from rest_framework.views import APIView

from articles.limits import CURSOR_LENGTH, LARGEST_PAGE_SIZE, PAGE_SIZE
from articles.listing import InvalidCursor, beyond, decode_cursor, encode_cursor

M = TypeVar("M", bound=Model)


@dataclass(frozen=True)
class PageCursor:
    """A position between two rows, and the direction to read in."""

    backwards: bool
    position: list[Any]  # the ordering's values of the row next to the cursor


class CursorPages(BasePagination):
    """`?cursor=` and `?page_size=` for views with an `ordering` whose last field is the primary key.

    All must have the same direction: `("-publish_at", "-id")`.
    """

    page_size = 20
    max_page_size = PAGE_SIZE

    def paginate_queryset(  # type: ignore[override]  # lists cannot be read from a cursor on
        self, queryset: QuerySet[M], request: Request, view: APIView | None = None
    ) -> list[M]:
        """The rows of the page that the request asks for."""
        self.url = request.build_absolute_uri()
        self.ordering: Sequence[str] = view.ordering  # type: ignore[union-attr]
        size, self.cursor = self.size_for(request), self._cursor(request)
        rows = self.first(queryset, size + 1)
        self.more = len(rows) > size
        self.rows = rows[:size][::-1] if self._is_backwards else rows[:size]
        return self.rows

    def get_paginated_response(self, data: Any) -> Response:
        """The page with the URLs of the next and previous one."""
        return Response({"next": self.next_link(), "previous": self.previous_link(), "results": data})

    def next_link(self) -> str | None:
        """The URL of the next page; None if this is the last."""
        came_back = self.cursor is not None and self.cursor.backwards
        return self._link(backwards=False) if came_back or self.more else None

    def previous_link(self) -> str | None:
        """The URL of the previous page; None if this is the first."""
        came_here = self.cursor is not None and (not self.cursor.backwards or self.more)
        return self._link(backwards=True) if came_here else None

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        """The schema of a page."""
        link = {"type": ["string", "null"], "format": "uri"}
        return {
            "type": "object",
            "required": ["next", "previous", "results"],
            "properties": {"next": link, "previous": link, "results": schema},
        }

    def get_schema_operation_parameters(self, view: APIView) -> list[dict[str, Any]]:
        """The pagination parameters."""
        cursor = {"type": "string", "maxLength": CURSOR_LENGTH}
        size = {"type": "integer", "minimum": 1, "maximum": LARGEST_PAGE_SIZE, "default": self.page_size}
        return [
            _query_parameter("cursor", cursor, "Taken from `next` or `previous`."),
            _query_parameter("page_size", size, f"Rows of a page; more than {self.max_page_size} are never given."),
        ]

    def first(self, queryset: QuerySet[M], most: int) -> list[M]:
        """The first `most` rows beyond the cursor, in its direction."""
        return list(self.arranged(queryset)[:most])

    def arranged(self, queryset: QuerySet[M]) -> QuerySet[M]:
        """The rows beyond the cursor, in its direction."""
        queryset = queryset.order_by(*self.ordering)
        if self.cursor is not None:
            queryset = queryset.filter(_beyond(self.ordering, self.cursor))
        return queryset.reverse() if self._is_backwards else queryset

    @property
    def _is_backwards(self) -> bool:
        return self.cursor is not None and self.cursor.backwards

    def _link(self, *, backwards: bool) -> str | None:
        """The URL of the page beyond the first or last row; None for an empty page."""
        if not self.rows:
            return None
        row = self.rows[0] if backwards else self.rows[-1]
        position = [_plain(getattr(row, name.removeprefix("-"))) for name in self.ordering]
        return replace_query_param(self.url, "cursor", encode_cursor(self._order(), [backwards, position]))

    def _cursor(self, request: Request) -> PageCursor | None:
        text = request.query_params.get("cursor")
        if text is None:
            return None
        try:
            return PageCursor(*decode_cursor(self._order(), text))
        except InvalidCursor as error:
            raise NotFound(_("Invalid cursor."), code="invalid_cursor") from error

    def size_for(self, request: Request) -> int:
        """The page size. Raises `ValidationError`."""
        text = request.query_params.get("page_size", str(self.page_size))
        is_number = text.isascii() and text.isdigit() and len(text) <= len(str(LARGEST_PAGE_SIZE))
        if not (is_number and int(text)):
            raise ValidationError({"page_size": [_("A whole number from 1 to 50 is required.")]})
        return min(int(text), self.max_page_size)

    def _order(self) -> str:
        return " ".join(self.ordering)


def _beyond(ordering: Sequence[str], cursor: PageCursor) -> Q:
    """Rows beyond the cursor."""
    descending = ordering[0].startswith("-")
    operator = "lt" if descending is not cursor.backwards else "gt"
    return beyond([name.removeprefix("-") for name in ordering], cursor.position, operator)


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value if isinstance(value, int) else str(value)


def _query_parameter(name: str, schema: dict[str, Any], description: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": False, "description": description, "schema": schema}
