"""Images, sound and video in a body that browsers would load from other hosts."""

from __future__ import annotations

from collections.abc import Collection
from html.parser import HTMLParser
from urllib.parse import urlsplit

from articles.text.sanitize import clean_html

_LOADED = {"img": ("src",), "audio": ("src",), "source": ("src",), "video": ("src", "poster")}


def foreign_media(body: str, *, own: Collection[str]) -> list[str]:
    """The addresses of media in `body` on other hosts than `own`, in order; "*" in `own` stands for every host."""
    if "*" in own or not ("src" in body or "poster" in body):
        return []
    reader = _Reader()
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

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [value for name, value in attrs if name in _LOADED.get(tag, ()) and value]
