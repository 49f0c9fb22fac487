"""Validation of task values; every error says what to do."""

from __future__ import annotations

import json
import math
import re
from datetime import datetime, timedelta
from typing import Any

from django.utils.translation import gettext as _

from scheduling.conf import conf
from scheduling.database import NoTimeZone, OutOfRange, storable
from scheduling.exceptions import InvalidTask, NaiveTime, TimeOutOfRange
from scheduling.limits import KEY_LENGTH, PARAMETERS_DEPTH, TASK_TYPE_LENGTH

_encode = json.JSONEncoder(allow_nan=False, ensure_ascii=False).encode
_encode_sorted = json.JSONEncoder(sort_keys=True).encode

PRIORITIES = range(-32_768, 32_768)
_CUT = re.compile(r"[.,]\d{6}\d*[1-9]", re.ASCII)


def rounded_up(moment: datetime, text: object) -> datetime:
    """`moment`, as parsed from `text`: a microsecond later if that has digits which parsers cut off.

    What was asked for a nanosecond later would else be early.
    """
    is_cut = isinstance(text, str) and _CUT.search(text) and moment.replace(tzinfo=None) < datetime.max
    return moment + timedelta(microseconds=1) if is_cut else moment


def checked_time(value: Any) -> datetime:
    """`value` in UTC. Raises `NaiveTime`, `TimeOutOfRange` or `InvalidTask`."""
    if not isinstance(value, datetime):
        raise InvalidTask(
            _("%(name)s must be a datetime, not %(kind)s") % {"name": "execute_time", "kind": type(value).__name__}
        )
    try:
        return storable(value)
    except NoTimeZone as error:
        raise NaiveTime from error
    except OutOfRange as error:
        raise TimeOutOfRange from error


def checked_name(value: Any, *, what: str, length: int) -> str:
    """A type or key: any storable characters, not empty, without white space at its ends."""
    if not isinstance(value, str) or not value:
        raise InvalidTask(_("%(name)s must be a text that is not empty") % {"name": what})
    if len(value) > length:
        raise InvalidTask(
            _("%(name)s has %(found)d characters; at most %(most)d are stored")
            % {"name": what, "found": len(value), "most": length}
        )
    if value != value.strip():
        raise InvalidTask(
            _("%(name)s %(value)r begins or ends with white space, which databases compare differently")
            % {"name": what, "value": value}
        )
    if "\0" in value or not _is_storable(value):
        raise InvalidTask(
            _("%(name)s %(value)r holds characters that no database stores") % {"name": what, "value": value}
        )
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
        raise InvalidTask(
            _("%(name)s must be a whole number from %(least)d to %(most)d, not %(value)r")
            % {"name": "priority", "least": PRIORITIES[0], "most": PRIORITIES[-1], "value": value}
        )
    return value


def checked_parameters(value: Any) -> Any:
    """Any JSON value in `MAX_PARAMETERS_BYTES` and `PARAMETERS_DEPTH`, as a database returns it: `(1,)` is `[1]`."""
    try:
        text = _encode(value)
        size = len(text.encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidTask(_("parameters must be plain JSON: %s") % error) from error
    if size > conf.MAX_PARAMETERS_BYTES:
        text = _("parameters take %(size)d bytes as JSON; %(most)d at most: store the data elsewhere and pass its id")
        raise InvalidTask(text % {"size": size, "most": conf.MAX_PARAMETERS_BYTES})
    if _is_deeper(value, PARAMETERS_DEPTH):
        raise InvalidTask(_("parameters are nested deeper than %(most)d levels") % {"most": PARAMETERS_DEPTH})
    return json.loads(text)


def _is_deeper(value: Any, most: int) -> bool:
    """Whether lists and objects are nested in more levels than this; takes time in proportion to the value."""
    level = [value]
    for _depth in range(most):
        level = [inner for outer in level if isinstance(outer, dict | list | tuple) for inner in _inner(outer)]
        if not level:
            return False
    return any(isinstance(outer, dict | list | tuple) for outer in level)


def _inner(outer: Any) -> Any:
    return outer.values() if isinstance(outer, dict) else outer


def same_json(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON; for Python, `True` is 1 and 1.0."""
    return bool(one == other) and _encode_sorted(one) == _encode_sorted(other)


def checked_seconds(value: float, *, what: str, most: float) -> float:
    """A positive number of seconds up to `most`."""
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not math.isfinite(value)
        or not 0 < value <= most
    ):
        raise InvalidTask(
            _("%(name)s must be more than 0 and at most %(most)g seconds, not %(value)r")
            % {"name": what, "most": most, "value": value}
        )
    return float(value)


def _is_storable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
