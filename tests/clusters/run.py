"""Child process: runs the tasks with these ids at a time, as a worker with their hints, and prints how many it did."""

from __future__ import annotations

import json
import sys
import time

import django

django.setup()

from scheduling.queues import get_queue  # noqa: E402 (needs a Django that is set up)
from scheduling.services.running import Round  # noqa: E402

if __name__ == "__main__":
    ids, begin = json.loads(sys.argv[1]), float(sys.argv[2])
    time.sleep(max(0.0, begin - time.time()))
    print(Round("worker", get_queue(), task_type="probe.slow").run(ids).executed)  # noqa: T201
