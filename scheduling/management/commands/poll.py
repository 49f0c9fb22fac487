"""`manage.py poll`: run due tasks once, for some seconds, or until stopped."""

from __future__ import annotations

import logging
import threading
from argparse import ArgumentParser
from collections.abc import Callable
from functools import partial
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import Error

from scheduling.conf import conf
from scheduling.database import Trouble
from scheduling.exceptions import SchedulingError
from scheduling.services import RunReport
from scheduling.workers.shutdown import stop_on_signals
from scheduling.workers.supervisor import supervise
from scheduling.workers.worker import Worker, runnable

logger = logging.getLogger(__name__)


class Command(BaseCommand):
    """Parses the arguments and runs a `Worker`."""

    requires_system_checks = []  # they would load the admin and all URLs; `check` and `migrate` run them
    help = "Run due tasks until there are none, or keep working with --for or --forever."

    def add_arguments(self, parser: ArgumentParser) -> None:
        duration = parser.add_mutually_exclusive_group()
        duration.add_argument("--for", type=float, metavar="SECONDS", dest="seconds", help="keep working this long")
        duration.add_argument("--forever", action="store_true", help="keep working until SIGTERM or SIGINT")
        parser.add_argument(
            "--type", action="append", default=[], dest="types", metavar="TYPE",
            help="run only this type of task; may be repeated",
        )  # fmt: skip
        parser.add_argument("--batch", type=int, metavar="N", help="tasks taken from the queue at once at most")
        parser.add_argument(
            "--processes", type=int, default=1, metavar="N",
            help="with --forever: number of worker processes, each replaced when it dies or hangs",
        )  # fmt: skip

    def handle(self, *args: Any, **options: Any) -> None:
        self._check(options)
        try:
            runnable(options["types"])
            if options["forever"]:
                supervise(partial(self._work, options), processes=options["processes"])
            else:
                with stop_on_signals(within=conf.STOP_TIMEOUT) as stopping:
                    self._work(options, stopping)
        except SchedulingError as error:
            raise CommandError(str(error)) from error
        except Error as error:
            raise CommandError(f"the database failed, the tasks are still pending: {error}") from error

    def _check(self, options: dict[str, Any]) -> None:
        if options["seconds"] is not None and not options["seconds"] > 0:
            raise CommandError(f"--for takes a number of seconds above 0, not {options['seconds']:g}")
        if options["batch"] is not None and options["batch"] < 1:
            raise CommandError(f"--batch takes a number from 1 up, not {options['batch']}")
        if options["processes"] < 1 or (options["processes"] > 1 and not options["forever"]):
            raise CommandError("--processes takes a number from 1 up, and goes with --forever")

    def _work(
        self, options: dict[str, Any], stopping: threading.Event, beat: Callable[[float], None] = lambda at: None
    ) -> None:
        worker = Worker(task_types=options["types"], batch=options["batch"])
        if options["forever"] or options["seconds"]:
            logger.info("%s runs %s", worker.name, ", ".join(sorted(worker.task_types)) or "nothing")
            report = worker.run(stopping, seconds=options["seconds"], beat=beat)
        else:
            report = worker.drain()
        if options["forever"]:
            logger.info("%s stops: %s", worker.name, _summary(report))
        else:
            self.stdout.write(_summary(report))
        if report.refused and not (options["forever"] or options["seconds"]):
            raise CommandError(_refused_message(worker))


def _refused_message(worker: Worker) -> str:
    reasons = {
        f"{row['task_type']}: {Trouble(row['trouble']).label} {row['error']}" for row in worker.breakers.report()
    }
    return "\n".join(["tasks were refused, they are still pending:", *sorted(reasons)])


def _summary(report: RunReport) -> str:
    return f"executed={report.executed} failed={report.failed} {report.punctuality}"
