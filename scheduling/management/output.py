"""Output of the `tasks` command: a table for users, JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder

from scheduling.services.finding import FoundTask

NOT_MEASURED = "not measured"
_ERROR_LENGTH = 60  # characters of an error in a table


def as_dict(found: FoundTask) -> dict[str, Any]:
    """A task for JSON; the id is a string because JavaScript's numbers are exact to 53 bits only."""
    log = found.log
    return {
        "task_id": str(log.task_id),
        "task_type": log.task_type,
        "priority": log.priority,
        "key": log.key,
        "status": found.status,
        "execute_time": log.execute_time,
        "next_attempt": found.next_attempt,
        "executed_at": log.executed_at,
        "lateness_ms": log.lateness_ms,
        "attempts": log.attempts,
        "worker": log.worker,
        "version": log.version,
        "parameters": log.parameters,
        "error": log.error,
        "created_at": log.created_at,
        "updated_at": log.updated_at,
    }


def as_row(found: FoundTask) -> list[object]:
    """A task as a row of the table under `HEADINGS`."""
    log = found.log
    late = NOT_MEASURED if log.is_unmeasured else None if log.lateness_ms is None else f"{log.lateness_ms:.1f}"
    error = log.error.strip().rpartition("\n")[2][:_ERROR_LENGTH]
    due = found.next_attempt or log.execute_time
    return [log.task_id, log.task_type, log.priority, log.key, found.status, due, late, log.attempts, error]


HEADINGS = ("task", "type", "priority", "key", "status", "due (UTC)", "late (ms)", "attempts", "error")


def as_json(value: object) -> str:
    """Readable JSON; times as ISO 8601 with their offset."""
    return json.dumps(value, cls=_Encoder, ensure_ascii=False, indent=2)


class _Encoder(DjangoJSONEncoder):
    """Keeps microseconds, which Django's encoder cuts to milliseconds."""

    def default(self, o: Any) -> Any:
        return o.isoformat() if hasattr(o, "isoformat") else super().default(o)


def as_table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table with aligned columns."""
    lines = [list(headings), *([_cell(value) for value in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def as_text(found: FoundTask) -> str:
    """A task for users."""
    measured = {"lateness_ms": NOT_MEASURED} if found.log.is_unmeasured else {}
    return as_list(as_dict(found) | measured)


def as_list(values: Mapping[str, object]) -> str:
    """One `name: value` a line; an error keeps its line breaks."""
    width = max(map(len, values))
    return "\n".join(f"{name.ljust(width)}  {_lines(value, width + 2)}" for name, value in values.items())


def _lines(value: object, indent: int) -> str:
    text = as_json(value) if isinstance(value, dict | list) else str("" if value is None else value)
    return ("\n" + " " * indent).join(_printable(line) for line in text.split("\n"))


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if hasattr(value, "strftime"):
        return f"{value:%Y-%m-%d %H:%M:%S.%f}"[:-3]
    return _printable(str(value))


def _printable(text: str) -> str:
    """Replace control characters: keys and errors are untrusted and could control the terminal."""
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)
