"""Child process: adds a task that is due and takes some time, and prints its id."""

from __future__ import annotations

import django

django.setup()

from scheduling.database import read_database_clock  # noqa: E402 (needs a Django that is set up)
from scheduling.services import add_task  # noqa: E402 (needs a Django that is set up)

if __name__ == "__main__":
    print(add_task("probe.slow", execute_time=read_database_clock(), parameters={"seconds": 0.3}).task_id)  # noqa: T201
