"""The page on which readers look for articles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from typing import Any

from django import forms
from django.core.signing import BadSignature
from django.db.models import Q
from django.http import HttpRequest, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from articles.cache import NEWS, cached, tagged
from articles.listing import Cursor, Part, cursor_of, part_named
from articles.models import ArticleQuerySet, Channel
from articles.search import Found, Query, find
from articles.site.pagination import SIZE, Page

LONGEST_QUERY = 100


class SearchForm(forms.Form):
    """What to look for. Nothing is required: without words, the newest of what the rest asks for are found."""

    q = forms.CharField(
        label=_("Words"),
        required=False,
        max_length=LONGEST_QUERY,
        widget=forms.TextInput({"type": "search", "autocomplete": "off"}),
    )
    channel = forms.TypedChoiceField(label=_("Channel"), required=False, empty_value=None)
    since = forms.DateField(label=_("From"), required=False, widget=forms.DateInput({"type": "date"}, "%Y-%m-%d"))
    until = forms.DateField(label=_("To"), required=False, widget=forms.DateInput({"type": "date"}, "%Y-%m-%d"))
    tag = forms.CharField(required=False, max_length=80, widget=forms.HiddenInput)
    author = forms.IntegerField(required=False, min_value=1, max_value=2**63 - 1, widget=forms.HiddenInput)

    def __init__(self, asked: QueryDict, *, channels: Sequence[Channel]) -> None:
        super().__init__(asked)
        field: Any = self.fields["channel"]
        field.choices = [("", _("All channels")), *((channel.slug, channel.name) for channel in channels)]
        field.coerce = {channel.slug: channel.pk for channel in channels}.get

    def part(self) -> Part:
        """What a valid form narrows the search to."""
        wanted = self.cleaned_data
        since, until = _span(wanted["since"], wanted["until"])
        part = part_named(tag=wanted["tag"], author=wanted["author"], since=since, until=until)
        return replace(part, channel=wanted["channel"])

    @property
    def query(self) -> Query:
        """Its words; none if they cannot be looked for."""
        return Query(getattr(self, "cleaned_data", {}).get("q", ""))

    @property
    def asks(self) -> bool:
        """Whether it asks for anything."""
        return any(self.data.get(name, "").strip() for name in self.fields)


@require_safe
@cached(*SearchForm.base_fields, "before", "older")
def search(request: HttpRequest) -> HttpResponseBase:
    """What was found, and the form. Whatever is typed, the worst that comes is an empty page that says why."""
    channels, asked = list(Channel.objects.enabled()), request.GET
    form = SearchForm(asked, channels=channels)
    page, older = Page([], last=None), ""
    if form.is_valid() and form.asks:
        found = find(replace(form.part(), older=_cursor(asked.get("older", ""))), form.query)
        page = _page(found.articles, asked.get("before", ""))
        older = _older(asked, page, found)
    context = {"form": form, "channels": channels, "page": page, "query": form.query, "older": older}
    return tagged(render(request, "articles/search.html", context), NEWS)


def _page(found: ArticleQuerySet, before: str) -> Page:
    """The page after the article `before`; the first one if that is not among what was found."""
    last: Any = found.filter(pk=before).first() if before.isdecimal() and len(before) < 19 else None
    if last is not None:
        found = found.filter(Q(rank__lt=last.rank) | Q(cursor_of(last).older, rank=last.rank))
    rows = list(found.select_related("channel", "author")[: SIZE + 1])
    return Page(rows[:SIZE], last=rows[SIZE - 1] if len(rows) > SIZE else None)


def _older(asked: QueryDict, page: Page, found: Found) -> str:
    """The query of the page after this one: among the same articles, or where older ones begin; empty on the last."""
    query = asked.copy()
    query.pop("before", None)
    if page.last is not None:
        query["before"] = str(page.last.pk)
    elif found.beyond is not None:
        query["older"] = str(found.beyond)
    else:
        return ""
    return query.urlencode()


def _cursor(text: str) -> Cursor | None:
    """The place that a query names; what nobody was led to is none."""
    try:
        return Cursor.read(text) if text else None
    except BadSignature:
        return None


def _span(since: date | None, until: date | None) -> tuple[datetime | None, datetime | None]:
    """From the beginning of one day to the end of another, in the reader's zone."""
    begin = None if since is None else _midnight(since)
    end = None if until is None or until == date.max else _midnight(until + timedelta(days=1))
    return begin, end


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time.min, timezone.get_current_timezone())
