"""WebSub: pinging a hub when feeds change, so that subscribers get changes at once."""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from django.conf import settings
from django.urls import reverse

from articles.models import Article, Channel, Tag
from articles.task_types import PING
from scheduling.database import database_now, read_database_clock
from scheduling.services import add_task

TIMEOUT = 10.0  # seconds
_MOST = 500  # articles of one task


def ping_soon(article_ids: Collection[int], *, are_gone: bool = False) -> None:
    """Add a task to ping the hub about the feeds of these articles, published or gone; does nothing without a hub."""
    if not settings.WEBSUB_HUB:
        return
    ids = sorted(article_ids)
    for start in range(0, len(ids), _MOST):
        parameters = {"articles": ids[start : start + _MOST], "are_gone": are_gone}
        add_task(PING, execute_time=read_database_clock(), parameters=parameters)


def ping_of_vanishing(article_ids: Collection[int]) -> None:
    """Before articles are deleted or rolled back, add a task to ping the hub about the feeds that show them."""
    if settings.WEBSUB_HUB and (paths := topics(article_ids)):
        add_task(PING, execute_time=read_database_clock(), parameters={"topics": paths})


def ping(paths: Collection[str]) -> None:
    """Ping the hub about these feeds now. Raises `OSError` if it cannot be reached or refuses."""
    if not paths:
        return
    fields = [("hub.mode", "publish"), *(("hub.url", settings.SITE_URL + path) for path in paths)]
    request = Request(settings.WEBSUB_HUB, data=urlencode(fields).encode(), method="POST")  # noqa: S310 (checked at start)
    with urlopen(request, timeout=TIMEOUT):  # noqa: S310
        pass


def topics(article_ids: Collection[int], *, are_gone: bool = False) -> list[str]:
    """The paths of the feeds that show these articles or, if they are gone, showed them; none for unpublished ones."""
    articles = Article.objects.filter(pk__in=article_ids)
    public = articles.live(database_now())
    if are_gone:
        public |= articles.filter(published_at__isnull=False)
    seen = list(public.select_related("author").defer("body"))
    if not seen:
        return []
    channels = Channel.objects.enabled().filter(articles__in=seen).distinct()
    tags = Tag.objects.filter(articles__in=seen).distinct()
    named = {article.author.pk for article in seen if article.author and article.signed and not article.byline}
    return [
        *_forms("feed"),
        *(path for channel in channels for path in _forms("channel-feed", slug=channel.slug)),
        *(path for tag in tags for path in _forms("tag-feed", slug=tag.slug)),
        *(path for author in sorted(named) for path in _forms("author-feed", pk=author)),
    ]


def _forms(name: str, **place: object) -> list[str]:
    """The paths of a feed in each of its forms."""
    return [reverse(name, kwargs=place | form) for form in ({}, {"form": "atom"}, {"form": "json"})]
