"""Reading much as of one instant, while others go on writing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

BEGIN = {
    "mysql": (
        "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
    ),
    "sqlite": ("BEGIN DEFERRED",),
}
"""Django's `atomic` is no help here: READ COMMITTED sees what others commit meanwhile, and IMMEDIATE locks them out."""


@contextmanager
def snapshot() -> Iterator[None]:
    """Whatever is read inside is of the instant of the first reading. Inside a transaction it is that one's view."""
    if connection.in_atomic_block:
        yield
        return
    with connection.cursor() as cursor:
        for statement in BEGIN[connection.vendor]:
            cursor.execute(statement)
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ROLLBACK")
