"""Benchmark subprocess: milliseconds of each address by its name, or with `plans`, the query plans."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Callable
from functools import partial
from urllib.parse import quote

import django

django.setup()

from django.conf import settings  # noqa: E402 (models need a Django that is set up)
from django.contrib.auth import get_user_model  # noqa: E402
from django.core.cache import caches  # noqa: E402
from django.test import Client  # noqa: E402

from articles.cache.next_change import next_change  # noqa: E402
from articles.listing import cursor_of  # noqa: E402
from articles.models import Article  # noqa: E402
from bench.plans import plans_of  # noqa: E402


def main() -> None:
    """Print JSON."""
    logging.disable(logging.WARNING)
    settings.ALLOWED_HOSTS.append("testserver")
    works = all_works()
    if sys.argv[1] == "plans":
        print(json.dumps([plan for name, work in works.items() for plan in plans_of(name, work)]))
    else:
        print(json.dumps({name: costs(work, int(sys.argv[1])) for name, work in works.items()}))


def all_works() -> dict[str, Callable[[], object]]:
    """The measured operations, by name."""
    newest, author = Article.objects.order_by("-pk")[0], get_user_model().objects.get(username="author")
    middle = Article.objects.filter(pk__gte=newest.pk // 2).order_by("pk")[0].publish_at
    assert middle is not None
    channel = Article.objects.filter(channel__slug="town").newest_first()
    far = channel.filter(pk__lte=newest.pk - newest.pk // 5 * 2)[0]  # 10,000 pages of ten further, of a million
    addresses = {
        "front page": "/",
        "headlines just in": "/latest/",
        "article": channel[0].get_absolute_url(),
        "page of a channel": "/channel/town/",
        "page of a channel, far on": f"/channel/town/?before={cursor_of(far)}",
        "page of a tag of 20": "/tag/seldom/",
        "page of a tag of 1 in 10": "/tag/often/",
        "page of an author": f"/author/{author.pk}/",
        "feed of the site": "/feed/",
        "feed of a channel": "/channel/town/feed/",
        "feed of a tag of 1 in 10": "/tag/often/feed/",
        "feed of a tag of 20": "/tag/seldom/feed/",
        "feed of an author": f"/author/{author.pk}/feed/",
        "index of sitemaps": "/sitemap.xml",
        "sitemap of a section": f"/sitemap-{newest.pk // 5000 // 2}.xml",
        "news sitemap": "/news-sitemap.xml",
    }
    addresses |= lists(quote(middle.isoformat())) | searches(quote(middle.isoformat()), str(cursor_of(far)))
    requests = {name: partial(get, address) for name, address in addresses.items()}
    return {**requests, "next change": next_change}


def lists(middle: str) -> dict[str, str]:
    """What programs list, at the head and from a time in the middle on."""
    return {
        "list of programs": "/api/v1/articles/",
        "list of programs, in the middle": f"/api/v1/articles/?until={middle}",
        "list of programs, a channel's middle": f"/api/v1/articles/?channel=town&until={middle}",
        "list of programs, a channel's middle by cursor": following(f"/api/v1/articles/?channel=town&until={middle}"),
        "list of programs, the middle of a tag of 1 in 10": f"/api/v1/articles/?tag=often&until={middle}",
    }


def searches(middle: str, far: str) -> dict[str, str]:
    """Rare and frequent words, from the newest article and from a later cursor."""
    return {
        "search: in 20 articles": "/search/?q=rare",
        "search: 北京大学, in 20 articles": f"/search/?q={quote('北京大学')}",
        "search: two words, in 20 articles": "/search/?q=rare+seldom",
        "search: in 1 of 100 articles": "/search/?q=common",
        "search: in 1 of 100, by programs": "/api/v1/articles/?q=common",
        "search: in 1 of 10": "/search/?q=frequent",
        "search: in all": "/search/?q=new",
        "search: two words, in 1 of 10 and 1 of 5": "/search/?q=frequent+usual",
        "search: in 20 articles and in most": "/search/?q=rare+w0",
        "search: three words, in 1 of 50": "/search/?q=frequent+usual+w0",
        "search: in 1 of 100, far on": f"/search/?q=common&older={far}",
        "search: in a channel, 1 of 100": "/search/?q=common&channel=town",
        "search by programs: in 20 articles": "/api/v1/articles/?q=rare",
        "search by programs: a channel's middle, 1 of 100": f"/api/v1/articles/?q=common&channel=town&until={middle}",
    }


def following(address: str) -> str:
    """The page of a list after this one."""
    return str(Client().get(address).json()["next"]).removeprefix("http://testserver")


def get(address: str) -> None:
    """Ask for an address, which must be there, without the cache."""
    caches["responses"].clear()
    answer = Client().get(address)
    assert answer.status_code == 200, (address, answer.status_code)


def costs(work: Callable[[], object], repetitions: int) -> list[float]:
    """Milliseconds of each repetition, after one that warms up."""
    taken = []
    for _ in range(repetitions + 1):
        began = time.perf_counter()
        work()
        taken.append((time.perf_counter() - began) * 1000)
    return taken[1:]


if __name__ == "__main__":
    main()
