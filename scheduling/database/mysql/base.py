"""Django's backend for MariaDB and MySQL, with fewer round trips; set it as `"ENGINE": "scheduling.database.mysql"`.

Autocommit is switched with the next statement, and only if that needs the other mode; so a transaction that follows
another one begins by itself. Writes in a `pipelined()` block are sent with the next statement or with `COMMIT`.
`OPTIONS["servers"]` names several servers of one database.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from django.db import transaction, utils
from django.db.backends.base.base import RAN_DB_VERSION_CHECK
from django.db.backends.mysql import base, operations
from django.utils.functional import cached_property
from MySQLdb import Error, IntegrityError, OperationalError

from scheduling.database.mysql.schema import DatabaseSchemaEditor
from scheduling.database.mysql.servers import CONNECT_TIMEOUT, connect_to_any, takes_writes

_WRITES = (b"INSERT ", b"UPDATE ", b"DELETE ")
_RELEASE = b"RELEASE SAVEPOINT "  # `atomic` rolls back to the savepoint when it fails
_DEADLOCK = 1213
_WAITED = (1205, 1969)  # for a lock, and MariaDB's end of a statement
_IMPATIENT = "SET @patience = @@innodb_lock_wait_timeout, innodb_lock_wait_timeout = 1"
_PATIENT = "SET innodb_lock_wait_timeout = @patience"


class DatabaseOperations(operations.DatabaseOperations):
    """Compiles querysets with `scheduling.database.mysql.compiler`."""

    compiler_module = "scheduling.database.mysql.compiler"


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection that sends several statements at once where it can."""

    ops_class = DatabaseOperations
    SchemaEditorClass = DatabaseSchemaEditor

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._unsent: list[bytes] = []  # writes to send before the next statement
        self._is_begun = False  # statements of a transaction were sent
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

    def lock_within(self, seconds: float, select: str, parameters: Sequence[Any]) -> bool:
        """Lock rows by a SELECT; False, with none locked, if that takes longer. MySQL waits for a whole second."""
        with self.cursor() as cursor, self._waiting_a_second(cursor):
            limit = f"SET STATEMENT max_statement_time = {seconds} FOR " if self.mysql_is_mariadb else ""
            try:
                with transaction.atomic(self.alias):
                    cursor.execute(f"{limit}{select}", parameters)
            except utils.OperationalError as error:
                if error.args[0] not in _WAITED:
                    raise
                return False
        return True

    @contextmanager
    def _waiting_a_second(self, cursor: Any) -> Iterator[None]:
        """On MySQL, statements of this block wait a second for locks."""
        if self.mysql_is_mariadb:
            yield
            return
        cursor.execute(_IMPATIENT)
        try:
            yield
        finally:
            cursor.execute(_PATIENT)

    def pipeline(self, statement: bytes) -> bool:
        """Leave a statement to be sent with the next one, if it may be; False if it may not."""
        if may_wait := self._is_pipelined and statement.startswith(_WRITES):
            self._unsent.append(statement)
        return may_wait

    def send_with_next(self, statements: Sequence[str]) -> None:
        """Leave statements without results, such as those that begin a transaction, to be sent with the next one."""
        self._unsent += [statement.encode() for statement in statements]

    def take_unsent(self) -> list[bytes]:
        """The statements to send before the next one."""
        is_right_mode = self.connection.get_autocommit() == self.autocommit  # no query: each result carries it
        switch = [] if is_right_mode else [b"SET autocommit = %d" % self.autocommit]
        unsent, self._unsent = [*switch, *self._unsent], []
        self._is_begun = not self.autocommit
        return unsent

    def note_error(self, error: Error, *, is_of_earlier: bool) -> None:
        """Refuse further statements in this block where its writes are lost, even if the error is caught."""
        if self.in_atomic_block and (is_of_earlier or error.args[:1] == (_DEADLOCK,)):
            self.needs_rollback = True

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        self._unsent, self._is_begun = [], False
        options = {"autocommit": True, **conn_params}
        servers = options.pop("servers", None)
        connect = super().get_new_connection
        if not servers:
            return connect(options)
        options["connect_timeout"] = CONNECT_TIMEOUT
        return connect_to_any(servers, lambda host, port: connect({**options, "host": host, "port": port}))

    def init_connection_state(self) -> None:
        """Begin with what holds on this server, which may be another one than before.

        MariaDB joins a list of 1,000 ids and more as a table, and may then scan, and lock, rows of other ids.

        A connection for which any of this fails is closed: Django would use it with the server's own settings.
        """
        try:
            self._forget_other_server()
            super().init_connection_state()
            if self.mysql_is_mariadb:
                self.connection.query(b"SET in_predicate_conversion_threshold = 0")
        except Exception:
            self.close()
            raise

    def _forget_other_server(self) -> None:
        """Django asks for version, modes and features once, and statements are compiled for them."""
        known = vars(self)
        before = known.pop("mysql_server_data", None)
        if before in (None, self.mysql_server_data):
            return
        learned = {name for name in known if isinstance(getattr(type(self), name, None), cached_property)}
        for name in (learned - {"mysql_server_data"}) | {"compiled_once"}:
            known.pop(name, None)
        self.features = self.features_class(self)
        RAN_DB_VERSION_CHECK.discard(self.alias)

    def is_usable(self) -> bool:
        """Whether the server takes writes: a new connection may lead to one that does, as after a failover.

        A Galera node without a majority answers a ping, but takes no statement.
        """
        try:
            return takes_writes(self.connection)
        except (Error, AttributeError):
            return False

    def create_cursor(self, name: str | None = None) -> FlushingCursor:
        return FlushingCursor(self.connection.cursor(), self)

    def _set_autocommit(self, autocommit: bool) -> None:
        if autocommit:
            self._commit()  # what a transaction without `atomic` has left open, as the server does

    def _commit(self) -> None:
        if self.connection is not None and (self._is_begun or self._unsent):
            with self.wrap_database_errors, self.create_cursor() as cursor:
                cursor.execute("COMMIT")
        self._is_begun = False

    def _rollback(self) -> None:
        is_begun, self._unsent, self._is_begun = self._is_begun, [], False
        if is_begun:
            super()._rollback()  # type: ignore[misc]

    def _savepoint_rollback(self, sid: str) -> None:
        self._unsent = []  # they came after the savepoint, which is sent at once
        super()._savepoint_rollback(sid)  # type: ignore[misc]


