"""HTML of images for readers: images in a body with all renditions, and the covers of many articles at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from html import escape, unescape

from django.conf import settings

from articles.models import MODERN, Article, Image
from articles.text import ATTRIBUTE, reference, references

IMAGE = re.compile(r'<img((?:\s+[\w-]+="[^"]*")*)\s*/?>')
"""An image tag as `clean_html` writes it."""

IN_A_COLUMN = "(min-width: 44rem) 42rem, 92vw"
"""The `sizes` of an image in a text."""


def with_renditions(html: str, found: Mapping[str, Image] | None = None, *, address: Callable[[str], str] = str) -> str:
    """Sanitised `html` with all renditions of each library image; deleted images are left out.

    `found` has the images by id; without it they are looked up. `address` maps each URL, for example with `absolute`.
    """
    if found is None:
        found = _found(references(html))
    return IMAGE.sub(lambda tag: _with_renditions(tag, found, address), html)


def markup(
    image: Image,
    *,
    alt: str = "",
    sizes: str = IN_A_COLUMN,
    is_first: bool = False,
    is_small: bool = False,
    address: Callable[[str], str] = str,
) -> str:
    """The `<picture>` of an image. `sizes` is its width for browsers, `is_first` disables lazy loading, `is_small` uses
    few renditions in the best format plus one for older browsers. `alt` overrides the image's own alt text.
    """
    kinds, widths = (MODERN[:1], image.widths[:3]) if is_small else (MODERN, image.widths)
    renditions = [(f"image/{kind}", _srcset(image, widths, kind, address)) for kind in kinds]
    sources = "".join(
        f'<source type="{kind}" srcset="{escape(urls)}" sizes="{escape(sizes)}">' for kind, urls in renditions
    )
    attributes = (
        f'src="{escape(address(image.preview))}" alt="{escape(alt or image.alt)}" width="{image.width}"'
        f' height="{image.height}" class="{image.focus_classes}"'
    )
    loading = 'fetchpriority="high"' if is_first else 'loading="lazy"'
    return f'<picture>{sources}<img {attributes} {loading} decoding="async"></picture>'


def with_copies(html: str, copy: Callable[[str, str], Image | None]) -> str:
    """Sanitised `html` with library images for those of which `copy`, given address and alt text, makes one."""

    def replaced(tag: re.Match[str]) -> str:
        attributes = {name: unescape(value) for name, value in ATTRIBUTE.findall(tag[1])}
        alt = attributes.get("alt", "")
        image = copy(attributes.get("src", ""), alt)
        return f'<img src="{image.in_texts}" alt="{escape(alt)}">' if image else tag[0]

    return IMAGE.sub(replaced, html)


def absolute(address: str) -> str:
    """An absolute URL."""
    return f"{settings.SITE_URL}{address}" if address.startswith("/") else address


def gather_covers(articles: Iterable[Article]) -> None:
    """Set `covers` of all these articles, in one statement."""
    rows = list(articles)
    _set_covers(rows, _found({pk for row in rows for pk in row.cover}))


def gather_images(article: Article, others: Iterable[Article]) -> None:
    """Set the images of an article's text, its covers and those of `others`, in one statement."""
    rows, shown = [article, *others], article.images
    found = _found({*shown, *(pk for row in rows for pk in row.cover)})
    article.renditions_of = {pk: found[pk] for pk in shown if pk in found}
    _set_covers(rows, found)


def _found(ids: Iterable[str]) -> dict[str, Image]:
    return {str(image.pk): image for image in Image.objects.named(ids)}


def _set_covers(articles: Iterable[Article], found: Mapping[str, Image]) -> None:
    for article in articles:
        article.covers = [found[pk] for pk in article.cover if pk in found]


def _srcset(image: Image, widths: Iterable[int], kind: str, address: Callable[[str], str]) -> str:
    return ", ".join(f"{address(image.address(f'{width}.{kind}'))} {width}w" for width in widths)


def _with_renditions(tag: re.Match[str], found: Mapping[str, Image], address: Callable[[str], str]) -> str:
    attributes = {name: unescape(value) for name, value in ATTRIBUTE.findall(tag[1])}
    pk = reference(attributes.get("src", ""))
    if pk is None:
        return tag[0]
    if (image := found.get(pk)) is None:
        return ""
    return markup(image, alt=attributes.get("alt", ""), address=address)
