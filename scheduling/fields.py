"""A text column that is compared byte by byte."""

from __future__ import annotations

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper


class ExactCharField(models.CharField):  # type: ignore[type-arg]
    """A `CharField` that MySQL compares byte by byte, so that "a", "A" and "ä" are different.

    Django's `db_collation` cannot express this for MySQL and SQLite at once.
    """

    def db_type(self, connection: BaseDatabaseWrapper) -> str | None:
        """`varchar(n)`, with a binary collation on MySQL and MariaDB."""
        plain = super().db_type(connection)
        return f"{plain} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin" if connection.vendor == "mysql" else plain
