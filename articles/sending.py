"""Sending to other systems in threads of each worker: leases of what is sent to, and the loop that looks for more."""

from __future__ import annotations

import logging
import threading
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, TypeVar

from django.db import connections
from django.db.models import Model, Q, QuerySet
from django.urls import reverse

from scheduling.database import read_database_clock
from scheduling.incidents import incidents
from scheduling.registry import Ending

logger = logging.getLogger(__name__)

M = TypeVar("M", bound=Model)

LEASE = timedelta(seconds=30)
"""Longer than the slowest request. The columns of a lease are `leased_until` and `lease_token`."""
_PAUSE = 1.0  # seconds after an error


def is_free(now: datetime) -> Q:
    """Whether no process has the lease; one that is longer than any is of a clock that was set back since."""
    return Q(leased_until__isnull=True) | Q(leased_until__lte=now) | Q(leased_until__gt=now + 2 * LEASE)


def take(rows: QuerySet[M]) -> M | None:
    """Lease the one of these rows for this thread; None if another has it, or there is none."""
    token, now = str(uuid.uuid4()), read_database_clock()
    if not rows.filter(is_free(now)).update(leased_until=now + LEASE, lease_token=token):
        return None
    return rows.filter(lease_token=token).first()


def held(row: Any) -> QuerySet[Any]:
    """The row while this thread has its lease, then none."""
    rows: QuerySet[Any] = type(row)._default_manager.filter(pk=row.pk, lease_token=row.lease_token)
    return rows


def renew(held_row: QuerySet[Any], now: datetime, **values: Any) -> bool:
    """Lease it for longer, and store these values; False if it is another's, or no longer among these rows."""
    return bool(held_row.update(leased_until=now + LEASE, **values))


def give_back(row: Any, **values: Any) -> None:
    """End the lease, and store these values."""
    held(row).update(leased_until=None, lease_token="", **values)


class Dispatcher(ABC):
    """Looks for what has something to be sent, and runs a thread for each."""

    def __init__(self, source: str) -> None:
        """`source` names it in the log."""
        self._source = source
        self._woken = threading.Event()
        self.running: dict[int, threading.Thread] = {}
        self._is_ready = False

    def prepare(self, stopping: Ending) -> None:
        """Load all addresses, which takes a second, before the first article goes live; not while others do."""
        if not (self._is_ready or stopping.is_busy()):
            reverse("article", kwargs={"pk": 0, "slug": "-"})
            self._is_ready = True

    @abstractmethod
    def look(self, stopping: Ending) -> float:
        """Start threads; in how many seconds to look again."""

    def wake(self) -> None:
        """Look at once, if this process runs it."""
        self._woken.set()

    def run(self, stopping: Ending) -> None:
        """Look until the worker stops."""
        while not stopping.is_set():
            pause = _PAUSE
            try:
                with incidents.watch(logger, self._source, "they are sent later"):
                    self.running = {key: thread for key, thread in self.running.items() if thread.is_alive()}
                    pause = self.look(stopping)
            except Exception:  # it is logged
                connections.close_all()
            self._woken.wait(pause)
            self._woken.clear()
        for thread in list(self.running.values()):
            thread.join(1.0)
        connections.close_all()

    def start(self, key: int, serve: Callable[[], object], stopping: Ending) -> None:
        """Run `serve` in a thread."""
        name = f"{self._source} {key}"

        def run() -> None:
            try:
                with incidents.watch(logger, name, "they are sent later"):
                    serve()
            except Exception:  # it is logged
                stopping.wait(_PAUSE)  # what fails inside would be tried, and sent, again at once
            finally:
                connections.close_all()

        self.running[key] = threading.Thread(target=run, name=name, daemon=True)
        self.running[key].start()
