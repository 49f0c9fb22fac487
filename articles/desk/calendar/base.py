"""Helpers shared by the calendar views."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.auth import get_user_model
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from articles.models import named_apart
from articles.publishing import Actor


def may_look(user: Actor) -> bool:
    """Whether the user may see the calendar: anyone who may view articles."""
    return user.has_perm("articles.view_article") or user.has_perm("articles.change_article")  # type: ignore[union-attr]


def require_look(request: HttpRequest) -> None:
    """Raise `PermissionDenied` for users who may not see the calendar."""
    if not may_look(request.user):
        raise PermissionDenied


def users() -> dict[int, str]:
    """Authors to choose from: key to name."""
    staff = get_user_model()._default_manager.filter(is_staff=True, is_active=True)
    return named_apart(staff.order_by("first_name", "last_name", "username"))


def page(request: HttpRequest, name: str, context: dict[str, Any]) -> HttpResponse:
    """A page within the admin."""
    return TemplateResponse(
        request, f"articles/desk/calendar/{name}.html", {**admin.site.each_context(request), **context}
    )
