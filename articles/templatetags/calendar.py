"""Renders calendar entries in Python: up to 500 per page, faster than a template each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

if TYPE_CHECKING:
    from articles.desk.calendar.entries import Entry

register = template.Library()


@register.simple_tag
def entry_list(entries: Iterable[Entry], move_address: str) -> SafeString:
    """A list of entries; movable ones get a handle that links to `move_address` plus key."""
    move = _("Reschedule")
    items = ((_attributes(entry), _grip(entry, move, move_address), _link(entry)) for entry in entries)
    return format_html("<ul>{}</ul>", format_html_join("", "<li {}>{}{}</li>", items))


def _attributes(entry: Entry) -> SafeString:
    """Data attributes for the script."""
    kind = format_html('class="entry {}" data-key="{}"', entry.classes, entry.key)
    if not entry.seen:
        return kind
    return format_html('{} data-seen="{}" data-wall-time="{}"', kind, entry.seen, entry.wall_time)


def _grip(entry: Entry, move: str, move_address: str) -> SafeString | str:
    if not entry.seen:
        return ""
    return format_html(
        '<a class="grip" href="{}{}" title="{}" aria-label="{}: {}"></a>',
        move_address, entry.key, move, move, entry.title,
    )  # fmt: skip


def _link(entry: Entry) -> SafeString:
    """Time, headline and marks; marks shown by colour are also in text for screen readers."""
    return format_html(
        '<a class="entry-link" href="{}" title="{}"><time datetime="{}">{}</time> <span class="kind">{}: </span>'
        '<span class="title">{}</span>{} <span class="details">{}</span></a>',
        entry.address, entry.tip, entry.at.isoformat(), entry.clock, entry.name,
        entry.title, _marks(entry), entry.details,
    )  # fmt: skip


def _marks(entry: Entry) -> SafeString | str:
    if not entry.marks:
        return ""
    marks = format_html_join(" ", '<span class="mark {}">{}</span>', ((mark.value, mark.short) for mark in entry.marks))
    return format_html(' <span class="marks">{}</span>', marks)
