"""Template tags and filters for articles, shared by site and admin."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django import template
from django.template import Context
from django.utils import formats, timezone
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from articles import pages, text
from articles.cache import may_show_alert
from articles.fronts import ShownCard
from articles.images import IN_A_COLUMN, absolute, markup, with_renditions
from articles.models import Alert, AlertQuerySet, Article, Channel, Image, Tag, named
from articles.push import public_key
from articles.search import Query, highlighted, snippet
from articles.text import add_paragraphs, clean_html, language_of, with_live_links, with_players, zone_label
from scheduling.database import compiled_once, database_now, present

register = template.Library()

_HARMLESS = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


@register.filter
def format_time(moment: datetime) -> str:
    """Date, time and zone."""
    return text.format_time(moment)


@register.filter
def timed(moment: datetime) -> SafeString:
    """A <time> element."""
    return mark_safe(pages.timed(moment))  # noqa: S308 (escaped there)


register.filter(pages.epoch)


@register.simple_tag
def card(article: Article, **look: Any) -> SafeString:
    """An article in a list, see `articles.pages.card`."""
    return mark_safe(pages.card(article, **look))  # noqa: S308 (escaped there)


@register.simple_tag
def front_card(shown: ShownCard, **look: Any) -> SafeString:
    """A card of a composed front, see `articles.pages.front_card`."""
    return mark_safe(pages.front_card(shown, **look))  # noqa: S308 (escaped there)


@register.simple_tag
def byline(article: Article, updated: datetime | None = None) -> SafeString:
    """Who wrote an article, and when it went live."""
    return mark_safe(pages.byline(article, updated))  # noqa: S308 (escaped there)


@register.filter
def format_time_briefly(moment: datetime) -> str:
    """Time with UTC offset; with the date unless it is today."""
    return text.format_time_briefly(moment)


@register.filter
def format_time_exactly(moment: datetime) -> str:
    """Date, time with seconds and zone."""
    return text.format_time_exactly(moment)


@register.filter
def display_name(user: Any) -> str:
    """Display name of a user."""
    return named(user)


@register.filter
def prose(body: str) -> SafeString:
    """The article body as safe HTML, with paragraphs, players and responsive images."""
    return _prose(body)


@register.simple_tag
def text_of(article: Article, links: pages.Links) -> SafeString:
    """The same as readers get it, with `links` to live articles alone, and with images that may be loaded already."""
    return mark_safe(with_live_links(_prose(article.body, article.renditions_of), links.live))  # noqa: S308 (cleaned)


@register.simple_tag
def image(shown: Image, sizes: str = IN_A_COLUMN, is_first: bool = False, is_small: bool = False) -> SafeString:
    """A responsive image, see `markup`."""
    return mark_safe(markup(shown, sizes=sizes, is_first=is_first, is_small=is_small))  # noqa: S308 (escaped there)


@register.simple_tag
def leading_images(article: Article) -> list[Image]:
    """The cover images that are not in the text."""
    return [shown for shown in article.covers if str(shown.pk) not in article.renditions_of]


@register.filter
def shared(cover: Image) -> str:
    """URL of the crop for social media."""
    return absolute(cover.address(cover.shared))


@register.simple_tag
def found_title(article: Article, query: Query) -> SafeString:
    """The headline with search terms highlighted."""
    return highlighted(article.title, query)


@register.simple_tag
def found_text(article: Article, query: Query) -> SafeString:
    """An excerpt with search terms highlighted."""
    return snippet(article, query)


@register.simple_tag
def breaking_alert() -> Alert | None:
    """The breaking alert that readers see now."""
    return next(iter(compiled_once(_breaking_alert)), None) if may_show_alert() else None


def _breaking_alert() -> AlertQuerySet:
    return (
        Alert.objects.shown(database_now())
        .select_related("article")
        .only("text", "article__title", "article__slug")[:1]
    )


@register.simple_tag
def push_key() -> str:
    """What browsers subscribe to pushes with; "" while push is off."""
    return public_key()


@register.simple_tag(takes_context=True)
def enabled_channels(context: Context) -> Iterable[Channel]:
    """Enabled channels for the navigation, unless the view has loaded them."""
    return context.get("channels") or compiled_once(Channel.objects.enabled)


@register.filter(name="absolute")
def absolute_address(path: str) -> str:
    """An absolute URL for a path."""
    return absolute(path)


@register.filter
def language(text: str) -> str:
    """Language of a text for the `lang` attribute."""
    return language_of(text)


@register.simple_tag
def structured_data(article: Article, tags: Sequence[Tag]) -> SafeString:
    """JSON-LD of an article, escaped for a script element."""
    text = json.dumps(pages.structured(article, tags), ensure_ascii=False).translate(_HARMLESS)
    return mark_safe(f'<script type="application/ld+json">{text}</script>')  # noqa: S308 (without < and >)


@register.simple_tag
def today() -> str:
    """Date and weekday in the site's zone."""
    # Translators: a date such as Saturday, 21 November 2026, in the letters of Django's date filter
    return formats.date_format(timezone.localtime(present()), _("l, j F Y"))


@register.simple_tag
def zone_name() -> str:
    """Name of the current time zone."""
    return zone_label()


def _prose(body: str, images: Mapping[str, Image] | None = None) -> SafeString:
    html = with_players(_cleaned(body))
    return mark_safe(with_renditions(html, images))  # noqa: S308 (cleaned above)


@text.remembered
def _cleaned(body: str) -> str:
    return clean_html(add_paragraphs(body))
