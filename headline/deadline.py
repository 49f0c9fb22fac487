"""A deadline for each request: no statement begins after it, and the last one is shortened to what is left.

Many short statements may take as long as one that the database would end. A request that has committed something is
not interrupted any more: what belongs to it would be missing. The time in which a client sends the body does not count.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import OperationalError, connection
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from headline.accounts.models import TryCount
from headline.api.models import ApiToken
from scheduling.database import Trouble

_STATEMENT = re.compile(
    r"[\s(]*+(SELECT|WITH|INSERT|UPDATE|DELETE|REPLACE)\b(?:(?: IGNORE)?(?: INTO| FROM)? [`\"]?(\w+))?"
)
_BOOKKEEPING = frozenset(model._meta.db_table for model in (ApiToken, Session, TryCount))
"""Tables that a request writes on the side: who it is from, and how often."""

_STOPPED = 1969  # what MariaDB says of a statement that it has ended


class DeadlineMiddleware:
    """Ends requests after `REQUEST_TIMEOUT` seconds, by an error that `headline.unavailable` answers with 503."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        deadline = _Deadline(settings.REQUEST_TIMEOUT)
        request._stream = _Body(request._stream, deadline)  # type: ignore[assignment]
        request.deadline = deadline  # type: ignore[attr-defined]  # for what else a request waits for
        with connection.execute_wrapper(deadline):
            return self._get_response(request)


class _Deadline:
    """Runs the statements of a request."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._has_committed = False

    def extend(self, seconds: float) -> None:
        """Have it end later."""
        self._end += seconds

    def __call__(self, execute: Any, sql: Any, params: Any, many: bool, context: dict[str, Any]) -> Any:
        """Run a statement, or raise `OperationalError`. Those that end transactions and savepoints always run."""
        found = _STATEMENT.match(sql) if isinstance(sql, str) else None
        if found is None:
            return execute(sql, params, many, context)
        if not self._has_committed:
            sql = self._shortened(sql, context["connection"])
        result = execute(sql, params, many, context)
        if found[1] not in ("SELECT", "WITH") and found[2] not in _BOOKKEEPING:
            self._note_write(context["connection"])
        return result

    def _shortened(self, sql: str, connection: Any) -> str:
        """The statement, with less time than the database gives it if less is left. Raises `OperationalError`."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise OperationalError(_STOPPED, str(Trouble.STOPPED.label))
        if connection.vendor != "mysql" or left >= settings.DATABASE_TIMEOUT - 1:
            return sql
        if connection.mysql_is_mariadb:
            return f"SET STATEMENT max_statement_time = {max(left, 0.001):.3f} FOR {sql}"
        return re.sub(r"\A([\s(]*+)SELECT\b", rf"\1SELECT /*+ MAX_EXECUTION_TIME({max(left * 1000, 1):.0f}) */", sql)

    def _note_write(self, connection: Any) -> None:
        """Have the commit noted, before other code goes on after it; a rollback removes that with the write."""
        if not connection.in_atomic_block:
            self._note_commit()
        elif not any(hook == self._note_commit for _savepoints, hook, _is_robust in connection.run_on_commit):
            connection.run_on_commit.insert(0, (set(connection.savepoint_ids), self._note_commit, False))

    def _note_commit(self) -> None:
        self._has_committed = True


class _Body:
    """The body of a request; a slow line, or a proxy that passes an upload on as it comes, takes minutes for it."""

    def __init__(self, stream: Any, deadline: _Deadline) -> None:
        self._stream, self._deadline = stream, deadline

    def read(self, *size: int) -> bytes:
        """As of a file."""
        return self._timed(self._stream.read, *size)

    def readline(self, *size: int) -> bytes:
        """As of a file."""
        return self._timed(self._stream.readline, *size)

    def _timed(self, read: Callable[..., bytes], *size: int) -> bytes:
        begin = time.perf_counter()
        try:
            return read(*size)
        finally:
            self._deadline.extend(time.perf_counter() - begin)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
