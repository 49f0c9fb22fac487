"""Several workers under one parent, which starts each that dies anew within milliseconds.

The parent forks with everything imported but no connection open, since none may cross a fork.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable

from scheduling.stopping import stop_on_signals

logger = logging.getLogger(__name__)

_WATCH_INTERVAL = 0.05  # seconds between two looks at the children
_SHORT_LIFE = 1.0  # seconds; after a child that died younger the next one waits that long


def supervise(work: Callable[[threading.Event], None], *, processes: int) -> None:
    """Keep `processes` children running `work` until SIGTERM or SIGINT, then let them finish and return.

    `work` gets an event that is set when it shall stop. A second signal ends the children at once.
    """
    children: dict[int, float] = {}
    not_before = 0.0
    with stop_on_signals() as stopping:
        try:
            while not stopping.wait(_WATCH_INTERVAL):
                if _reap(children):
                    not_before = time.monotonic() + _SHORT_LIFE
                while len(children) < processes and time.monotonic() >= not_before:
                    children[_fork(work, stopping)] = time.monotonic()
            _signal_all(children, signal.SIGTERM)
            while children:
                _reap(children, expected=True)
                time.sleep(_WATCH_INTERVAL)
        except SystemExit:
            _signal_all(children, signal.SIGKILL)
            raise


def _fork(work: Callable[[threading.Event], None], parent_stopping: threading.Event) -> int:
    parent = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        with stop_on_signals() as stopping:
            if parent_stopping.is_set():  # the signal came before our own handlers were in place
                stopping.set()
            threading.Thread(target=_stop_when_orphaned, args=(parent, stopping), daemon=True).start()
            work(stopping)
        code = 0
    except Exception:
        logger.exception("a worker process failed")
    finally:
        sys.stdout.flush()
        os._exit(code)


def _stop_when_orphaned(parent: int, stopping: threading.Event) -> None:
    """A parent that was killed cannot say so; its children finish what they have in hand and go."""
    while not stopping.wait(_SHORT_LIFE):
        if os.getppid() != parent:
            stopping.set()


def _reap(children: dict[int, float], *, expected: bool = False) -> bool:
    """Forget the children that ended; True if one of them died so young that the next should wait a little."""
    died_young = False
    for pid, started in list(children.items()):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            del children[pid]
            died_young |= time.monotonic() - started < _SHORT_LIFE
            if not expected:
                code = os.waitstatus_to_exitcode(status)
                logger.error("worker process %d died (%s) and is started again", pid, code)
    return died_young


def _signal_all(children: dict[int, float], number: signal.Signals) -> None:
    for pid in children:
        os.kill(pid, number)
