"""The entries of the calendar. A page shows some five hundred: written here, they cost less than by a template."""

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
    """A list of entries; what can be moved has a grip, which leads to the form at `move_address` plus its key."""
    move = _("Move")
    items = ((_attributes(entry), _grip(entry, move, move_address), _link(entry)) for entry in entries)
    return format_html("<ul>{}</ul>", format_html_join("", "<li {}>{}{}</li>", items))


def _attributes(entry: Entry) -> SafeString:
    """What the script must know."""
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
    """Time, headline, marks; what the eye sees by its colour is there in words for the ear."""
    return format_html(
        '<a class="what" href="{}" title="{}"><time datetime="{}">{}</time> <span class="kind">{}: </span>'
        '<span class="title">{}</span>{} <span class="facts">{}</span></a>',
        entry.address, entry.tip, entry.at.isoformat(), entry.clock, entry.name,
        entry.title, _marks(entry), entry.details,
    )  # fmt: skip


def _marks(entry: Entry) -> SafeString | str:
    if not entry.marks:
        return ""
    marks = format_html_join(" ", '<span class="mark {}">{}</span>', ((mark.value, mark.short) for mark in entry.marks))
    return format_html(' <span class="marks">{}</span>', marks)
