"""Images, sound and video in a body that browsers would load from other hosts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from html.parser import HTMLParser
from urllib.parse import urlsplit

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
    reader = _Reader(loaded)
    reader.feed(clean_html(body))
    reader.close()
    return [address for address in dict.fromkeys(reader.addresses) if _host(address) not in {*own, ""}]


def _host(address: str) -> str:
    """The host of an absolute address; "" for one on this site, and "?" for an invalid one."""
    try:
        url = urlsplit(address.replace("\\", "/").strip())
        return url.hostname or ("?" if url.scheme or url.netloc else "")
    except ValueError:
        return "?"


class _Reader(HTMLParser):
    """Collects addresses from what `clean_html` made well-formed."""

    def __init__(self, loaded: Mapping[str, Collection[str]]) -> None:
        super().__init__(convert_charrefs=True)
        self.loaded = loaded
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [value for name, value in attrs if name in self.loaded.get(tag, ()) and value]
