"""What the templates of the site and the desk say about articles."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django import template
from django.template import Context
from django.utils import formats, timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from articles.images import IN_A_COLUMN, absolute, markup, with_renditions
from articles.models import Article, Channel, Image, Tag, named
from articles.pages import structured
from articles.search import Query, highlighted, snippet
from articles.text import add_paragraphs, clean_html, spoken_briefly, with_players, zone_label
from articles.text import spoken as spoken_time

register = template.Library()

_HAN = re.compile("[\u3400-\u9fff\U00020000-\U0003ffff]")
_HARMLESS = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


@register.filter
def spoken(moment: datetime) -> str:
    """Date, time and zone."""
    return spoken_time(moment)


@register.filter
def timed(moment: datetime) -> SafeString:
    """The same for machines too. HTML knows no microseconds."""
    exact = timezone.localtime(moment).isoformat(timespec="seconds")
    return format_html('<time datetime="{}">{}</time>', exact, spoken_time(moment))


@register.filter
def moment(when: datetime) -> str:
    """Time and distance from UTC, with the day unless that is today."""
    return spoken_briefly(when)


@register.filter
def display_name(somebody: Any) -> str:
    """What a member of the newsroom is called."""
    return named(somebody)


@register.filter
def prose(body: str) -> SafeString:
    """An article's text as HTML: plain text gets paragraphs, what is not harmless is taken out, players are put in, and
    pictures come in every size.
    """
    return _prose(body)


@register.simple_tag
def text_of(article: Article) -> SafeString:
    """The same of an article whose pictures may have been looked up already."""
    return _prose(article.body, article.renditions_of)


@register.simple_tag
def image(shown: Image, sizes: str = IN_A_COLUMN, is_first: bool = False, is_small: bool = False) -> SafeString:
    """A picture in several sizes, see `markup`."""
    return mark_safe(markup(shown, sizes=sizes, is_first=is_first, is_small=is_small))  # noqa: S308 (a template)


@register.simple_tag
def leading_images(article: Article) -> list[Image]:
    """The cover, above the text: what the text shows itself is not shown twice."""
    return [shown for shown in article.covers if str(shown.pk) not in article.renditions_of]


@register.filter
def shared(cover: Image) -> str:
    """The address of the crop that other sites show."""
    return absolute(cover.address(cover.shared))


@register.simple_tag
def found_title(article: Article, query: Query) -> SafeString:
    """An article's headline with what was looked for marked."""
    return highlighted(article.title, query)


@register.simple_tag
def found_text(article: Article, query: Query) -> SafeString:
    """The place of an article's text that has what was looked for."""
    return snippet(article, query)


@register.simple_tag(takes_context=True)
def enabled_channels(context: Context) -> Iterable[Channel]:
    """The channels of the navigation, unless the view has looked them up."""
    return context.get("channels") or Channel.objects.enabled()


@register.filter(name="absolute")
def absolute_address(path: str) -> str:
    """A path with the site in front, as other sites need it."""
    return absolute(path)


@register.filter
def language(text: str) -> str:
    """The language in which a browser shall set and speak a text of the newsroom: Chinese if any character is."""
    return "zh" if _HAN.search(text) else "en"


@register.simple_tag
def structured_data(article: Article, tags: Sequence[Tag]) -> SafeString:
    """What search engines read of an article, as JSON-LD; nothing in it ends the script."""
    text = json.dumps(structured(article, tags), ensure_ascii=False).translate(_HARMLESS)
    return mark_safe(f'<script type="application/ld+json">{text}</script>')  # noqa: S308 (without < and >)


@register.simple_tag
def today() -> str:
    """The date in the site's zone, with its weekday."""
    # Translators: a date such as Saturday, 21 November 2026, in the letters of Django's date filter
    return formats.date_format(timezone.localtime(), _("l, j F Y"))


@register.simple_tag
def zone_name() -> str:
    """The zone in which times are shown."""
    return zone_label()


def _prose(body: str, images: Mapping[str, Image] | None = None) -> SafeString:
    html = with_players(clean_html(add_paragraphs(body)))
    return mark_safe(with_renditions(html, images))  # noqa: S308 (cleaned above)
