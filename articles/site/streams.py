"""Streams: the lists of articles that have a page and feeds (all news, a channel, a tag, an author).

A tag or author without live articles gives a 404, since a draft's tag may reveal its subject.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _

from articles.addresses import page_address
from articles.cache import NEWS, WrongSlug, author_tag, channel_tag, topic_tag
from articles.listing import ArticleFilter, live_authors, live_tags
from articles.models import Channel, Tag
from articles.text import base_language

Named = TypeVar("Named", Channel, Tag)


@dataclass(frozen=True)
class Stream(ArticleFilter):
    """A filter with a title and description. `path` is its page, and the prefix of its feeds' paths."""

    path: str
    title: str
    description: str

    @property
    def surrogate(self) -> str:
        """The cache tag of its page and feeds."""
        if self.channel is not None:
            return channel_tag(self.channel)
        if self.tag is not None:
            return topic_tag(self.tag)
        return NEWS if self.author is None else author_tag(self.author)

    @property
    def is_mixed(self) -> bool:
        """Whether its articles may be in several channels."""
        return self.channel is None


def all_news(language: str | None = None) -> Stream:
    """All articles of the site, or those in one of its languages."""
    texts = language and base_language(language)
    return Stream(page_address("home"), _("Headline"), _("News, on the second."), language=texts)


def channel_stream(slug: str) -> Stream:
    """The stream of an enabled channel. Raises `Http404` and `WrongSlug`."""
    return stream_of_channel(_with_slug(slug, get_object_or_404(Channel.objects.enabled(), slug=slug)))


def stream_of_channel(channel: Channel) -> Stream:
    """The stream of a channel, enabled or not."""
    description = channel.description or channel.name
    return Stream(channel.get_absolute_url(), channel.name, description, channel=channel.pk)


def tag_stream(slug: str) -> Stream:
    """The stream of a tag that a live article has. Raises `Http404` and `WrongSlug`."""
    return stream_of_tag(_with_slug(slug, get_object_or_404(live_tags(), slug=slug)))


def stream_of_tag(tag: Tag) -> Stream:
    """The stream of a tag, whether a live article has it or not."""
    description = _("Articles on %(name)s") % {"name": tag.name}
    return Stream(page_address("tag", slug=tag.slug), tag.name, description, tag=tag.pk)


def author_stream(pk: int) -> Stream:
    """The stream of a user whom a live article names as its author. Raises `Http404`."""
    return stream_of_author(pk, get_object_or_404(live_authors(), pk=pk).get_full_name())


def stream_of_author(pk: int, name: str) -> Stream:
    """The stream of an author, whether a live article names them or not."""
    description = _("Articles by %(name)s") % {"name": name}
    return Stream(page_address("author", pk=pk), name, description, author=pk)


def _with_slug(slug: str, found: Named) -> Named:
    """`found` if its slug is exactly `slug`: MariaDB compares case-insensitively. Raises `WrongSlug`."""
    if found.slug != slug:
        raise WrongSlug(found.slug)
    return found
