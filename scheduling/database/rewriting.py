"""Rewriting the statements of a block: as they were made, before other wrappers such as a deadline add to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection


@contextmanager
def rewriting(wrapper: Callable[..., Any]) -> Iterator[None]:
    """Like `connection.execute_wrapper`, but outside of the wrappers that are there already."""
    wrappers = connection.execute_wrappers
    wrappers.insert(0, wrapper)
    try:
        yield
    finally:
        wrappers.remove(wrapper)
