"""The supervisor: forks worker processes, and replaces those that die or hang.

It forks with all modules imported but no connection open, since none may cross a fork.
"""

from __future__ import annotations

import logging
import mmap
import os
import signal
import struct
import sys
import threading
import time
from collections.abc import Callable

from scheduling.conf import conf
from scheduling.workers.shutdown import stop_on_signals

logger = logging.getLogger(__name__)

_WATCH_INTERVAL = 0.05  # seconds between two checks of the children
_LONGEST_LOOK = 1.0  # seconds between two checks that count at most; it takes longer only if this process was stopped
_MIN_LIFETIME = 1.0  # seconds; after a child that lived shorter, the next start waits
_FIRST_PAUSE = 0.05  # seconds that it waits; doubles with each such child in a row, up to `_MIN_LIFETIME`
_KILL_DELAY = 1.0  # seconds after `STOP_TIMEOUT` until a child that has not exited is killed


class Heartbeat:
    """When a child last showed progress: a timestamp in memory that it shares with its parent.

    It uses the monotonic clock, which all processes of a machine share and no one can set.
    """

    def __init__(self) -> None:
        self.started = self._looked_at = time.monotonic()
        self.silence = 0.0  #: seconds in which the parent saw no progress
        self._seen = self.started
        # Shared memory, not a pipe: a child that hangs would block its parent's reads, and a beat costs no system call.
        self._memory = mmap.mmap(-1, 8)
        self.beat(self.started)

    def beat(self, at: float) -> None:
        """Record that there was progress at this time; called by the child."""
        struct.pack_into("d", self._memory, 0, at)

    def look(self) -> None:
        """Update `silence`; called by the parent.

        While the parent does not look, it was stopped or the machine suspended, and its children probably with it.
        """
        (at,) = struct.unpack_from("d", self._memory)
        now = time.monotonic()
        self.silence = self.silence + min(now - self._looked_at, _LONGEST_LOOK) if at == self._seen else 0.0
        self._seen, self._looked_at = at, now


Work = Callable[[threading.Event, Callable[[float], None]], None]
Children = dict[int, Heartbeat]


def supervise(work: Work, *, processes: int) -> None:
    """Keep `processes` children running `work` until SIGTERM or SIGINT, then let them finish and return.

    `work` gets an event that is set when it must stop, and a function to call with the time of the last progress; a
    child without any for `SILENCE` seconds is killed and replaced. A second signal kills the children at once.
    """
    children: Children = {}
    pause = not_before = 0.0
    with stop_on_signals() as stopping:
        try:
            while not stopping.wait(_WATCH_INTERVAL):
                # A child that hangs in a call never ends by itself; only its silence shows that.
                _kill_silent(children)
                if _reap(children):
                    pause = min(2 * pause or _FIRST_PAUSE, _MIN_LIFETIME)
                    not_before = time.monotonic() + pause
                elif time.monotonic() > not_before + _MIN_LIFETIME:
                    pause = 0.0
                while len(children) < processes and time.monotonic() >= not_before:
                    pid, heartbeat = _fork(work, stopping)
                    children[pid] = heartbeat
            _stop(children)
        except SystemExit:
            _signal_all(children, signal.SIGKILL)
            raise


def _fork(work: Work, parent_stopping: threading.Event) -> tuple[int, Heartbeat]:
    parent = os.getpid()
    heartbeat = Heartbeat()
    pid = os.fork()
    if pid:
        return pid, heartbeat
    code = 1
    try:
        with stop_on_signals(within=conf.STOP_TIMEOUT) as stopping:
            # The signal came before the child's handlers were installed.
            if parent_stopping.is_set():
                stopping.set()
            threading.Thread(target=_stop_when_orphaned, args=(parent, stopping), daemon=True).start()
            work(stopping, heartbeat.beat)
        code = 0
    except Exception:
        logger.exception("a worker process failed")
    finally:
        sys.stdout.flush()
        # Not `sys.exit`: the parent's exit handlers and buffers were copied by the fork.
        os._exit(code)


def _stop_when_orphaned(parent: int, stopping: threading.Event) -> None:
    """Stop a child whose parent was killed, after its current batch."""
    while not stopping.wait(_MIN_LIFETIME):
        # A killed parent sends no signal; its children would run beside those of the next supervisor for ever.
        if os.getppid() != parent:
            stopping.set()
            time.sleep(conf.STOP_TIMEOUT)
            os._exit(1)


def _kill_silent(children: Children) -> None:
    for pid, heartbeat in children.items():
        heartbeat.look()
        if heartbeat.silence > conf.SILENCE:
            logger.error("worker process %d has hung for %.0f s and is killed", pid, heartbeat.silence)
            os.kill(pid, signal.SIGKILL)
            # Its end takes a moment, in which it gets no second signal.
            heartbeat.silence = 0.0


def _reap(children: Children, *, expected: bool = False) -> bool:
    """Remove children that ended; True if one died so soon that the next start should wait."""
    died_early = False
    for pid, heartbeat in list(children.items()):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            del children[pid]
            died_early |= time.monotonic() - heartbeat.started < _MIN_LIFETIME
            if not expected:
                code = os.waitstatus_to_exitcode(status)
                logger.error("worker process %d died (%s) and is replaced", pid, code)
    return died_early


def _stop(children: Children) -> None:
    """Stop the children and wait for them; kill those that do not exit in time."""
    _signal_all(children, signal.SIGTERM)
    deadline = time.monotonic() + conf.STOP_TIMEOUT + _KILL_DELAY
    while children:
        _reap(children, expected=True)
        if time.monotonic() > deadline:
            _signal_all(children, signal.SIGKILL)
        time.sleep(_WATCH_INTERVAL)


def _signal_all(children: Children, number: signal.Signals) -> None:
    for pid in children:
        os.kill(pid, number)
