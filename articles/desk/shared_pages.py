"""Links to pages of the readers' site at an instant to come, for people without an account: list, create, revoke."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _, gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from articles.desk.editor.preview import DAYS
from articles.exceptions import ArticleError
from articles.limits import ADDRESS_LENGTH, RECIPIENT_LENGTH, TIME_LENGTH
from articles.models import SharedPage
from articles.publishing import is_page, is_sharer_authorised, may_share, share_page, unshare_page
from articles.text import format_time_exactly
from scheduling.database import NoTimeZone, OutOfRange, read_database_clock, storable

MOST_LISTED = 100
"""Links on the screen, the newest."""


class ShareForm(forms.Form):
    """A new link to the page at the instant that the bar showed."""

    page = forms.CharField(max_length=ADDRESS_LENGTH, widget=forms.HiddenInput)
    at = forms.CharField(max_length=TIME_LENGTH, widget=forms.HiddenInput)
    days = forms.TypedChoiceField(
        label=gettext_lazy("Valid for"), choices=DAYS, coerce=int, initial=3, widget=UnfoldAdminSelectWidget
    )
    note = forms.CharField(
        label=gettext_lazy("Recipient"), max_length=RECIPIENT_LENGTH, required=False, widget=UnfoldAdminTextInputWidget
    )

    def clean_page(self) -> str:
        """A page of the readers' site."""
        page: str = self.cleaned_data["page"]
        if not is_page(page):
            raise forms.ValidationError(_("This is no page of the site."))
        return page

    def clean_at(self) -> datetime:
        """An instant with its offset, as the bar has it."""
        try:
            return storable(datetime.fromisoformat(self.cleaned_data["at"].replace(" ", "+")))
        except (NoTimeZone, OutOfRange, OverflowError, ValueError) as error:
            raise forms.ValidationError(_("Give a time such as 2026-11-27T07:00.")) from error


@never_cache
def show(request: HttpRequest) -> HttpResponse:
    """The links, and the form for one to the page and instant in the address."""
    if not may_share(request.user):
        raise PermissionDenied
    form = ShareForm(request.POST or request.GET) if request.POST or "page" in request.GET else None
    if request.method == "POST" and form is not None and form.is_valid():
        return _create(request, form.cleaned_data)
    context = {
        **admin.site.each_context(request),
        "title": _("Shared pages"),
        "form": _asked(form, request) if form else None,
        "links": list(_listed(request)),
    }
    return TemplateResponse(request, "articles/desk/shared_pages.html", context)


def _asked(form: ShareForm, request: HttpRequest) -> dict[str, Any] | None:
    """The form with the page and the instant in words; None with a message for an address that the bar has not made."""
    form.is_valid()
    values = form.cleaned_data
    if "page" not in values or "at" not in values:
        messages.error(request, _("Open a page at another time, and share it from there."))
        return None
    initial = {name: form.data.get(name) for name in ("page", "at")}
    shown = form if request.method == "POST" else ShareForm(initial=initial)
    return {"fields": shown, "page": values["page"], "at": format_time_exactly(values["at"])}


def _create(request: HttpRequest, asked: dict[str, Any]) -> HttpResponse:
    lasts = timedelta(days=asked["days"])
    try:
        share_page(asked["page"], at=asked["at"], lasts=lasts, note=asked["note"], by=request.user)
    except ArticleError as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(request, _("The link is created. Anyone with the link can see this page."))
    return redirect("desk_shared_pages")


@require_POST
def revoke(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Revoke a link."""
    found = get_object_or_404(SharedPage, pk=pk)
    try:
        unshare_page(found, by=request.user)
    except ArticleError as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(request, _("The link no longer works."))
    return redirect("desk_shared_pages")


def _listed(request: HttpRequest) -> list[dict[str, Any]]:
    """The links, with the addresses of those that the user has created: an address works for everyone who knows it."""
    now = read_database_clock()
    return [
        {
            "link": shared,
            "at": format_time_exactly(shared.at),
            "is_open": shared.is_open_at(now) and is_sharer_authorised(shared),
            "address": request.build_absolute_uri(shared.get_absolute_url())
            if shared.created_by == request.user
            else "",
            "visits": [(format_time_exactly(visit.at), visit.network) for visit in shared.visits.all()],
        }
        for shared in SharedPage.objects.select_related("created_by").prefetch_related("visits")[:MOST_LISTED]
    ]
