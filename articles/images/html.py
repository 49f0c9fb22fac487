"""Showing pictures to readers: the body with its pictures in every size, and the covers of many articles at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from html import unescape

from django.conf import settings
from django.template.loader import render_to_string

from articles.models import MODERN, Article, Image
from articles.text import ATTRIBUTE, reference, references

IMAGE = re.compile(r'<img((?:\s+[\w-]+="[^"]*")*)\s*/?>')
"""As `clean_html` writes it."""

IN_A_COLUMN = "(min-width: 44rem) 42rem, 92vw"
"""How wide a picture in a text stands."""


def with_renditions(html: str, found: Mapping[str, Image] | None = None, *, address: Callable[[str], str] = str) -> str:
    """Cleaned `html` with each picture of the newsroom in all its sizes; one that is gone is left out.

    `found` holds the pictures by their ids; without it they are looked up. `address` is given each address of a picture
    and returns what readers need, such as `absolute`.
    """
    if found is None:
        found = _found(references(html))
    return IMAGE.sub(lambda tag: _shown(tag, found, address), html)


def markup(
    image: Image,
    *,
    alt: str = "",
    sizes: str = IN_A_COLUMN,
    is_first: bool = False,
    is_small: bool = False,
    address: Callable[[str], str] = str,
) -> str:
    """A picture for browsers to choose a version of; `sizes` says how wide it stands, `is_first` that it is seen at
    once, `is_small` that it is one of many: few versions in the best format, and one for older browsers. `alt` is what
    the text says of it instead of what the newsroom does.
    """
    kinds, widths = (MODERN[:1], image.widths[:3]) if is_small else (MODERN, image.widths)
    sources = [(f"image/{kind}", _srcset(image, widths, kind, address)) for kind in kinds]
    values = {"image": image, "alt": alt or image.alt, "sizes": sizes, "is_first": is_first}
    values |= {"sources": sources, "preview": address(image.preview)}
    return render_to_string("articles/image.html", values).strip()


def absolute(address: str) -> str:
    """An address as other sites need it."""
    return f"{settings.SITE_URL}{address}" if address.startswith("/") else address


def gather_covers(articles: Iterable[Article]) -> None:
    """Look the covers of all these articles up with one statement."""
    rows = list(articles)
    _give_covers(rows, _found({pk for row in rows for pk in row.cover}))


def gather_images(article: Article, others: Iterable[Article]) -> None:
    """Look the pictures of an article's text up, and with the same statement its covers and those of `others`."""
    rows, shown = [article, *others], article.images
    found = _found({*shown, *(pk for row in rows for pk in row.cover)})
    article.renditions_of = {pk: found[pk] for pk in shown if pk in found}
    _give_covers(rows, found)


def _found(ids: Iterable[str]) -> dict[str, Image]:
    return {str(image.pk): image for image in Image.objects.named(ids)}


def _give_covers(articles: Iterable[Article], found: Mapping[str, Image]) -> None:
    for article in articles:
        article.covers = [found[pk] for pk in article.cover if pk in found]


def _srcset(image: Image, widths: Iterable[int], kind: str, address: Callable[[str], str]) -> str:
    return ", ".join(f"{address(image.address(f'{width}.{kind}'))} {width}w" for width in widths)


def _shown(tag: re.Match[str], found: Mapping[str, Image], address: Callable[[str], str]) -> str:
    attributes = {name: unescape(value) for name, value in ATTRIBUTE.findall(tag[1])}
    pk = reference(attributes.get("src", ""))
    if pk is None:
        return tag[0]
    if (image := found.get(pk)) is None:
        return ""
    return markup(image, alt=attributes.get("alt", ""), address=address)
