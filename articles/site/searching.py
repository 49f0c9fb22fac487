"""The page on which readers look for articles."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from typing import Any

from django import forms
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from articles.models import Channel
from articles.models.article import ArticleQuerySet
from articles.search import RANKED, Query, gather_bodies, matching
from articles.site.pages import Page, older_than, page_from
from articles.site.views import live_articles

LONGEST_QUERY = 100


class SearchForm(forms.Form):
    """What to look for. Nothing is required: without words, the newest of what the rest asks for are found."""

    q = forms.CharField(
        label=_("Words"),
        required=False,
        max_length=LONGEST_QUERY,
        widget=forms.TextInput({"type": "search", "autocomplete": "off"}),
    )
    channel = forms.ModelChoiceField(
        Channel.objects.enabled(),
        label=_("Channel"),
        required=False,
        to_field_name="slug",
        empty_label=_("All channels"),
    )
    since = forms.DateField(label=_("From"), required=False, widget=forms.DateInput({"type": "date"}, "%Y-%m-%d"))
    until = forms.DateField(label=_("To"), required=False, widget=forms.DateInput({"type": "date"}, "%Y-%m-%d"))
    tag = forms.CharField(required=False, max_length=80, widget=forms.HiddenInput)
    author = forms.IntegerField(required=False, min_value=1, max_value=2**63 - 1, widget=forms.HiddenInput)

    def articles(self) -> ArticleQuerySet:
        """The live articles that a valid form asks for, with their `rank`, the best first."""
        wanted = self.cleaned_data
        narrowed = live_articles().filter(_span(wanted["since"], wanted["until"]))
        if wanted["channel"]:
            narrowed = narrowed.filter(channel=wanted["channel"])
        if wanted["tag"]:
            narrowed = narrowed.tagged_by(wanted["tag"])
        if wanted["author"]:
            narrowed = narrowed.signed_by(wanted["author"])
        return matching(narrowed.defer("body"), self.query).order_by(*RANKED)

    @property
    def query(self) -> Query:
        """Its words; none if they cannot be looked for."""
        return Query(getattr(self, "cleaned_data", {}).get("q", ""))

    @property
    def asks(self) -> bool:
        """Whether it asks for anything."""
        return any(self.data.get(name, "").strip() for name in self.fields)


@require_safe
@cache_control(no_cache=True)
def search(request: HttpRequest) -> HttpResponse:
    """What was found, and the form. Whatever is typed, the worst that comes is an empty page that says why."""
    form = SearchForm(request.GET)
    page = Page([], last=None)
    if form.is_valid() and form.asks:
        page = _page(form.articles(), request.GET.get("before", ""))
    address = request.GET.copy()
    address.pop("before", None)
    context = {"form": form, "page": page, "query": form.query, "address": address.urlencode()}
    return render(request, "articles/search.html", context)


def _page(found: ArticleQuerySet, before: str) -> Page:
    """The page after the article `before`; the first one if that is not among what was found."""
    last: Any = found.filter(pk=before).first() if before.isdecimal() and len(before) < 19 else None
    if last is not None:
        found = found.filter(Q(rank__lt=last.rank) | Q(older_than(last.publish_at, last.pk), rank=last.rank))
    page = page_from(found)
    gather_bodies(page.articles)
    return page


def _span(since: date | None, until: date | None) -> Q:
    """From the beginning of one day to the end of another, in the reader's zone."""
    span = Q()
    if since is not None:
        span &= Q(publish_at__gte=_midnight(since))
    if until is not None and until < date.max:
        span &= Q(publish_at__lt=_midnight(until + timedelta(days=1)))
    return span


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time.min, timezone.get_current_timezone())
