"""HTML of WordPress posts: blocks, shortcodes, embeds, footnotes and featured images.

https://developer.wordpress.org/block-editor/explanations/architecture/key-concepts/ describes blocks,
https://codex.wordpress.org/Shortcode_API shortcodes. Dynamic content is skipped and noted.
"""

from __future__ import annotations

import json
import mimetypes
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape, unescape
from typing import NamedTuple

from django.utils.translation import gettext as _

from articles.exchange.losses import losses
from articles.text import add_paragraphs, clean_html

_BLOCKS = "<!-- wp:"
_DYNAMIC = re.compile(r"<!--\s+wp:([a-z0-9_-]+(?:/[a-z0-9_-]+)?)\s[^<>]*/-->")
"""A block that WordPress renders dynamically. Its attributes contain neither < nor >."""

_EMBED = re.compile(
    r"<figure\b(?=[^<>]*\bwp-block-embed\b)[^<>]*+>\s*<div\b[^<>]*>\s*(?P<address>https?://[^\s<>]+)\s*</div>\s*"
    r"(?:<figcaption\b[^<>]*>(?P<caption>[^<]*+(?:<(?!/?fig)[^<]*+)*)</figcaption>\s*)?</figure>"
)
_CAPTION = re.compile(
    r"\[(wp_)?caption\b(?P<given>[^\[\]]*)\](?P<content>[^\[]*+(?:\[(?!/?(?:wp_)?caption\b)[^\[]*+)*)\[/(wp_)?caption\]"
)
_CAPTIONED = re.compile(r"\s*((?:<a\b[^<>]*>\s*)?<img\b[^<>]*>(?:\s*</a>)?)(.*)", re.DOTALL)
_PAGE = re.compile(
    r"\[embed\b[^\[\]]*\]\s*(?P<inside>https?://[^\s\[\]<>]+)\s*\[/embed\]"
    r"|\[(?:youtube|vimeo)[\s=]+[\"']?(?P<named>https?://[^\s\[\]<>\"']+)[^\[\]]*\]"
)
_GALLERY = re.compile(r"\[gallery\b([^\[\]]*)\]")
_PLAYER = re.compile(r"\[(?P<kind>audio|video)\b(?P<given>[^\[\]]*)\](?:\s*\[/(?P=kind)\])?")
_SHORTCODE = re.compile(
    r"\[([a-z][a-z0-9_-]++)(?=\s[^\[\]]*=|\s*/\]|[^\[\]]*\][^\[\]]{0,5000}\[/\1\])[^\[\]]*\]", re.IGNORECASE
)
_ATTRIBUTE = re.compile(r"(?<![a-z0-9_])([a-z0-9_]++)\s*+=\s*+(?:\"([^\"]*)\"|'([^']*)'|([^\s\"']+))")
_FOOTNOTE_LINK = re.compile(r"<sup\b(?=[^<>]*\bdata-fn=)[^<>]*+>\s*+<a\b[^<>]*>([^<>]*)</a>\s*</sup>")
_EMPTY = re.compile(r"<p>(?:\s|&nbsp;|<br>)*</p>\s*")
_HOST = re.compile(r"https?://[^/]*")


class Attachment(NamedTuple):
    """A file of the WordPress media library."""

    address: str
    alt: str = ""
    caption: str = ""

    @property
    def is_image(self) -> bool:
        """Whether its extension is an image's; the export has no media types."""
        return (mimetypes.guess_type(self.address)[0] or "").startswith("image/")


@dataclass
class Library:
    """The files by id, and the ids of the files uploaded for each post."""

    files: dict[str, Attachment] = field(default_factory=dict)
    of_post: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))


@dataclass(frozen=True)
class Post:
    """A text and what it refers to. `site` is the site's URL, `footnotes` the JSON of that custom field."""

    id: str
    text: str
    site: str
    library: Library
    featured: str = ""
    footnotes: str = ""


@dataclass
class Body:
    """A text during conversion to HTML, and notes on what is not converted."""

    html: str
    notes: list[str] = field(default_factory=list)


def render(post: Post) -> Body:
    """The sanitised HTML of a post with absolute URLs."""
    body = Body(post.text)
    _link_embeds(body)
    if "[" in body.html:
        _replace_shortcodes(body, post)
    if _BLOCKS not in post.text:
        body.html = add_paragraphs(body.html)
    _put_footnotes(body, post.footnotes)
    _drop_dynamic_blocks(body)
    _put_featured(body, post)
    body.notes += losses(body.html)
    body.html = _EMPTY.sub("", clean_html(body.html, base=post.site))
    return body


