"""Room for the frames of Python functions.

CPython keeps them in chunks of 16 KB, and gives each back to the system when the last frame in it ends. A loop that
calls functions just where a chunk is full gets and gives back one at each call, in which pages fault: the text of a
long article took eight times as long, at one depth of calls and not at the next.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

_SLOTS = 1 << 14
"""Of the frame that is at the bottom: it gets a chunk of 256 KB, of which half is left for those above."""


def with_room(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, called by one whose frame is so large that all frames above it are in its chunk."""

    def call(*arguments: Any) -> Any:
        return function(*arguments)

    assert isinstance(call, FunctionType)  # noqa: S101 (for the type)
    call.__code__ = call.__code__.replace(co_stacksize=_SLOTS)
    return call
