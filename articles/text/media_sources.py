"""Images, sound and video in a body that browsers would load from other hosts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from html import unescape
from urllib.parse import urlsplit

from articles.text.blocks import TAG
from articles.text.image_refs import ATTRIBUTE
from articles.text.sanitize import clean_html

_LOADED = {"img": ("src",), "audio": ("src",), "source": ("src",), "video": ("src", "poster")}
_IMAGES = {"img": ("src",)}


def foreign_media(body: str, *, own: Collection[str]) -> list[str]:
    """The addresses of media in `body` on other hosts than `own`, in order; "*" in `own` stands for every host."""
    return _foreign(body, own, _LOADED)


def foreign_images(body: str, *, own: Collection[str]) -> list[str]:
    """Those of them that are images of the text."""
    return _foreign(body, own, _IMAGES)


def in_full(address: str) -> str:
    """An address of another host as browsers read it: with a scheme, and with slashes."""
    plain = address.replace("\\", "/").strip()
    return f"https:{plain}" if plain.startswith("//") else plain


def _foreign(body: str, own: Collection[str], loaded: Mapping[str, Collection[str]]) -> list[str]:
    if "*" in own or not ("src" in body or "poster" in body):
        return []
    addresses = dict.fromkeys(_addresses(clean_html(body), loaded))
    return [address for address in addresses if _host(address) not in {*own, ""}]


def _host(address: str) -> str:
    """The host of an absolute address; "" for one on this site, and "?" for an invalid one."""
    try:
        url = urlsplit(address.replace("\\", "/").strip())
        return url.hostname or ("?" if url.scheme or url.netloc else "")
    except ValueError:
        return "?"


def _addresses(html: str, loaded: Mapping[str, Collection[str]]) -> Iterator[str]:
    for tag in TAG.finditer(html):
        if wanted := loaded.get(tag[2]):
            yield from (unescape(value) for name, value in ATTRIBUTE.findall(tag[3]) if name in wanted and value)
