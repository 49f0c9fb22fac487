"""`manage.py refresh`: synchronise the queue with the database."""

from __future__ import annotations

import time
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import Error, connections

from scheduling.conf import conf
from scheduling.exceptions import ReconcilersFailed
from scheduling.services import RefreshReport, refresh
from scheduling.workers.shutdown import stop_on_signals


class Command(BaseCommand):
    """Runs `services.refresh` once, or repeatedly with `--for`."""

    requires_system_checks = []  # they would load the admin and all URLs; `check` and `migrate` run them
    help = "Load the tasks of the coming minutes into the queue, requeue lost ones, and reconcile."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--for", type=float, metavar="SECONDS", dest="seconds",
            help="repeat every SCHEDULING_REFRESH_INTERVAL seconds for this long",
        )  # fmt: skip

    def handle(self, *args: Any, seconds: float | None, **options: Any) -> None:
        if seconds is not None and not seconds > 0:
            raise CommandError(f"--for takes a number of seconds above 0, not {seconds:g}")
        deadline = time.monotonic() + (seconds or 0)
        with stop_on_signals(within=conf.STOP_TIMEOUT) as stopping:
            while True:
                self._refresh()
                left = deadline - time.monotonic()
                if left <= 0 or stopping.wait(min(conf.REFRESH_INTERVAL, left)):
                    return
                if time.monotonic() >= deadline:
                    return

    def _refresh(self) -> None:
        try:
            report = refresh()
        except Error as error:
            connections.close_all()
            raise CommandError(f"the database failed, no task is lost, run it again: {error}") from error
        except ReconcilersFailed as failure:
            self._print(failure.report)
            raise CommandError(f"{failure} The log has the reason; the rest of the pass is done.") from failure
        self._print(report)
        if report.skipped:
            self.stderr.write("Another node is refreshing now.")

    def _print(self, report: RefreshReport) -> None:
        self.stdout.write(
            f"loaded={report.loaded} promoted={report.promoted} requeued={report.requeued} healed={report.reconciled}"
        )
