"""Task ids: 63 bits, ordered by time, generated without coordination.

The upper 41 bits are milliseconds since 2024 (enough until 2093). The lower 22 are random, and counted up within the
same millisecond. A clock before 2024 was never set: then the whole id is random. Two processes may, very rarely,
generate the same id; `services.adding` then retries.
"""

from __future__ import annotations

import secrets
import threading
import time

_EPOCH_MS = 1_704_067_200_000  # 2024-01-01T00:00:00Z
_RANDOM_BITS = 22
_UNSET_BITS = 62  # leaves room to count up from any of them

_lock = threading.Lock()
_last = 0


def new_task_ids(count: int) -> range:
    """New ids, greater than all earlier ids of this process."""
    global _last
    elapsed = int(time.time() * 1000) - _EPOCH_MS
    new_id = elapsed << _RANDOM_BITS | secrets.randbits(_RANDOM_BITS) if elapsed > 0 else secrets.randbits(_UNSET_BITS)
    with _lock:
        first = max(new_id, _last + 1)
        _last = first + count - 1
    return range(first, first + count)
