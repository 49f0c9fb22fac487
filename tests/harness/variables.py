"""The variables of the environment that Headline reads, which no test may have from its caller."""

from __future__ import annotations

import re
from collections.abc import Iterator, MutableMapping
from pathlib import Path

_BASE = Path(__file__).resolve().parent.parent.parent
_READ = re.compile(r"""(?:\benv\.\w+\(|\benviron\.get\(|\benviron\[)\s*"([A-Z_]+)\"""")
_OF_LIBRARIES = ("AWS_", "DJANGO_", "GUNICORN_", "OTEL_", "PROMETHEUS_", "SENTRY_", "WEB_CONCURRENCY")
"""How the names begin that libraries read themselves; and Headline's own names with this beginning."""


def clear_variables(environment: MutableMapping[str, str]) -> None:
    """Remove the variables that Headline and its libraries read."""
    names = set(read_variables())
    for name in [name for name in environment if name in names or name.startswith(_OF_LIBRARIES)]:
        del environment[name]


def read_variables() -> Iterator[str]:
    """The names that Headline's modules spell where they read the environment."""
    for file in [_BASE / "gunicorn.conf.py", *(_BASE / "headline").rglob("*.py")]:
        yield from _READ.findall(file.read_text(encoding="utf-8"))
