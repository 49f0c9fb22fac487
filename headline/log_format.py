"""Log lines as text or as JSON, in UTC and without secrets.

It imports the standard library alone: gunicorn's main process, which a reload does not replace, loads this file, too.
"""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Callable, Mapping
from copy import copy
from typing import Any

LOG_FIELDS = frozenset(
    {"article_id", "article_ids", "duration_ms", "method", "path", "release_id", "status", "task_id"}
    | {"task_ids", "task_type"}
)
"""What a log call may add by `extra`, beside the fields of the context."""

_SECRETS = re.compile(
    r"""
    (?<=/preview/)(?:page/)?[^/\s?\#"']+ | (?<=/calendar/)[^/\s"']+(?=\.ics)
    | (?<=/admin/reset/)[^/\s]+/[^/\s"']+ | (?<=/admin/login/link/)[^/\s]+/[^/\s"']+
    | (?<=://)[^/\s@"']+(?=@)
    | (?i:(?<=\bbearer[ ])|(?<=\btoken[ ])|(?<=\bbasic[ ]))[\w.~+/=-]{16,}
    | (?i:(?<=[?&]code=)|(?<=[?&]state=)|(?<=token=)|(?<=secret=)|(?<=password=)|(?<=sessionid=)|(?<=csrftoken=)
        |(?<=messages=)|(?<=known_device=))[^&;,\s"']+
    | (?i:(?<=token["']:)|(?<=token["']:[ ])|(?<=secret["']:)|(?<=secret["']:[ ])
        |(?<=password["']:)|(?<=password["']:[ ]))(?:"[^"]*"|'[^']*')
    | (?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}[\w.-]*
    """,
    re.VERBOSE,
)
"""Secrets in addresses of this site, credentials in URLs and headers, secret parameters, cookies, JSON Web Tokens."""

_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def hide_secrets(text: str) -> str:
    """`text` without what looks like a secret."""
    return _SECRETS.sub("…", text)


def in_one_line(text: str) -> str:
    """`text` with control characters as `\\n` and the like: others may have written it, and it ends no line."""
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def message_of(record: logging.LogRecord) -> str:
    """The message, also if its arguments do not fit: `logging` would print them, with their secrets."""
    try:
        return record.getMessage()
    except Exception:  # whatever an argument raises
        return f"{record.msg} (its arguments do not fit)"


class TextFormatter(logging.Formatter):
    """`2030-01-31T12:00:00.123Z WARNING scheduling.workers.worker: …`, whatever the machine's time zone is."""

    converter = staticmethod(time.gmtime)
    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"

    def __init__(
        self, *, context: Callable[[], Mapping[str, Any]] = dict, redact: Callable[[str], str] = hide_secrets
    ) -> None:
        """`context` gives the fields of the present request or task."""
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")
        self.context = context
        self.redact = redact

    def fields(self, record: logging.LogRecord) -> dict[str, Any]:
        """The fields of a line beside its message."""
        own = {name: value for name, value in vars(record).items() if name in LOG_FIELDS}
        both = {**self.context(), **own}
        return {name: self.redact(value) if isinstance(value, str) else value for name, value in both.items()}

    def format(self, record: logging.LogRecord) -> str:
        """The line, and after an error its traceback, indented, so that no text in it looks like a line."""
        record = copy(record)  # others, such as Sentry, get the same one
        record.msg, record.args = message_of(record), ()
        first, *others = super().format(record).split("\n")
        return "\n".join([first, *(f"  {in_one_line(line)}" for line in others)])

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 (the name in the standard library)
        """The first line, with ids at its end."""
        record.message = in_one_line(self.redact(record.message))
        ids = [f"{name}={value}" for name, value in self.fields(record).items() if name.endswith("_id")]
        return super().formatMessage(record) + (f" [{' '.join(ids)}]" if ids else "")

    def formatException(self, ei: Any) -> str:  # noqa: N802
        """A traceback without secrets."""
        return self.redact(super().formatException(ei))


class JSONFormatter(TextFormatter):
    """One JSON object a line: time, level, logger, message, fields and, after an error, its traceback."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        line = {
            "time": self.formatTime(record),
            "level": record.levelname,
            "logger": record.name,
            "message": self.redact(message_of(record)),
            **self.fields(record),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)
