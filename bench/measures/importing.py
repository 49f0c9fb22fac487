"""Imports of 10,000 posts, beside the version of 22 November 2026."""

from __future__ import annotations

import operator
from pathlib import Path
from tempfile import mkdtemp

from bench.imports import earlier_version, imported
from bench.measure import Contestant, Figure, Goal, Measure
from bench.stand import Servers
from tests.harness import base_dir

DESCRIPTION = """\
Posts for each second of processor time that `import_articles` takes for 10,000 posts of 3,000 characters, in JSON Lines
and in WordPress's format, and its greatest memory. Both versions import the same files into SQLite, in turn. Since the
earlier one, imports limit nesting, normalise initials, numbers and hyphens for search, and check more."""

MANY = 10_000
OURS, EARLIER, COMMIT = "Headline", "of 22 November", "818c6ff5"
FIGURES = [
    Figure("JSON Lines", "/s", more_is_better=True),
    Figure("WordPress", "/s", more_is_better=True),
    Figure("memory", "MB"),
]


def contestants(servers: Servers) -> list[Contestant]:
    """This version, and the earlier one in a directory of its own."""
    many = servers.sized(MANY)
    earlier = servers.once("earlier version", lambda: earlier_version(COMMIT, Path(mkdtemp(dir=servers.mariadb.cwd))))
    return [
        Contestant(OURS, lambda _round: imported(base_dir, many), rounds=3),
        Contestant(EARLIER, lambda _round: imported(earlier, many), rounds=3),
    ]


IMPORTING = Measure(
    "importing",
    "Imports",
    DESCRIPTION,
    FIGURES,
    contestants,
    [
        Goal("JSON Lines", OURS, operator.ge, 1.0, EARLIER),
        Goal("WordPress", OURS, operator.ge, 1.0, EARLIER),
        Goal("memory", OURS, operator.le, 150),
    ],
)
