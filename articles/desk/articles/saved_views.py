"""Saved views of the article list: the tabs, and saving, naming, sharing and ordering views."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Max, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _, gettext_lazy
from django.views.decorators.http import require_POST
from unfold.widgets import UnfoldAdminTextInputWidget, UnfoldBooleanWidget

from articles.desk.articles.filters import PARAMETERS, at_risk, overdue
from articles.desk.opened_form import OpenedForm
from articles.limits import VIEW_NAME_LENGTH, VIEW_QUERY_LENGTH
from articles.models import Article, SavedView, named
from scheduling.database import duplicates_collide, lock_by_ids, read_database_clock, retried

LIST = "admin:articles_article_changelist"
TOO_LONG = gettext_lazy("The filters of this list are too long to save as a view.")
_COUNTED = 99  # articles; more are "99+"

BUILT_IN: list[tuple[str, str | Promise]] = [
    ("", gettext_lazy("All")),
    ("whose=mine", gettext_lazy("Mine")),
    ("stage=review", gettext_lazy("In review")),
    ("stage=scheduled", gettext_lazy("Scheduled")),
    ("concern=at_risk", gettext_lazy("At risk")),
    ("concern=overdue", gettext_lazy("Overdue")),
]
"""Views that every user has."""


@dataclass(frozen=True)
class ViewTab:
    """A view above the list."""

    name: str
    link: str
    is_open: bool
    count: str = ""
    owner: str = ""  #: who shares it, if that is another user


class ViewForm(OpenedForm):
    """Name and sharing of a view."""

    name = forms.CharField(label=gettext_lazy("Name"), max_length=VIEW_NAME_LENGTH, widget=UnfoldAdminTextInputWidget)
    shared = forms.BooleanField(label=gettext_lazy("Share with newsroom"), required=False, widget=UnfoldBooleanWidget)

    class Meta:
        model = SavedView
        fields = ["name", "shared"]

    def clean_name(self) -> str:
        """Names are unique per user."""
        name: str = self.cleaned_data["name"].strip()
        if SavedView.objects.filter(owner=self.instance.owner_id, name=name).exclude(pk=self.instance.pk).exists():
            raise forms.ValidationError(_("You already have a view with this name."))
        return name


def plain_query(given: QueryDict) -> str:
    """The normalised query of a list URL, without the page."""
    kept = QueryDict(mutable=True)
    for name in sorted(PARAMETERS.intersection(given)):
        values = [value for value in given.getlist(name) if value]
        if values:
            kept.setlist(name, values)
    return kept.urlencode()


def tabs(request: HttpRequest) -> dict[str, Any]:
    """Tabs for the list template: built-in, own and shared views."""
    shown = plain_query(request.GET)
    user: Any = request.user
    saved = SavedView.objects.shown_to(user)
    now = read_database_clock()
    built_in = [ViewTab(str(name), f"?{query}", query == shown, _count(query, now)) for query, name in BUILT_IN]
    return {
        "tabs": [*built_in, *(_tab(view, shown, user) for view in saved)],
        "shown_query": shown,
        "may_save": shown not in {query for query, _name in BUILT_IN} | {view.query for view in saved},
        "has_own_views": any(view.owner_id == user.pk for view in saved),
        "view_form": ViewForm(instance=SavedView(owner_id=user.pk)),
    }


def new_view(user: Any, query: str) -> SavedView:
    """An unsaved view, after the user's others."""
    last = SavedView.objects.of(user).aggregate(last=Max("position"))["last"]
    return SavedView(owner_id=user.pk, query=query, position=(last or 0) + 1)


@require_POST
def save(request: HttpRequest) -> HttpResponse:
    """Save the current list as a view."""
    user, query = _reader(request), plain_query(QueryDict(request.POST.get("query", "")))
    if len(query) > VIEW_QUERY_LENGTH:
        messages.error(request, TOO_LONG)
        return redirect(f"{reverse(LIST)}?{query}")
    form = save_view(user, lambda view: ViewForm(request.POST, instance=view), query=query)
    if form.errors:
        return _shown(request, refused=form, query=query)
    messages.success(request, _("The view “%s” is saved.") % form.instance)
    return redirect(f"{reverse(LIST)}?{query}")


