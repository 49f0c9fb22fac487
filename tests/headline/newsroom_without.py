"""A newsroom on SQLite from its first command to a published article, in a process that lacks packages.

A program, not to be imported: its two arguments are names of modules, separated by commas, that are lacking, and that
are watched. It prints, as JSON, which of the watched ones were asked for.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from contextlib import redirect_stdout
from importlib import import_module
from typing import Any


class Watch:
    """A finder of modules that finds none, and notes which are asked for."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(names)
        self.asked: set[str] = set()

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Called for each import of a module that is not imported yet."""
        self.asked |= {name.partition(".")[0]} & self._names


def lack(names: Iterable[str]) -> None:
    """Let imports of these modules fail, and `find_spec` not find them, as if they were not installed."""
    for name in names:
        assert name not in sys.modules, name
        sys.modules[name] = None  # type: ignore[assignment]  # documented to do this


def run_newsroom() -> None:
    """check, migrate, demo, two pages, and a worker that publishes an article."""
    import_module("django").setup()
    call = import_module("django.core.management").call_command
    call("check")
    call("migrate", verbosity=0)
    call("demo")
    article = add_article()
    call("poll")
    article.refresh_from_db()
    assert article.published_at, "the worker has not published the article"
    client = import_module("django.test").Client(headers={"host": "127.0.0.1"})
    for path, text in {"/": article.title, "/admin/login/": "password"}.items():
        response = client.get(path)
        assert response.status_code == 200, (path, response.status_code)
        assert text in response.content.decode(), path


def add_article() -> Any:
    """An approved article that is due."""
    models, now = import_module("articles.models"), import_module("django.utils.timezone").now()
    approved, channel = models.Article.Status.APPROVED, models.Channel.objects.first()
    return models.Article.objects.create(title="Ferry runs again", channel=channel, status=approved, publish_at=now)


def main(lacking: str, watched: str) -> None:
    """Run the newsroom without some modules; what it prints goes to standard error."""
    watch = Watch(watched.split(","))
    sys.meta_path.insert(0, watch)
    lack(filter(None, lacking.split(",")))
    with redirect_stdout(sys.stderr):
        run_newsroom()
    sys.stdout.write(json.dumps(sorted(watch.asked)))


if __name__ == "__main__":
    main(*sys.argv[1:])
