"""Renders calendar entries in Python: up to 500 per page, faster than a template each."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _, ngettext

if TYPE_CHECKING:
    from articles.desk.calendar.entries import CalendarEntry
    from articles.desk.calendar.layout import CalendarSlot

register = template.Library()


@register.simple_tag
def entry_list(entries: Iterable[CalendarEntry], reschedule_address: str) -> SafeString:
    """A list of entries; movable ones get a handle that links to `reschedule_address` plus key.

    Every text is escaped once, with the standard library's function: Django's take half of the page's time. Keys,
    classes and times have nothing to escape.
    """
    reschedule, address = escape(_("Reschedule")), escape(reschedule_address)
    items = (
        f"<li {_attributes(entry)}>{_grip(entry, title, reschedule, address)}{_link(entry, title)}</li>"
        for entry in entries
        for title in [escape(entry.title)]
    )
    return mark_safe(f"<ul>{''.join(items)}</ul>")  # noqa: S308 (all of it was escaped)


@register.simple_tag
def more_link(cell: CalendarSlot) -> SafeString | str:
    """The number of entries not shown, with the address that shows them."""
    if not cell.hidden:
        return ""
    text = ngettext("%(hidden)s more", "%(hidden)s more", cell.hidden) % {"hidden": cell.hidden}
    return format_html('<p class="more"><a href="{}">{}</a></p>', cell.more, text)


def _attributes(entry: CalendarEntry) -> str:
    """Data attributes for the script."""
    kind = f'class="entry {entry.classes}" data-key="{entry.key}"'
    return f'{kind} data-seen="{entry.seen}" data-wall-time="{entry.wall_time}"' if entry.seen else kind


def _grip(entry: CalendarEntry, title: str, reschedule: str, address: str) -> str:
    if not entry.seen:
        return ""
    return f'<a class="grip" href="{address}{entry.key}" title="{reschedule}" aria-label="{reschedule}: {title}"></a>'


def _link(entry: CalendarEntry, title: str) -> str:
    """Time, headline and marks; marks shown by colour are also in text for screen readers."""
    return (
        f'<a class="entry-link" href="{escape(entry.address)}" title="{escape(entry.tip)}">'
        f'<time datetime="{entry.at.isoformat()}">{entry.clock}</time>'
        f' <span class="kind">{escape(entry.name)}: </span><span class="title">{title}</span>'
        f'{_marks(entry)} <span class="details">{escape(entry.details)}</span></a>'
    )


def _marks(entry: CalendarEntry) -> str:
    if not entry.marks:
        return ""
    marks = (f'<span class="mark {value}">{escape(short)}</span>' for value, short in entry.short_marks)
    return f' <span class="marks">{" ".join(marks)}</span>'