class FlushingCursor(base.CursorWrapper):
    """A cursor that sends what its connection has not sent yet before its own statements."""

    def __init__(self, cursor: Any, connection: DatabaseWrapper) -> None:
        super().__init__(cursor)
        self._connection = connection

    def __enter__(self) -> FlushingCursor:
        return self

    def __exit__(self, *exception: object) -> None:
        self.cursor.close()

    def execute(self, query: str, args: Any = None) -> Any:
        statement = self.cursor._mogrify(query, args)
        if self._connection.pipeline(statement):
            self.cursor._executed = statement
            return 0
        self._send([*self._connection.take_unsent(), statement])
        return self.cursor.rowcount

    def executemany(self, query: str, args: Any) -> Any:
        self.flush()
        try:
            return super().executemany(query, args)
        except Error as error:
            self._connection.note_error(error, is_of_earlier=False)
            raise

    def callproc(self, name: str, args: Sequence[Any] = ()) -> Any:
        self.flush()
        return self.cursor.callproc(name, args)

    def flush(self) -> None:
        """Send what was not sent yet."""
        if unsent := self._connection.take_unsent():
            self._send(unsent)

    def _send(self, statements: list[bytes]) -> None:
        """Execute statements in one round trip; the results are those of the last."""
        *earlier, last = statements
        try:
            self.cursor.execute(b"; ".join(statements))
            while earlier:
                earlier.pop()
                self.cursor.nextset()
        except Error as error:
            self._connection.note_error(error, is_of_earlier=bool(earlier) and not last.startswith(_RELEASE))
            if isinstance(error, OperationalError) and error.args[0] in self.codes_for_integrityerror:
                raise IntegrityError(*error.args) from error
            raise
        except BaseException:  # the results that are not read yet would be taken for those of the next statement
            self._connection.connection.close()
            raise
        self.cursor._executed = last
