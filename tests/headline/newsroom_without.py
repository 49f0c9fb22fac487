"""A newsroom on SQLite from its first command to a published article, in a process that lacks packages.

A program, not to be imported: its first two arguments are names of modules, separated by commas, that are lacking, and
that are watched; with a third one, the newsroom has its articles already. It prints, as JSON, which of the watched ones
were asked for.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from contextlib import redirect_stdout
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any, ClassVar


class Watch(PathFinder):
    """A finder that finds none of the lacking modules, and notes which of the watched ones are asked for."""

    lacking: ClassVar[frozenset[str]] = frozenset()
    watched: ClassVar[frozenset[str]] = frozenset()
    asked: ClassVar[set[str]] = set()

    @classmethod
    def find_spec(
        cls, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Called for each import of a module that is not imported yet."""
        cls.asked |= {fullname.partition(".")[0]} & cls.watched
        return None if fullname in cls.lacking else super().find_spec(fullname, path, target)


def watch(lacking: Iterable[str], watched: Iterable[str]) -> None:
    """Let no import find the lacking modules, as if they were not installed."""
    Watch.lacking, Watch.watched = frozenset(lacking), frozenset(watched)
    assert not Watch.lacking & sys.modules.keys()
    sys.meta_path[sys.meta_path.index(PathFinder)] = Watch


def run_newsroom(*, is_new: bool) -> None:
    """check, migrate, demo, two pages, and a worker that publishes an article."""
    import_module("django").setup()
    call = import_module("django.core.management").call_command
    call("check")
    call("migrate", verbosity=0)
    if is_new:
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


def main(lacking: str, watched: str, *others: str) -> None:
    """Run the newsroom without some modules; what it prints goes to standard error."""
    watch(lacking.split(","), watched.split(","))
    with redirect_stdout(sys.stderr):
        run_newsroom(is_new=not others)
    sys.stdout.write(json.dumps(sorted(Watch.asked)))


if __name__ == "__main__":
    main(*sys.argv[1:])
