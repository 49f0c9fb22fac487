"""Django's backend for MariaDB and MySQL, with fewer round trips; set it as `"ENGINE": "scheduling.mysql"`.

`BEGIN` is sent with the first statement of a transaction, and autocommit is never switched. Writes in a `pipelined()`
block are sent with the next statement or with `COMMIT`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from django.db.backends.mysql import base
from MySQLdb import Error, IntegrityError, OperationalError

_BEGIN = b"BEGIN"
_WRITES = (b"INSERT ", b"UPDATE ", b"DELETE ")
_DEADLOCK = 1213


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection that sends several statements at once where it can."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.unsent: list[bytes] = []  #: statements to send before the next one
        self._is_pipelined = False

    @contextmanager
    def pipelined(self) -> Iterator[None]:
        """Send the writes of this block with the next other statement, or with the commit.

        Their row counts are unknown, and their errors are raised by that statement or commit.
        """
        before, self._is_pipelined = self._is_pipelined, self.in_atomic_block
        try:
            yield
        finally:
            self._is_pipelined = before

    def may_wait(self, statement: bytes) -> bool:
        """Whether to send a statement with the next one."""
        return self._is_pipelined and statement.startswith(_WRITES)

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        self.unsent = []
        return super().get_new_connection({"autocommit": True, **conn_params})

    def create_cursor(self, name: str | None = None) -> Cursor:
        return Cursor(self.connection.cursor(), self)

    def _set_autocommit(self, autocommit: bool) -> None:
        self.unsent = [] if autocommit else [_BEGIN]

    def _commit(self) -> None:
        if self.connection is not None and self.unsent != [_BEGIN]:
            with self.wrap_database_errors, self.create_cursor() as cursor:
                cursor.execute("COMMIT")
        self.unsent = [_BEGIN]

    def _rollback(self) -> None:
        is_begun, self.unsent = _BEGIN not in self.unsent, [_BEGIN]
        if is_begun:
            super()._rollback()  # type: ignore[misc]


class Cursor(base.CursorWrapper):
    """A cursor that sends what its connection has not sent yet before its own statements."""

    def __init__(self, cursor: Any, connection: DatabaseWrapper) -> None:
        super().__init__(cursor)
        self._connection = connection

    def __enter__(self) -> Cursor:
        return self

    def __exit__(self, *exception: object) -> None:
        self.cursor.close()

    def execute(self, query: str, args: Any = None) -> Any:
        statement = self.cursor._mogrify(query, args)
        if self._connection.may_wait(statement):
            self._connection.unsent.append(statement)
            self.cursor._executed = statement
            return 0
        return self._send(statement)

    def executemany(self, query: str, args: Any) -> Any:
        self.flush()
        return super().executemany(query, args)

    def callproc(self, name: str, args: Sequence[Any] = ()) -> Any:
        self.flush()
        return self.cursor.callproc(name, args)

    def flush(self) -> None:
        """Send what was not sent yet."""
        if unsent := self._connection.unsent:
            self._connection.unsent = unsent[:-1]
            self._send(unsent[-1])

    def _send(self, statement: bytes) -> int:
        """Execute the unsent statements and this one in one round trip; the results are those of the last."""
        unsent, self._connection.unsent = self._connection.unsent, []
        try:
            self.cursor.execute(b"; ".join([*unsent, statement]))
            for _ in unsent:
                self.cursor.nextset()
        except OperationalError as error:
            self._note_rollback(error)
            if error.args[0] in self.codes_for_integrityerror:
                raise IntegrityError(*error.args) from error
            raise
        except Error:
            raise
        except BaseException:  # the results that are not read yet would be taken for those of the next statement
            self._connection.connection.close()
            raise
        self.cursor._executed = statement
        return int(self.cursor.rowcount)

    def _note_rollback(self, error: OperationalError) -> None:
        """After a deadlock the transaction is gone: what follows in its block must not be committed one by one."""
        if error.args[:1] == (_DEADLOCK,) and self._connection.in_atomic_block:
            self._connection.needs_rollback = True
