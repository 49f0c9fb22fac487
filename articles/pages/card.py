"""HTML of an article in lists: Python, because a template for each takes five times as long."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from html import escape

from django.utils.translation import get_language, gettext as _

from articles.addresses import page_address
from articles.fronts import ShownCard, ShownLink
from articles.images import markup
from articles.models import Article, Channel, Image
from articles.text import format_time, language_of, local_time, whole_second


def card(
    article: Article,
    *,
    level: int,
    look: str = "",
    sizes: str = "",
    is_first: bool = False,
    kicker: bool = False,
    summary: bool = False,
) -> str:
    """An article in a list, with a heading of this `level`.

    `sizes` is the width of its cover for browsers; without it, or without a cover, it has none. `look` is "lead",
    "brief" or empty.
    """
    address = escape(article.get_absolute_url())
    cover = _cover(article.covers, address, sizes, is_lead=look == "lead", is_first=is_first) if sizes else ""
    parts = [
        _opening(article, article.title, look, is_covered=bool(cover)),
        cover,
        kicker_of(article.channel) if kicker and article.channel else "",
        _heading(article.title, address, level),
        f'<p class="summary">{escape(article.summary)}</p>' if summary and article.summary else "",
        byline(article),
        "</article>",
    ]
    return "\n".join(filter(None, parts))


def front_card(shown: ShownCard, *, level: int, look: str = "", sizes: str = "", is_first: bool = False) -> str:
    """A card of a composed front, with its own texts and image where it has any, see `card`."""
    article, address = shown.article, escape(shown.address)
    cover = _cover(shown.images, address, sizes, is_lead=look == "lead", is_first=is_first) if sizes else ""
    parts = [
        _opening(article, shown.headline, look, is_covered=bool(cover)),
        cover,
        _kicker(shown),
        _heading(shown.headline, address, level),
        f'<p class="summary">{escape(shown.summary)}</p>' if shown.summary and look != "brief" else "",
        byline(article) if article else "",
        _sublinks(shown.links),
        "</article>",
    ]
    return "\n".join(filter(None, parts))


def _opening(article: Article | None, headline: str, look: str, *, is_covered: bool) -> str:
    classes = " ".join(filter(None, ("card", look, "covered" if is_covered else "")))
    of_article = f' data-id="{article.pk}" data-time="{epoch(article.goes_live_at)}"' if article else ""
    return f'<article class="{classes}"{of_article} lang="{language_of(headline)}">'


def _heading(headline: str, address: str, level: int) -> str:
    return f'<h{level}><a href="{address}">{escape(headline)}</a></h{level}>'


def _kicker(shown: ShownCard) -> str:
    """The card's own kicker, or the channel of its article."""
    if shown.kicker:
        return f'<p class="kicker">{escape(shown.kicker)}</p>'
    return kicker_of(shown.article.channel) if shown.article and shown.article.channel else ""


def _sublinks(links: Sequence[ShownLink]) -> str:
    if not links:
        return ""
    items = (
        f'<li lang="{language_of(link.headline)}"><a href="{escape(link.address)}">{escape(link.headline)}</a></li>'
        for link in links
    )
    return f'<ul class="sublinks">{"".join(items)}</ul>'


def byline(article: Article, updated: datetime | None = None) -> str:
    """Who wrote an article, when it went live, and when it was `updated`."""
    parts = [_signed(article), timed(article.goes_live_at) if article.goes_live_at else ""]
    if updated:
        parts.append(_("Updated %(time)s") % {"time": timed(updated)})
    return f'<p class="meta" lang="{get_language()}">{" · ".join(filter(None, parts))}</p>'


def kicker_of(channel: Channel) -> str:
    """A link to the channel, above a heading."""
    name, address = escape(channel.name), escape(channel.get_absolute_url())
    return f'<p class="kicker"><a href="{address}" lang="{language_of(channel.name)}">{name}</a></p>'


def timed(moment: datetime) -> str:
    """A <time> element; HTML has no microseconds."""
    exact = local_time(whole_second(moment)).isoformat()
    return f'<time datetime="{exact}">{escape(format_time(moment))}</time>'


def _signed(article: Article) -> str:
    if article.byline:
        return f'<span class="by">{escape(article.byline)}</span>'
    if name := article.signed:
        return f'<a class="by" href="{page_address("author", pk=article.author_id)}">{escape(name)}</a>'
    return ""


def _cover(covers: Sequence[Image], address: str, sizes: str, *, is_lead: bool, is_first: bool) -> str:
    """The images of a cover, with a link that screen readers skip, because the heading has it, too."""
    if not covers:
        return ""
    is_first = is_lead and is_first
    images = [markup(image, sizes=sizes, is_first=is_first, is_small=not is_lead) for image in covers]
    attributes = f'class="cover cover-{len(images)}" href="{address}" tabindex="-1" aria-hidden="true"'
    return f"<a {attributes}>{''.join(images)}</a>"


def epoch(moment: datetime | None) -> str:
    """Seconds since 1970 with microseconds; empty without a time."""
    return f"{int(moment.timestamp())}.{moment.microsecond:06}" if moment else ""
