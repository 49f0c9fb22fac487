"""Two installations for tests of a move: what readers and the engine get from each, at all addresses of the first.

As a program it prints, as JSON, what is at the addresses that it reads from standard input's file, and the tasks.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Collection, Iterable
from html import unescape
from pathlib import Path
from typing import Any

import django

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    django.setup()

from django.contrib.auth.models import User  # noqa: E402 (models need a Django that is set up)
from django.test import Client  # noqa: E402
from django.test.utils import setup_test_environment  # noqa: E402

from articles.models import Article, Channel, Front, Tag  # noqa: E402
from articles.task_types import RELEASE  # noqa: E402
from scheduling.database import read_database_clock  # noqa: E402
from scheduling.models import TaskInfo  # noqa: E402

FORMS = ("", "atom/", "json/")
HREF = re.compile(r'href="(/[^"#]*)"')
KNOWN = re.compile(r'csrf\w+" value="\w+"|nonce="[^"]*"|<lastBuildDate>[^<]*<|"now": \d+|"checkpoint":"[^"]*"')
"""What differs between any two responses: secrets, the time of the response, and the place in the change feed."""
FEED_DATE = re.compile(r"(<feed[^>]*>.*?)<updated>[^<]*<", re.DOTALL)
SITE = (
    "/", "/latest/", "/robots.txt", "/sitemap.xml", "/sitemap-pages.xml", "/news-sitemap.xml", "/sitemap-0.xml",
    "/search/?q=the", "/search/?q=港口", "/api/v1/channels/", "/api/v1/articles/", "/api/v1/articles/?page_size=3",
    "/api/v1/articles/?q=the",
)  # fmt: skip


def addresses_of_site() -> list[str]:
    """Every address that readers and their programs can know, and some that they cannot."""
    scopes = [f"/channel/{slug}/" for slug in Channel.objects.values_list("slug", flat=True)]
    scopes += [f"/tag/{slug}/" for slug in Tag.objects.values_list("slug", flat=True)]
    scopes += [f"/author/{pk}/" for pk in User.objects.values_list("pk", flat=True)]
    found = [*SITE, *(f"/feed/{form}" for form in FORMS)]
    found += [address for scope in scopes for address in (scope, *(f"{scope}feed/{form}" for form in FORMS))]
    found += [f"/api/v1/articles/?channel={slug}" for slug in Channel.objects.values_list("slug", flat=True)]
    found += [f"/api/v1/articles/?tag={slug}" for slug in Tag.objects.values_list("slug", flat=True)]
    for front in Front.objects.all():
        found += [front.get_absolute_url(), f"/api/v1/fronts/{front.slug}/"]
    for article in Article.objects.all():
        slugs = {article.address_slug, "never-its-slug", *article.revisions.values_list("slug", flat=True)} - {""}
        page = f"/article/{article.pk}/"
        found += [page, f"/api/v1/articles/{article.pk}/", *(f"{page}{slug}/" for slug in sorted(slugs))]
    return found


def read_as_staff(addresses: Iterable[str]) -> dict[str, list[Any]]:
    """What a superuser gets, who sees the site at other instants."""
    user, _is_new = User.objects.get_or_create(username="clock", defaults={"is_staff": True, "is_superuser": True})
    client = Client()
    client.force_login(user)
    return read(addresses, client)


def read(addresses: Iterable[str], client: Client | None = None) -> dict[str, list[Any]]:
    """Status, place of a redirect, and text at each address."""
    found = {}
    for address in addresses:
        response = (client or Client()).get(address, headers={"accept-language": "en"})
        text = "" if response.streaming else KNOWN.sub("", response.text)
        text = FEED_DATE.sub(r"\1<", text, count=1)
        found[address] = [response.status_code, response.headers.get("Location", ""), text]
    return found


def crawl(start: Collection[str]) -> dict[str, list[Any]]:
    """What is at these addresses, and at all addresses of the site to which those lead."""
    found: dict[str, list[Any]] = {}
    waiting = list(dict.fromkeys(start))
    while waiting:
        found |= read(waiting)
        linked = {unescape(link) for address in waiting for link in HREF.findall(found[address][2])}
        waiting = sorted(link for link in linked - found.keys() if not link.startswith(("/static/", "/admin/")))
    return found


def tasks() -> list[list[str]]:
    """Type, article and time of each task still to come; a release may have another number."""
    to_come = TaskInfo.objects.filter(key__regex=r"^\d+$", execute_time__gt=read_database_clock())
    rows = to_come.values_list("task_type", "key", "execute_time")
    return sorted([kind, "" if kind == RELEASE else str(key), time.isoformat()] for kind, key, time in rows)


def main() -> None:
    """Read the addresses in the file of the first argument."""
    setup_test_environment()
    addresses = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    later = [address for address in addresses if "?at=" in address]
    pages = read(address for address in addresses if address not in later) | read_as_staff(later)
    print(json.dumps({"pages": pages, "tasks": tasks()}))  # noqa: T201


if __name__ == "__main__":
    main()
