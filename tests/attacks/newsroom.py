"""Child process: a newsroom with readers' pages, and an author who attacks it; prints what opens it, as JSON."""

from __future__ import annotations

import json
from typing import Any

import django

django.setup()

from django.contrib.auth.models import User  # noqa: E402 (models need a Django that is set up)
from django.test import Client  # noqa: E402

from articles.models import Article  # noqa: E402
from articles.roles import Role  # noqa: E402
from headline.api.tokens import issue  # noqa: E402
from tests.articles.factories import make_article, make_channel, make_member, soon  # noqa: E402

LIVE = 100


def main() -> None:
    """Create it."""
    author, channel = make_member(Role.AUTHOR, "author"), make_channel()
    live: dict[str, Any] = {"status": Article.Status.APPROVED, "channel": channel, "author": make_member(Role.EDITOR)}
    for number in range(LIVE):
        title = f"Harbour bridge {number}"
        page = make_article(title, body=_ordinary(number), publish_at=soon(minutes=-number - 1), **live)
    nested = make_article("Nested", body="<dd><p><li>" * 10_000, publish_at=soon(hours=-5), **live)
    token = issue(author, by=author, name="attack")[1]
    opened = {"token": token, "cookie": _session(author), "nested": nested.pk, "path": nested.get_absolute_url()}
    opened["page"] = page.get_absolute_url()
    print(json.dumps(opened))  # noqa: T201


def _ordinary(number: int) -> str:
    return f"<p>The harbour bridge opens for the {number}th time, and traffic flows again.</p>" * 10


def _session(user: User) -> str:
    client = Client()
    client.force_login(user)
    return client.cookies["sessionid"].value


if __name__ == "__main__":
    main()