def _link_embeds(body: Body) -> None:
    def linked(found: re.Match[str]) -> str:
        caption = f"\n\n<p>{found['caption']}</p>" if found["caption"] else ""
        return _link(unescape(found["address"])) + caption

    body.html = _EMBED.sub(linked, body.html)


def _link(address: str) -> str:
    """A URL alone in its paragraph is shown as an embed if its site is allowed."""
    return f'<p><a href="{escape(address)}">{escape(address)}</a></p>'


def _replace_shortcodes(body: Body, post: Post) -> None:
    body.html = _CAPTION.sub(_captioned, body.html)
    body.html = _PAGE.sub(lambda found: f"\n\n{_link(unescape(found['inside'] or found['named']))}\n\n", body.html)
    body.html = _GALLERY.sub(lambda found: _gallery(_attributes(found[1]), post, body), body.html)
    body.html = _PLAYER.sub(_player, body.html)
    for name in dict.fromkeys(found[1] for found in _SHORTCODE.finditer(body.html)):
        body.notes.append(_("the shortcode [%(name)s] stays in the text unchanged") % {"name": name})


def _attributes(text: str) -> dict[str, str]:
    return {found[1]: found[2] or found[3] or found[4] or "" for found in _ATTRIBUTE.finditer(text)}


def _captioned(found: re.Match[str]) -> str:
    parts = _CAPTIONED.fullmatch(found["content"])
    if parts is None:
        return found[0]
    caption = parts[2].strip() or escape(unescape(_attributes(found["given"]).get("caption", "")))
    return f"\n\n<figure>{parts[1]}{_caption(caption)}</figure>\n\n"


def _caption(html: str) -> str:
    return f"<figcaption>{html}</figcaption>" if html else ""


def _gallery(given: dict[str, str], post: Post, body: Body) -> str:
    named = given.get("ids") or given.get("include")
    ids = re.findall(r"\d+", named) if named else post.library.of_post.get(given.get("id", post.id), [])
    found = [post.library.files[pk] for pk in ids if pk in post.library.files]
    images = [each for each in found if each.is_image]
    if not images or (named and len(found) < len(ids)):
        body.notes.append(_("images of a gallery are not in the file"))
    return "\n\n".join(["", *map(_figure, images), ""])


def _figure(image: Attachment) -> str:
    shown = f'<img src="{escape(image.address)}" alt="{escape(image.alt)}">'
    return f"<figure>{shown}{_caption(image.caption)}</figure>"


def _player(found: re.Match[str]) -> str:
    given = _attributes(found["given"])
    sources = [value for value in given.values() if re.match(r"(?:https?:/)?/", value)]
    if not sources:
        return found[0]
    kind = found["kind"]
    return f'\n\n<figure><{kind} src="{escape(sources[0])}" controls></{kind}></figure>\n\n'


def _put_footnotes(body: Body, source: str) -> None:
    """Insert the footnotes at their block or at the end; their numbers stay in the text."""
    body.html = _FOOTNOTE_LINK.sub(r"<sup>\1</sup>", body.html)
    notes = _footnotes(source)
    if not notes:
        return
    listed = f"<ol>{''.join(f'<li>{note}</li>' for note in notes)}</ol>"
    block = next((found for found in _DYNAMIC.finditer(body.html) if found[1] == "footnotes"), None)
    start, end = block.span() if block else (len(body.html), len(body.html))
    body.html = f"{body.html[:start]}\n\n{listed}{body.html[end:]}"


def _footnotes(source: str) -> Iterable[str]:
    try:
        found = json.loads(source or "[]")
    except (ValueError, RecursionError):
        return []
    listed = found if isinstance(found, list) else []
    return [str(note.get("content", "")) for note in listed if isinstance(note, dict)]


def _drop_dynamic_blocks(body: Body) -> None:
    names = dict.fromkeys(found[1] for found in _DYNAMIC.finditer(body.html))
    body.notes += [_("the content of the block “%(name)s” is skipped") % {"name": name} for name in names]
    body.html = _DYNAMIC.sub("", body.html)


def _put_featured(body: Body, post: Post) -> None:
    """Insert the featured image above the text, unless the text contains it in any size."""
    if not post.featured:
        return
    image = post.library.files.get(post.featured)
    if image is None:
        body.notes.append(_("the featured image is not in the file"))
    elif _HOST.sub("", image.address).rpartition(".")[0] not in body.html:
        body.html = f"{_figure(image)}\n\n{body.html}"
