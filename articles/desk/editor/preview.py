"""Live preview of the article form, and preview links for outsiders."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from datetime import timedelta
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.datastructures import MultiValueDict
from django.utils.translation import gettext, gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_POST
from unfold.admin import ModelAdmin
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from articles.desk.articles.forms import ArticleForm
from articles.exceptions import ArticleError
from articles.limits import RECIPIENT_LENGTH
from articles.models import Article, Autosave, PreviewLink, Text
from articles.pages import newest_text, page_of_text, preview
from articles.permissions import CHANGE, allows
from articles.publishing import is_creator_authorised, make_preview_link, revoke_preview_link
from scheduling.database import read_database_clock

FOLLOWING = 0
"""Form value for "no fixed revision"."""

DAYS = ((1, _("a day")), (3, _("three days")), (7, _("a week")), (30, _("30 days")))


class LinkForm(forms.Form):
    """A new preview link."""

    days = forms.TypedChoiceField(
        label=_("Valid for"), choices=DAYS, coerce=int, initial=3, widget=UnfoldAdminSelectWidget
    )
    revision = forms.TypedChoiceField(
        label=_("Shows"), coerce=int, empty_value=None, required=False, widget=UnfoldAdminSelectWidget
    )
    note = forms.CharField(
        label=_("Recipient"), max_length=RECIPIENT_LENGTH, required=False, widget=UnfoldAdminTextInputWidget
    )

    def __init__(self, article: Article, data: Any = None) -> None:
        super().__init__(data)
        numbers = article.revisions.newest_first().values_list("number", flat=True)[:50]
        fixed = [(number, gettext("revision %d, unchanged") % number) for number in numbers]
        newest = [("", gettext("the newest saved text, as it is now"))]
        later = [(FOLLOWING, gettext("always the newest saved text, including later drafts"))]
        self.fields["revision"].choices = [*newest, *fixed, *later]  # type: ignore[attr-defined]


class PreviewScreens(ModelAdmin):
    """Mixin with preview and preview links."""

    def get_urls(self) -> list[URLPattern]:
        """The preview URLs, before those of the article itself."""
        view = self.admin_site.admin_view
        shown = xframe_options_sameorigin(self._framed(view(self.preview)))
        own = [
            path("add/preview/", shown, name="articles_article_preview_new"),
            path("<int:pk>/preview/", shown, name="articles_article_preview"),
            path("<int:pk>/links/", view(self.links), name="articles_article_links"),
            path("<int:pk>/links/<uuid:link>/revoke/", view(require_POST(self.revoke)), name="articles_article_revoke"),
        ]
        return [*own, *super().get_urls()]

    def _framed(self, view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
        """With `?frame`, a message instead of the sign-in page, which browsers show in no frame."""

        def respond(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if "frame" in request.GET and not self.admin_site.has_permission(request):
                return TemplateResponse(request, "articles/desk/editor/signed_out.html", status=401)
            return view(request, *args, **kwargs)

        return never_cache(respond)

    def preview(self, request: HttpRequest, pk: int | None = None) -> HttpResponse:
        """The newest text as readers would see it; with `?copy=`, the autosaved content of that window."""
        article = self._readable(request, pk) if pk else Article(author_id=request.user.pk)
        text, correction = newest_text(article) if pk else (Text.of(article, ()), "")
        window = request.GET.get("copy")
        if window and (form := typed_form(request, article if pk else None, window)):
            text, correction = typed_text(form, text)
        return preview(request, page_of_text(article, text, correction))

    def links(self, request: HttpRequest, pk: int) -> HttpResponse:
        """List and create preview links."""
        article = self._readable(request, pk)
        form = LinkForm(article, request.POST or None)
        if request.method == "POST" and form.is_valid():
            self._make(request, article, form.cleaned_data)
            return redirect("admin:articles_article_links", pk)
        context = {
            **self.admin_site.each_context(request),
            "title": gettext("Preview links"),
            "article": article,
            "opts": self.model._meta,
            "form": form if allows(CHANGE, request.user, article) else None,
            "links": _listed(request, article),
        }
        return TemplateResponse(request, "articles/desk/preview_links.html", context)

    def revoke(self, request: HttpRequest, pk: int, link: UUID) -> HttpResponse:
        """Revoke a link."""
        found = get_object_or_404(PreviewLink.objects.select_related("article"), pk=link, article=pk)
        try:
            revoke_preview_link(found, by=request.user)
        except ArticleError as refusal:
            self.message_user(request, str(refusal), messages.ERROR)
        else:
            self.message_user(request, gettext("The link no longer works."), messages.SUCCESS)
        return redirect("admin:articles_article_links", pk)

    def _make(self, request: HttpRequest, article: Article, asked: dict[str, Any]) -> None:
        lasts = timedelta(days=asked["days"])
        try:
            is_following = asked["revision"] == FOLLOWING
            shown = {"is_following": True} if is_following else {"revision": asked["revision"]}
            make_preview_link(article, by=request.user, lasts=lasts, note=asked["note"], **shown)
        except ArticleError as refusal:
            self.message_user(request, str(refusal), messages.ERROR)
        else:
            self.message_user(
                request, gettext("The link is created. Anyone with the link can read the text."), messages.SUCCESS
            )

    def _readable(self, request: HttpRequest, pk: int) -> Article:
        article: Article = get_object_or_404(self.get_queryset(request), pk=pk)
        if not self.has_view_or_change_permission(request, article):
            raise PermissionDenied
        return article


def typed_form(request: HttpRequest, article: Article | None, window: str) -> ArticleForm | None:
    """The validated form with the autosaved values of the user's window; None if nothing was saved there."""
    try:
        kept = Autosave.objects.left_by(request.user, article).filter(pk=UUID(window)).first()
    except ValueError as error:
        raise Http404 from error
    if kept is None:
        return None
    data: MultiValueDict[str, str] = MultiValueDict(kept.typed)
    form = ArticleForm(data, instance=copy(article) if article else None)  # validating writes into its instance
    form.is_valid()
    return form


def typed_text(form: ArticleForm, text: Text) -> tuple[Text, str]:
    """`text` with the valid values of a form, and the correction."""
    typed = {name: value for name, value in form.cleaned_data.items() if name in Text.NAMES and name in form.data}
    if "tags" in form.cleaned_data:
        typed["tags"] = form.cleaned_data["tags"]
    return text.changed(typed), form.cleaned_data.get("correction", "")


def _listed(request: HttpRequest, article: Article) -> list[dict[str, Any]]:
    """The links, with the addresses of those that the user has created: an address works for everyone who knows it."""
    now = read_database_clock()
    links = (
        PreviewLink.objects.filter(article=article)
        .select_related("article", "created_by", "revision")
        .order_by("-created_at")
    )
    return [
        {
            "link": link,
            "is_open": link.is_open_at(now) and is_creator_authorised(link),
            "address": request.build_absolute_uri(link.get_absolute_url()) if link.created_by == request.user else "",
        }
        for link in links
    ]
