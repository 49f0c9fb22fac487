"""The answers to forms whose token is not that of the session, and to those that the user may not send (any more)."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views import csrf, defaults

from articles.desk.typed import gone_page, typed_in, typed_page
from headline.accounts.middleware import is_of_script

_OF_THE_TOKEN = "CSRF "  # noqa: S105 (how Django's reasons begin, unless another site has sent the form)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """For staff, what they typed: a log-in in another window has given the session another token.

    Nothing that another site may have sent is shown, although its requests come without the cookie of the session.
    """
    is_own = request.headers.get("Sec-Fetch-Site", "same-origin") == "same-origin"
    if is_own and reason.startswith(_OF_THE_TOKEN) and _is_form_of_staff(request):
        said = _("You have logged in again since this form was opened.")
        return typed_page(request, _("Form expired"), said, status=HTTPStatus.FORBIDDEN)
    return csrf.csrf_failure(request, reason)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """For staff who have typed something, that as well: their rights have changed since they opened the form."""
    if _is_form_of_staff(request) and typed_in(request):
        said = _("You do not have permission to do this. Ask an administrator for access.")
        return typed_page(request, _("No permission"), said, status=HTTPStatus.FORBIDDEN)
    return defaults.permission_denied(request, exception)


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """The same when another user has deleted what the form is of."""
    if _is_form_of_staff(request) and typed_in(request):
        return gone_page(request)
    return defaults.page_not_found(request, exception)


def _is_form_of_staff(request: Any) -> bool:
    """Whether it is a form of the newsroom that a browser has sent."""
    is_form = request.method == "POST" and not is_of_script(request)
    return is_form and request.path.startswith(reverse("admin:index")) and admin.site.has_permission(request)
