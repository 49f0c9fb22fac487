"""What a task must look like to be stored; every refusal says what to do."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from typing import Any

from django.utils import timezone

from scheduling.conf import conf
from scheduling.exceptions import InvalidTask, NaiveTime, TimeOutOfRange
from scheduling.models import KEY_LENGTH, TASK_TYPE_LENGTH

EARLIEST = datetime(1000, 1, 1, tzinfo=UTC)
LATEST = datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
PRIORITIES = range(-32_768, 32_768)


def checked_time(value: Any) -> datetime:
    """`value` in UTC. Raises `NaiveTime`, `TimeOutOfRange` or `InvalidTask`."""
    if not isinstance(value, datetime):
        raise InvalidTask(f"execute_time must be a datetime, not {type(value).__name__}")
    if timezone.is_naive(value):
        raise NaiveTime
    try:
        moment = value.astimezone(UTC)
    except OverflowError as error:
        raise TimeOutOfRange from error
    if not EARLIEST <= moment <= LATEST:
        raise TimeOutOfRange
    return moment


def checked_name(value: Any, *, what: str, length: int) -> str:
    """A type or key: any characters, but storable, not empty and without blanks at its ends."""
    if not isinstance(value, str) or not value:
        raise InvalidTask(f"{what} must be a text that is not empty")
    if len(value) > length:
        raise InvalidTask(f"{what} has {len(value)} characters; at most {length} are stored")
    if value != value.strip():
        raise InvalidTask(f"{what} {value!r} begins or ends with white space, which databases compare differently")
    if "\0" in value or not _is_storable(value):
        raise InvalidTask(f"{what} {value!r} holds characters that no database stores")
    return value


def checked_task_type(value: Any) -> str:
    """A task type of at most 64 characters."""
    return checked_name(value, what="task_type", length=TASK_TYPE_LENGTH)


def checked_key(value: Any) -> str | None:
    """A key of at most 191 characters, or None."""
    return None if value is None else checked_name(value, what="key", length=KEY_LENGTH)


def checked_priority(value: Any) -> int:
    """A small integer; lower runs first."""
    if isinstance(value, bool) or not isinstance(value, int) or value not in PRIORITIES:
        raise InvalidTask(f"priority must be a whole number from -32768 to 32767, not {value!r}")
    return value


def checked_parameters(value: Any) -> Any:
    """Anything that JSON can say within `MAX_PARAMETERS_BYTES`."""
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False)
        size = len(text.encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidTask(f"parameters must be plain JSON: {error}") from error
    if size > conf.MAX_PARAMETERS_BYTES:
        raise InvalidTask(
            f"parameters take {size} bytes as JSON; at most {conf.MAX_PARAMETERS_BYTES} are stored: "
            "store the data elsewhere and pass its id"
        )
    return value


def checked_seconds(value: float, *, what: str, most: float) -> float:
    """A positive number of seconds up to `most`."""
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not math.isfinite(value)
        or not 0 < value <= most
    ):
        raise InvalidTask(f"{what} must be more than 0 and at most {most:g} seconds, not {value!r}")
    return float(value)


def _is_storable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
