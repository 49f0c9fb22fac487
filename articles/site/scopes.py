"""The parts of the news that readers can follow: all of it, a channel, a tag or an author.

A tag or an author of whom nothing is live does not exist, or a name in a draft would be known before its time.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from django.contrib.auth import get_user_model
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _

from articles.caching.tags import NEWS, author_tag, channel_tag, topic_tag
from articles.models import Article, Channel, Tag
from articles.models.article import ArticleQuerySet
from scheduling.services import database_now


@dataclass(frozen=True)
class Scope:
    """A part of the news. `path` is what the addresses of its feeds begin with, `page` is its page for people."""

    path: str
    page: str
    title: str
    description: str
    channel: int | None = None
    tag: int | None = None
    author: int | None = None

    @property
    def surrogate(self) -> str:
        """The tag of what shows it."""
        if self.channel is not None:
            return channel_tag(self.channel)
        if self.tag is not None:
            return topic_tag(self.tag)
        return NEWS if self.author is None else author_tag(self.author)

    def of(self, articles: ArticleQuerySet) -> ArticleQuerySet:
        """Those of `articles` that belong to it."""
        if self.channel is not None:
            return articles.filter(channel=self.channel)
        if self.tag is not None:
            return articles.filter(tags=self.tag)
        return articles if self.author is None else articles.signed_by(self.author)

    def live(self) -> ArticleQuerySet:
        """What readers may see of it now, newest first."""
        return self.of(Article.objects.live(database_now())).newest_first()


def everything() -> Scope:
    """The whole site."""
    return Scope("/", reverse("home"), _("Headline"), _("News, on the second."))


def channel_scope(slug: str) -> Scope:
    """An enabled channel. Raises `Http404`."""
    return scope_of_channel(get_object_or_404(Channel.objects.enabled(), slug=slug))


def scope_of_channel(channel: Channel) -> Scope:
    """A channel."""
    page = channel.get_absolute_url()
    return Scope(page, page, channel.name, channel.description or channel.name, channel=channel.pk)


def tag_scope(slug: str) -> Scope:
    """What has a tag. Raises `Http404`."""
    return _with_news(scope_of_tag(get_object_or_404(Tag, slug=slug)))


def scope_of_tag(tag: Tag) -> Scope:
    """What has a tag, whether anything has or not."""
    path = reverse("tag-feed", kwargs={"slug": tag.slug}).removesuffix("feed/")
    title = _("Articles on %(name)s") % {"name": tag.name}
    return Scope(path, _found_by(tag=tag.slug), tag.name, title, tag=tag.pk)


def author_scope(pk: int) -> Scope:
    """What names a person as its author. Raises `Http404`."""
    person = get_object_or_404(get_user_model(), pk=pk)
    return _with_news(scope_of_author(pk, person.get_full_name()))


def scope_of_author(pk: int, name: str) -> Scope:
    """What names a person as its author, whether anything does or not."""
    path = reverse("author-feed", kwargs={"pk": pk}).removesuffix("feed/")
    title = _("Articles by %(name)s") % {"name": name}
    return Scope(path, _found_by(author=pk), name, title, author=pk)


def _found_by(**filters: object) -> str:
    return f"{reverse('search')}?{urlencode(filters)}"


def _with_news(scope: Scope) -> Scope:
    if not scope.live().exists():
        raise Http404
    return scope
