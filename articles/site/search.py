"""The readers' search page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from typing import Any

from django import forms
from django.db.models import Q
from django.http import HttpRequest, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from articles.cache import NEWS, cached, tagged
from articles.limits import LABEL_LENGTH, SEARCH_LENGTH
from articles.listing import (
    ArticleFilter,
    Cursor,
    InvalidCursor,
    cursor_of,
    decode_cursor,
    encode_cursor,
    filter_by_slugs,
)
from articles.models import ArticleQuerySet, Channel
from articles.search import Found, Query, find
from articles.site.pagination import SIZE, Page

_ORDER = "rank, newest first"


class SearchForm(forms.Form):
    """The search parameters. All are optional: without words, the newest articles that match the rest are found."""

    q = forms.CharField(
        label=_("Words"),
        required=False,
        max_length=SEARCH_LENGTH,
        widget=forms.TextInput({"type": "search", "autocomplete": "off"}),
    )
    channel = forms.TypedChoiceField(label=_("Channel"), required=False, empty_value=None)
    since = forms.DateField(label=_("From"), required=False, widget=forms.DateInput({"type": "date"}, "%Y-%m-%d"))
    until = forms.DateField(label=_("To"), required=False, widget=forms.DateInput({"type": "date"}, "%Y-%m-%d"))
    tag = forms.CharField(required=False, max_length=LABEL_LENGTH, widget=forms.HiddenInput)
    author = forms.IntegerField(required=False, min_value=1, max_value=2**63 - 1, widget=forms.HiddenInput)

    def __init__(self, query: QueryDict, *, channels: Sequence[Channel]) -> None:
        super().__init__(query)
        field: Any = self.fields["channel"]
        field.choices = [("", _("All channels")), *((channel.slug, channel.name) for channel in channels)]
        field.coerce = {channel.slug: channel.pk for channel in channels}.get

    def article_filter(self) -> ArticleFilter:
        """The filter of a valid form."""
        values = self.cleaned_data
        since, until = _span(values["since"], values["until"])
        chosen = filter_by_slugs(tag=values["tag"], author=values["author"], since=since, until=until)
        return replace(chosen, channel=values["channel"])

    @property
    def query(self) -> Query:
        """The words to search for; empty if they are invalid."""
        return Query(getattr(self, "cleaned_data", {}).get("q", ""))

    @property
    def has_parameters(self) -> bool:
        """Whether any parameter is given."""
        return any(self.data.get(name, "").strip() for name in self.fields)


@require_safe
@cached(*SearchForm.base_fields, "before", "older")
def search(request: HttpRequest) -> HttpResponseBase:
    """The form and a page of results; invalid parameters give an empty page with an explanation."""
    channels, parameters = list(Channel.objects.enabled()), request.GET
    form = SearchForm(parameters, channels=channels)
    page, older = Page([], last=None), ""
    if form.is_valid() and form.has_parameters:
        found = find(replace(form.article_filter(), older=_cursor(parameters.get("older", ""))), form.query)
        page = _page(found.articles, parameters.get("before", ""))
        older = _older(parameters, page, found)
    context = {"form": form, "channels": channels, "page": page, "query": form.query, "older": older}
    return tagged(render(request, "articles/search.html", context), NEWS)


def _page(found: ArticleQuerySet, before: str) -> Page:
    """The page after the cursor `before`; the first one if that is missing or invalid."""
    try:
        rank, *values = decode_cursor(_ORDER, before)
        found = found.filter(Q(rank__lt=rank) | Q(Cursor.at(*values).older, rank=rank))
    except InvalidCursor:
        pass
    rows = list(found.select_related("channel", "author")[: SIZE + 1])
    return Page(rows[:SIZE], last=rows[SIZE - 1] if len(rows) > SIZE else None)


def _older(parameters: QueryDict, page: Page, found: Found) -> str:
    """The query of the next page, in the same window of results or in the next; empty on the last."""
    query = parameters.copy()
    query.pop("before", None)
    if page.last is not None:
        last: Any = page.last
        query["before"] = encode_cursor(_ORDER, [last.rank, *cursor_of(last).values])
    elif found.beyond is not None:
        query["older"] = str(found.beyond)
    else:
        return ""
    return query.urlencode()


def _cursor(text: str) -> Cursor | None:
    """The cursor in a query; None if it is missing or invalid."""
    try:
        return Cursor.decode(text) if text else None
    except InvalidCursor:
        return None


def _span(since: date | None, until: date | None) -> tuple[datetime | None, datetime | None]:
    """From the start of one day to the end of another, in the reader's time zone."""
    begin = None if since is None else _midnight(since)
    end = None if until is None or until == date.max else _midnight(until + timedelta(days=1))
    return begin, end


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time.min, timezone.get_current_timezone())
