"""Middleware for sessions."""

from __future__ import annotations

import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib import admin
from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.contrib.sessions import middleware
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _

from articles.desk.typed import typed_in, typed_page

_RENEWED = "renewed_at"
_LOGGED_OUT = "headline.logged_out"


class SessionMiddleware(middleware.SessionMiddleware):
    """Only a log-out deletes the cookie.

    An open editor sends requests after its session has ended, and their responses may arrive after the log-in in
    another window. With Django's middleware they would delete the cookie of the new session.
    """

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        response = super().process_response(request, response)
        if request.session.is_empty() and _LOGGED_OUT not in request.META:
            # It may be the response to a request of a closed session, and would end the new one of another window.
            response.cookies.pop(settings.SESSION_COOKIE_NAME, None)
        return response


@receiver(user_logged_out)
def _note_log_out(request: HttpRequest, **kwargs: Any) -> None:
    request.META[_LOGGED_OUT] = True


class SlidingSessionMiddleware:
    """Extends admin sessions with use: they end `SESSION_COOKIE_AGE` after the last request, within a tenth."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        is_used = request.path.startswith(reverse("admin:index")) and request.user.is_authenticated
        if is_used and time.time() - request.session.get(_RENEWED, 0) > settings.SESSION_COOKIE_AGE / 10:
            renew(request)
            UserSession.objects.create_from_request(request)
        return self.get_response(request)


@receiver(user_logged_in)
def renew(request: HttpRequest, **kwargs: Any) -> None:
    """Restart the lifetime of the session."""
    request.session[_RENEWED] = int(time.time())


class EndedSessionMiddleware:
    """A form that is sent after the end of a session is shown again as text to copy, instead of the log-in page.

    So is one that another user had opened, who was signed in then. Scripts get an error as JSON.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if request.method != "POST" or not _is_log_in(response) or request.user.is_authenticated:
            return response
        if is_of_script(request):
            return _refuse_script()
        context = {
            **admin.site.each_context(request),
            "title": _("You have been signed out"),
            "typed": typed_in(request),
        }
        return render(request, "headline/signed_out.html", context, status=HTTPStatus.UNAUTHORIZED)

    def process_view(self, request: HttpRequest, view: Any, *arguments: Any) -> HttpResponse | None:
        """Refuse forms of other users, whose token `articles/csrf.js` has replaced by that of this session."""
        # Views without a token read the body themselves.
        if request.method != "POST" or not request.user.is_authenticated or getattr(view, "csrf_exempt", False):
            return None
        is_own = request.POST.get("_opened_by", str(request.user.pk)) == str(request.user.pk)
        if is_own or request.path == reverse("admin:logout"):
            return None
        if is_of_script(request):
            return _refuse_script()
        said = _("Another user had opened this form, and you have logged in since.")
        return typed_page(request, _("Form expired"), said, status=HTTPStatus.FORBIDDEN)


def is_of_script(request: HttpRequest) -> bool:
    """Whether a script has sent it: what browsers say of a form, scripts cannot claim."""
    return request.headers.get("Sec-Fetch-Mode", "navigate") != "navigate"


def _refuse_script() -> JsonResponse:
    error = _("You have been signed out. Log in again in a new window.")
    return JsonResponse({"code": "signed_out", "error": error}, status=HTTPStatus.UNAUTHORIZED)


def _is_log_in(response: HttpResponseBase) -> bool:
    return urlsplit(response.headers.get("Location", "")).path == reverse("admin:login")
