"""The side panel of the article editor: a list of tabs.

A new tab is one row of `TABS` and its template. The template sees the page's context (`original`, `adminform`, …), and
what the row's `context` returns, as `data`. The row's `count` is the number in the tab's badge, which is hidden at 0.
Without JavaScript the tabs are sections below the text; their inputs belong to the article's form either way, so a
template may contain fields but no `<form>`: a button that does something else names its URL in `formaction`, belongs to
a form outside (as the notes do), or is the business of a script.

A new field of the form is a name in `PUBLISH_FIELDS` or `COVER_FIELDS`; the one-line texts of an article
(`articles.models.TextLines`) are in the latter already. A tab shows its fields by
`{% include "articles/desk/editor/fields.html" with fieldset=fieldsets.cover %}`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from articles.desk.alerts import alert_line
from articles.desk.editor.activity import events
from articles.desk.editor.checks import TEMPLATE, checked
from articles.desk.notes.screens import notes_context
from articles.models import LINES, Article

PUBLISH_FIELDS = ["channel", "publish_at", "update_at", "embargo_until", "unpublish_at"]
"""Fields of the tab *Publish*; times that the user may not set are left out."""

COVER_FIELDS = [
    *("cover_mode", "cover", "slug", "tags", "author"),
    *(name for name in LINES if name not in ("title", "summary")),
]
"""Fields of the tab *Cover & search*."""


@dataclass(frozen=True)
class Screen:
    """What a tab may show something about: the request, the article (None for a new one) and the time."""

    request: HttpRequest
    article: Article | None
    now: datetime


@dataclass(frozen=True, kw_only=True)
class PanelTab:
    """A tab of the panel."""

    key: str  #: unique; names the element `panel-<key>`
    label: str | Promise
    icon: str  #: of Material Symbols
    template: str
    context: Callable[[Screen], Mapping[str, Any]] = lambda screen: {}
    count: Callable[[Mapping[str, Any]], int] = lambda data: 0  #: from what `context` returned
    is_for_new: bool = True  #: whether an article that is not saved yet has it


TABS = [
    PanelTab(
        key="publish",
        label=_("Publish"),
        icon="schedule",
        template="articles/desk/editor/publish.html",
        context=lambda screen: alert_line(screen.request, screen.article, screen.now),
    ),
    PanelTab(key="cover", label=_("Cover & search"), icon="image", template="articles/desk/editor/cover.html"),
    PanelTab(
        key="checks",
        label=_("Checks"),
        icon="fact_check",
        template=TEMPLATE,
        context=lambda screen: checked(screen.article),
        count=lambda data: len(data["problems"]),
    ),
    PanelTab(
        key="notes",
        label=_("Notes"),
        icon="chat",
        template="articles/desk/editor/notes.html",
        context=lambda screen: notes_context(screen.request, screen.article) if screen.article else {},
        count=lambda data: data["notes"].count,
        is_for_new=False,
    ),
    PanelTab(
        key="activity",
        label=_("Activity"),
        icon="history",
        template="articles/desk/editor/activity.html",
        context=lambda screen: {"events": events(screen.article) if screen.article else []},
        is_for_new=False,
    ),
]
"""In their order."""


@dataclass(frozen=True)
class PanelSection:
    """A tab with its content."""

    tab: PanelTab
    data: Mapping[str, Any]

    @property
    def count(self) -> int:
        """The number in its badge."""
        return self.tab.count(self.data)


def sections(screen: Screen) -> list[PanelSection]:
    """The tabs of this screen."""
    shown = [tab for tab in TABS if screen.article or tab.is_for_new]
    return [PanelSection(tab, tab.context(screen)) for tab in shown]
