"""Media of other hosts in texts: images are copied into the library if a setting says so; all else is refused."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from django.conf import settings
from django.utils.translation import gettext as _

from articles import images
from articles.audit import Actor
from articles.exceptions import ArticleError, ForeignMedia
from articles.limits import IMAGE_BYTES
from articles.models import Article, Image, Text
from articles.permissions import ADD as ADD_ARTICLE, require, require_edit
from articles.publishing.revisions import newest
from articles.text import clean_html, foreign_images, foreign_media, in_full

COPY = "copy"
"""The value of `FOREIGN_MEDIA` by which images are copied."""

MOST_COPIED = 20
"""Images of a text that are copied when it is saved."""

COPY_TIMEOUT = 30.0  # seconds for all of them


def images_to_copy(body: str) -> list[str]:
    """Addresses of the images of other hosts in `body`, if the setting says that they are copied."""
    return foreign_images(body, own=own_hosts()) if settings.FOREIGN_MEDIA == COPY else []


def with_own_images(body: str, *, by: Actor, article: Article | None = None) -> str:
    """`body` with copies of the images of other hosts, if the setting says so; `article` is the one it is written to.

    Called before the transaction that stores it: a host may take its time. An image that cannot be copied raises
    `ForeignMedia`, which names it, unless the article shows it already. Raises `NotAllowed` without fetching.
    """
    found = images_to_copy(body)
    if not found:
        return body
    if article is None:
        require(ADD_ARTICLE, by)
    else:
        require_edit(article, by, {"body": body})
    # Before fetching: without it, any address could be asked for by those who may not upload.
    require(images.ADD, by)
    known = foreign_images(newest(article).body, own=own_hosts()) if article is not None else []
    if len({*found}.difference(known)) > MOST_COPIED:
        message = _("The text shows more than %(most)d images of other sites; upload them, or save some at a time.")
        raise ForeignMedia(message % {"most": MOST_COPIED})
    return images.with_copies(clean_html(body), _Copies({*found}, {*known}, by).of)


def refuse_foreign_media(text: Text, *, before: Text | None = None) -> None:
    """Raise `ForeignMedia` for media of hosts that are not allowed, unless the text showed them `before`."""
    own = own_hosts()
    found = foreign_media(text.body, own=own)
    if found and (new := {*found}.difference(foreign_media(before.body, own=own) if before else ())):
        message = _("The text shows media of another site: %(address)s. Upload them, or link to them.")
        raise ForeignMedia(message % {"address": min(new)[:200]})


def own_hosts() -> set[str]:
    """The site, its storage, and the hosts that a setting allows; "*" for all."""
    own = {urlsplit(address).hostname or "" for address in (settings.SITE_URL, settings.MEDIA_URL)}
    return own | {*settings.FOREIGN_MEDIA_HOSTS}


@dataclass
class _Copies:
    """Makes a copy of each image of a text once."""

    found: set[str]
    known: set[str]
    by: Actor
    made: dict[str, Image | None] = field(default_factory=dict)
    end: float = field(default_factory=lambda: time.monotonic() + COPY_TIMEOUT)

    def of(self, address: str, alt: str) -> Image | None:
        """The copy; None for an image of the site, and for one that stays where it is."""
        if address not in self.found:
            return None
        if address not in self.made:
            self.made[address] = self._copy(address, alt)
        return self.made[address]

    def _copy(self, address: str, alt: str) -> Image | None:
        left = self.end - time.monotonic()
        try:
            if left <= 0 or len(self.made) >= MOST_COPIED:
                raise ForeignMedia(_("There are too many, or they take too long."))
            file = images.fetch(in_full(address), most=IMAGE_BYTES, within=left)
            return images.upload(file, by=self.by, alt=alt[:500]).image
        except ArticleError as error:
            if address in self.known:
                return None
            message = _("The image %(address)s could not be copied: %(reason)s Upload it, or remove it from the text.")
            raise ForeignMedia(message % {"address": address[:200], "reason": error}) from error
