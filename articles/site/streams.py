"""The parts of the news that readers can follow: all of it, a channel, a tag or an author.

A tag or an author of whom nothing is live does not exist, or a name in a draft would be known before its time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _

from articles.cache import NEWS, WrongSlug, author_tag, channel_tag, topic_tag
from articles.listing import Part, live_authors, live_tags
from articles.models import Channel, Tag

Named = TypeVar("Named", Channel, Tag)


@dataclass(frozen=True)
class Scope(Part):
    """A part with a name. `path` is its page for people, and what the addresses of its feeds begin with."""

    path: str
    title: str
    description: str

    @property
    def surrogate(self) -> str:
        """The tag of what shows it."""
        if self.channel is not None:
            return channel_tag(self.channel)
        if self.tag is not None:
            return topic_tag(self.tag)
        return NEWS if self.author is None else author_tag(self.author)

    @property
    def is_mixed(self) -> bool:
        """Whether its articles may be of several channels."""
        return self.channel is None


def everything() -> Scope:
    """The whole site."""
    return Scope(reverse("home"), _("Headline"), _("News, on the second."))


def channel_scope(slug: str) -> Scope:
    """An enabled channel. Raises `Http404` and `WrongSlug`."""
    return scope_of_channel(_with_slug(slug, get_object_or_404(Channel.objects.enabled(), slug=slug)))


def scope_of_channel(channel: Channel) -> Scope:
    """A channel."""
    description = channel.description or channel.name
    return Scope(channel.get_absolute_url(), channel.name, description, channel=channel.pk)


def tag_scope(slug: str) -> Scope:
    """What has a tag. Raises `Http404` and `WrongSlug`."""
    return scope_of_tag(_with_slug(slug, get_object_or_404(live_tags(), slug=slug)))


def scope_of_tag(tag: Tag) -> Scope:
    """What has a tag, whether anything has or not."""
    description = _("Articles on %(name)s") % {"name": tag.name}
    return Scope(reverse("tag", kwargs={"slug": tag.slug}), tag.name, description, tag=tag.pk)


def author_scope(pk: int) -> Scope:
    """What names a person as its author. Raises `Http404`."""
    return scope_of_author(pk, get_object_or_404(live_authors(), pk=pk).get_full_name())


def scope_of_author(pk: int, name: str) -> Scope:
    """What names a person as its author, whether anything does or not."""
    description = _("Articles by %(name)s") % {"name": name}
    return Scope(reverse("author", kwargs={"pk": pk}), name, description, author=pk)


def _with_slug(slug: str, found: Named) -> Named:
    """What was found, if its slug is the very one that was asked for: MariaDB finds it in other letters as well."""
    if found.slug != slug:
        raise WrongSlug(found.slug)
    return found
