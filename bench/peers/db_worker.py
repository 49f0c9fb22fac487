"""A worker of django-tasks-db that looks for tasks every 10 ms, by default every second."""

from __future__ import annotations

import django
from django.core.management import call_command

django.setup()

if __name__ == "__main__":
    print("ready", flush=True)
    call_command("db_worker", interval=0.01, startup_delay=False, verbosity=0)
