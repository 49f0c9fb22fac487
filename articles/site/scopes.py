"""The parts of the news that readers can follow: all of it, a channel, a tag or an author.

A tag or an author of whom nothing is live does not exist, or a name in a draft would be known before its time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import Exists, OuterRef, Subquery
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _

from articles.caching.tags import NEWS, author_tag, channel_tag, topic_tag
from articles.models import Article, Channel, Tag
from articles.models.article import ArticleQuerySet
from scheduling.services import database_now

COMMON = 5000
"""Articles with a tag from which on it is cheaper to look through the newest of all than to sort those of the tag."""


@dataclass(frozen=True)
class Scope:
    """A part of the news. `path` is its page for people, and what the addresses of its feeds begin with."""

    path: str
    title: str
    description: str
    channel: int | None = None
    tag: int | None = None
    author: int | None = None
    is_common: bool = False  #: a tag of very many articles

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

    def of(self, articles: ArticleQuerySet) -> ArticleQuerySet:
        """Those of `articles` that belong to it."""
        if self.channel is not None:
            return articles.filter(channel=self.channel)
        if self.tag is not None:
            return articles.tagged_among_many(self.tag) if self.is_common else articles.filter(tags=self.tag)
        return articles if self.author is None else articles.signed_by(self.author)

    def live(self) -> ArticleQuerySet:
        """What readers may see of it now, newest first."""
        return self.of(_live()).newest_first()


def everything() -> Scope:
    """The whole site."""
    return Scope(reverse("home"), _("Headline"), _("News, on the second."))


def channel_scope(slug: str) -> Scope:
    """An enabled channel. Raises `Http404`."""
    return scope_of_channel(get_object_or_404(Channel.objects.enabled(), slug=slug))


def scope_of_channel(channel: Channel) -> Scope:
    """A channel."""
    description = channel.description or channel.name
    return Scope(channel.get_absolute_url(), channel.name, description, channel=channel.pk)


def tag_scope(slug: str) -> Scope:
    """What has a tag. Raises `Http404`.

    One statement for what is there and what is not. Its parts look for one row each; as EXISTS they would be joined.
    """
    uses = Article.tags.through.objects.filter(tag=OuterRef("pk")).order_by("pk").values("pk")
    one_live = _live().filter(tags=OuterRef("pk")).order_by().values("pk")[:1]
    tags = Tag.objects.alias(one_live=Subquery(one_live)).annotate(one_more=Subquery(uses[COMMON : COMMON + 1]))
    tag: Any = get_object_or_404(tags.filter(one_live__isnull=False), slug=slug)
    return scope_of_tag(tag, is_common=tag.one_more is not None)


def scope_of_tag(tag: Tag, *, is_common: bool = False) -> Scope:
    """What has a tag, whether anything has or not."""
    description = _("Articles on %(name)s") % {"name": tag.name}
    path = reverse("tag", kwargs={"slug": tag.slug})
    return Scope(path, tag.name, description, tag=tag.pk, is_common=is_common)


def author_scope(pk: int) -> Scope:
    """What names a person as its author. Raises `Http404`."""
    people = get_user_model()._default_manager.filter(Exists(_live().signed_by(OuterRef("pk"))))
    return scope_of_author(pk, get_object_or_404(people, pk=pk).get_full_name())


def scope_of_author(pk: int, name: str) -> Scope:
    """What names a person as its author, whether anything does or not."""
    description = _("Articles by %(name)s") % {"name": name}
    return Scope(reverse("author", kwargs={"pk": pk}), name, description, author=pk)


def _live() -> ArticleQuerySet:
    return Article.objects.live(database_now())
