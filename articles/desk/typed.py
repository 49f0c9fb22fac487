"""The page with what was typed in a form that cannot be saved, to be copied from there."""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _

from articles.limits import ENDED_SESSION_BODY

_NOT_TYPED = (
    "csrfmiddlewaretoken", "window", "seen", "base", "next", "new", "do", "assigned", "cover", "opened", "action",
    "initial-", "_",
)  # fmt: skip


def typed_in(request: HttpRequest) -> list[str]:
    """The texts of the form that are worth copying, as many as fit on a page."""
    length, found = 0, []
    for text in dict.fromkeys(_typed(request)):
        length += len(text)
        if length > ENDED_SESSION_BODY:
            break
        found.append(text)
    return found


def _typed(request: HttpRequest) -> Iterator[str]:
    for name, values in request.POST.lists():
        is_typed = not name.startswith(_NOT_TYPED) and "password" not in name
        texts = (value for value in values if value.strip() and not value.isdecimal() and value != "on")
        yield from texts if is_typed else ()


def gone_page(request: HttpRequest) -> HttpResponse:
    """The page of a form of something that another user has deleted."""
    return typed_page(request, _("Not found"), _("It does not exist any more."), status=HTTPStatus.NOT_FOUND)


def typed_page(request: HttpRequest, title: str, said: str, *, status: HTTPStatus) -> HttpResponse:
    """For a signed-in user: why nothing was saved, the texts, and a link to open the form again, if there is one."""
    context = {
        **admin.site.each_context(request),
        "title": title,
        "said": said,
        "typed": typed_in(request),
        "back": "" if status == HTTPStatus.NOT_FOUND else _opened_at(request),
    }
    return render(request, "articles/desk/typed.html", context, status=status)


def _opened_at(request: HttpRequest) -> str:
    """The page that had the form."""
    address = request.headers.get("Referer", "")
    hosts = {request.get_host()}
    is_ours = url_has_allowed_host_and_scheme(address, hosts, require_https=request.is_secure())
    return address if is_ours else reverse("admin:index")