@retried
def save_view(
    user: Any, form_of: Callable[[SavedView], ViewForm], *, pk: int | None = None, query: str | None = None
) -> ViewForm:
    """The form of a new view or of an own one as it is now, which is saved if it has no errors. Raises `Http404`."""
    view = new_view(user, query or "") if pk is None else lock_by_ids(SavedView, [pk]).first()
    if view is None or view.owner_id != user.pk:
        raise Http404
    view.query = view.query if query is None else query
    form = form_of(view)
    if form.is_valid():
        with duplicates_collide():  # the next attempt finds the other view, and the form says so
            form.save()
    return form


def manage(request: HttpRequest) -> HttpResponse:
    """Show the user's own views."""
    return _shown(request)


def _shown(request: HttpRequest, *, refused: ViewForm | None = None, query: str = "") -> HttpResponse:
    """The user's own views, with the form that was refused and why, if there is one."""
    for fault in refused.errors.values() if refused else ():
        messages.error(request, " ".join(map(str, fault)))
    changed = refused.instance.pk if refused else None
    views = SavedView.objects.of(_reader(request))
    forms_of_views = {view: ViewForm(instance=view, auto_id=f"view_{view.pk}_%s") for view in views}
    context = {
        **admin.site.each_context(request),
        "title": _("My views"),
        "rows": [(view, refused if view.pk == changed else form) for view, form in forms_of_views.items()],
        "view_form": refused if refused and changed is None else None,
        "shown_query": query,
    }
    return TemplateResponse(request, "articles/desk/views.html", context, status=400 if refused else 200)


@require_POST
def change(request: HttpRequest, pk: int) -> HttpResponse:
    """Rename, share or unshare an own view."""
    form = save_view(
        _reader(request), lambda view: ViewForm(request.POST, instance=view, auto_id=f"view_{pk}_%s"), pk=pk
    )
    if form.errors:
        return _shown(request, refused=form)
    messages.success(request, _("Saved."))
    return redirect("desk_views")


@require_POST
def delete(request: HttpRequest, pk: int) -> HttpResponse:
    """Delete an own view."""
    view = get_object_or_404(SavedView.objects.of(_reader(request)), pk=pk)
    view.delete()
    messages.success(request, _("The view “%s” is deleted.") % view)
    return redirect("desk_views")


@require_POST
def move(request: HttpRequest, pk: int) -> HttpResponse:
    """Move an own view up or, with `later`, down."""
    move_view(_reader(request), pk, by=1 if "later" in request.POST else -1)
    return redirect("desk_views")


@retried
def move_view(user: Any, pk: int, *, by: int) -> None:
    """Move an own view by so many places, as far as there are."""
    own = SavedView.objects.of(user)
    list(lock_by_ids(SavedView, own.order_by().values_list("pk", flat=True)))
    views = list(own)
    place = next((place for place, view in enumerate(views) if view.pk == pk), None)
    if place is not None:
        view = views.pop(place)
        views.insert(max(place + by, 0), view)
        for position, one in enumerate(views):
            SavedView.objects.filter(pk=one.pk).update(position=position)


def _reader(request: HttpRequest) -> Any:
    if not request.user.has_perm("articles.view_article"):
        raise PermissionDenied
    return request.user


def _tab(view: SavedView, shown: str, user: Any) -> ViewTab:
    owner = "" if view.owner_id == user.pk else named(view.owner)
    return ViewTab(view.name, f"?{view.query}", view.query == shown, owner=owner)


def _count(query: str, now: datetime) -> str:
    """Number of rows, for views that should be empty."""
    concerns: dict[str, Callable[[Any, datetime], QuerySet[Any]]] = {
        "concern=at_risk": at_risk,
        "concern=overdue": overdue,
    }
    if query not in concerns:
        return ""
    number = len(concerns[query](Article.objects.all(), now).values_list("pk")[: _COUNTED + 1])
    return f"{_COUNTED}+" if number > _COUNTED else str(number or "")
