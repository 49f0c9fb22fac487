"""The engine's settings, with units and defaults.

Override one in the project's settings as `SCHEDULING_<NAME>`, such as `SCHEDULING_PRELOAD_WINDOW = 300`.
Times are in seconds unless the name says otherwise. `manage.py check` rejects invalid values.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings as django_settings


class Settings:
    """Typed access to `SCHEDULING_*`; read at each use, so `override_settings` works in tests."""

    REDIS_URL: str = ""  #: Redis of the queue; empty: the database queue is used
    KEY_PREFIX: str = "auto"  #: first part of every Redis key; "auto": `sched:` and the identity of the database
    IDENTITY_INTERVAL: float = 10.0  #: seconds after which a process asks again which server the database is
    PRELOAD_WINDOW: float = 300.0  #: seconds ahead that hints are loaded into Redis
    REFRESH_INTERVAL: float = 60.0  #: seconds between two passes of refresh by the workers
    REFRESH_LOCK: float = 30.0  #: seconds the refresh lock is held at most
    SWEEP_INTERVAL: float = 0.25  #: seconds between two sweeps for overdue tasks
    SWEEP_GRACE: float = 0.2  #: seconds a task may be overdue before the sweep requeues it
    MAX_SLEEP: float = 1.0  #: seconds a worker sleeps at most before it checks the queue
    DATABASE_POLL_INTERVAL: float = 0.25  #: the same for the database queue, which has no wake-ups
    PUSH_TIMEOUT: float = 0.05  #: seconds a push to Redis may take inside a request
    POP_TIMEOUT: float = 1.0  #: seconds a worker waits for a response of Redis
    REDIS_RETRY_INTERVAL: float = 1.0  #: seconds before an unreachable Redis is tried again
    BATCH_SIZE: int = 1000  #: tasks in one transaction at most
    PROMOTE_LIMIT: int = 1000  #: members moved by one Lua call at most
    PAGE_SIZE: int = 2000  #: rows read at once by refresh
    SWEEP_LIMIT: int = 2000  #: hints requeued per topic by one sweep at most
    LEASE: float = 30.0  #: seconds an external program may hold a task
    MAX_LEASE: float = 3600.0  #: the longest lease that may be asked for
    MAX_ATTEMPTS: int = 5  #: attempts before a task is dead, unless it is recoverable
    BACKOFF: float = 2.0  #: seconds before the first retry; doubles with each, plus jitter
    MAX_BACKOFF: float = 600.0  #: the longest wait before a retry
    TROUBLE_PAUSE: float = 5.0  #: the longest wait before refused work is retried
    SUSPECT_AFTER: float = 0.5  #: seconds overdue after which an attempt is counted before it runs
    MAX_PARAMETERS_BYTES: int = 65_536  #: size of a task's parameters as JSON
    MAX_TOPICS: int = 100  #: topics of pending tasks above which programs may not add new ones
    SIDE_EFFECT_THREADS: int = 2  #: at-least-once tasks of one type that a worker runs at once
    STOP_TIMEOUT: float = 5.0  #: seconds the current work may take after a worker is stopped
    SILENCE: float = 30.0  #: seconds without a round of any of its threads after which a worker is replaced
    HEARTBEAT_INTERVAL: float = 5.0  #: seconds between two heartbeats of a worker
    CLOCK_INTERVAL: float = 10.0  #: seconds between two measurements of the clock's offset
    CLOCK_TOLERANCE: float = 0.1  #: seconds of offset above which a worker warns
    LOG_RETENTION_DAYS: int = 90  #: days before a closed task's record is pruned
    PRUNE_INTERVAL: float = 60.0  #: seconds between two prunings of up to a thousand records of each status
    OVERDUE_ALARM: float = 5.0  #: seconds overdue after which /readyz and the dashboard count a task as overdue

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("_"):
            return super().__getattribute__(name)
        default = super().__getattribute__(name)
        return getattr(django_settings, f"SCHEDULING_{name}", default)


conf = Settings()
