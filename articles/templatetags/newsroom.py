"""What the templates of the site and the desk say about articles."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import template
from django.utils import formats, timezone
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from articles import times
from articles.embeds import with_players
from articles.html import add_paragraphs, clean_html
from articles.illustrating import IN_A_COLUMN, absolute, illustrate, markup
from articles.models import Article, Channel, Material
from articles.models.channel import ChannelQuerySet
from articles.models.people import named
from articles.search import Query, highlighted, snippet

register = template.Library()


@register.filter
def spoken(moment: datetime) -> str:
    """Date, time and zone."""
    return times.spoken(moment)


@register.filter
def moment(when: datetime) -> str:
    """Time and distance from UTC, with the day unless that is today."""
    return times.spoken_briefly(when)


@register.filter
def person(somebody: Any) -> str:
    """What a member of the newsroom is called."""
    return named(somebody)


@register.filter
def prose(body: str) -> SafeString:
    """An article's text as HTML: plain text gets paragraphs, what is not harmless is taken out, players are put in, and
    pictures come in every size.
    """
    return mark_safe(illustrate(with_players(clean_html(add_paragraphs(body)))))  # noqa: S308 (cleaned in this line)


@register.simple_tag
def picture(shown: Material, sizes: str = IN_A_COLUMN, is_first: bool = False) -> SafeString:
    """A picture in every size; `sizes` says how wide it stands, `is_first` that it is seen at once."""
    return mark_safe(markup(shown, sizes=sizes, is_first=is_first))  # noqa: S308 (made by a template)


@register.simple_tag
def opening_pictures(article: Article) -> list[Material]:
    """The cover, above the text: what the text shows itself is not shown twice."""
    return [shown for shown in article.covers if str(shown.pk) not in article.pictures]


@register.simple_tag
def shared_picture(article: Article) -> str:
    """The address of the crop that other sites show; empty without a cover."""
    return absolute(article.covers[0].address(article.covers[0].shared)) if article.covers else ""


@register.simple_tag
def found_title(article: Article, query: Query) -> SafeString:
    """An article's headline with what was looked for marked."""
    return highlighted(article.title, query)


@register.simple_tag
def found_text(article: Article, query: Query) -> SafeString:
    """The place of an article's text that has what was looked for."""
    return snippet(article, query)


@register.simple_tag
def enabled_channels() -> ChannelQuerySet:
    """The channels of the navigation."""
    return Channel.objects.enabled()


@register.simple_tag
def today() -> str:
    """The date in the site's zone, with its weekday."""
    # Translators: a date such as Saturday, 21 November 2026, in the letters of Django's date filter
    return formats.date_format(timezone.localtime(), _("l, j F Y"))


@register.simple_tag
def zone_name() -> str:
    """The zone in which times are shown."""
    return times.zone_label()
