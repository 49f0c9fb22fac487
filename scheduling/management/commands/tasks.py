"""`manage.py tasks`: list and show tasks; retry, cancel and prune them."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from django.core.management.base import BaseCommand, CommandError
from django.db import Error
from django.db.models import Max, QuerySet

from scheduling.database import read_database_clock
from scheduling.exceptions import SchedulingError
from scheduling.management import output
from scheduling.models import TaskInfo, TaskInfoLog
from scheduling.services import cancel_task, cancel_tasks, retry_task
from scheduling.services.finding import PENDING, STATUSES, find_task, find_tasks
from scheduling.services.measuring import failed_by_type, lateness, overdue_by_topic, pending_by_topic
from scheduling.services.pruning import prune

_PAGE = 1000  # ids read at once for --type and --all-failed


class TaskResult(NamedTuple):
    """The result of changing one task."""

    task_id: int
    done: bool
    message: str


class Command(BaseCommand):
    """Parses the arguments and calls a service for each verb."""

    requires_system_checks = []  # they would load the admin and all URLs; `check` and `migrate` run them
    help = "List and show tasks, retry failed ones, cancel pending ones, prune old records, print figures."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="list|show|retry|cancel|prune|stats")
        _add_list(verbs.add_parser("list", help="pending tasks, soonest first; with --status others, latest first"))
        _add_show(verbs.add_parser("show", help="everything about one task"))
        _add_retry(verbs.add_parser("retry", help="give failed or cancelled tasks another full set of attempts"))
        _add_cancel(verbs.add_parser("cancel", help="cancel pending tasks"))
        _add_prune(verbs.add_parser("prune", help="delete the records of tasks that ended long ago"))
        _add_stats(verbs.add_parser("stats", help="pending, overdue and failed tasks, and how late tasks ran"))
        for verb in verbs.choices.values():
            verb.add_argument("--json", action="store_true", help="JSON for programs")

    def handle(self, *args: Any, verb: str, **options: Any) -> None:
        try:
            getattr(self, f"_{verb}")(options)
        except SchedulingError as error:
            raise CommandError(str(error)) from error
        except Error as error:
            raise CommandError(f"the database failed: {error}") from error

    def _list(self, options: dict[str, Any]) -> None:
        found = find_tasks(options["status"], task_type=options["type"], key=options["key"], limit=options["limit"])
        if options["json"]:
            self._print_json([output.as_dict(item) for item in found])
        else:
            self.stdout.write(output.as_table(output.HEADINGS, map(output.as_row, found)))

    def _show(self, options: dict[str, Any]) -> None:
        found = find_task(options["task_id"])
        if found is None:
            raise CommandError(_unknown(options["task_id"]))
        self.stdout.write(output.as_json(output.as_dict(found)) if options["json"] else output.as_text(found))

    def _retry(self, options: dict[str, Any]) -> None:
        ids, failed = options["task_ids"], TaskInfoLog.objects.filter(status=TaskInfoLog.Status.FAILED)
        if bool(ids) == bool(options["all_failed"] or options["type"]):
            raise CommandError("name tasks by their ids, or all failed ones by --all-failed or --type")
        pages = [ids] if ids else _pages(failed, options["type"])
        self._report([_retry_one(task_id) for page in pages for task_id in page], options)

    def _cancel(self, options: dict[str, Any]) -> None:
        ids, task_type = options["task_ids"], options["type"]
        if bool(ids) == bool(task_type):
            raise CommandError("name tasks by their ids, or all pending ones of a type by --type")
        if ids:
            self._report([_cancel_one(task_id) for task_id in ids], options)
        else:
            self._print_count("cancelled", sum(map(cancel_tasks, _pages(TaskInfo.objects.all(), task_type))), options)

    def _prune(self, options: dict[str, Any]) -> None:
        self._print_count("pruned", sum(prune(days=options["older_than"])), options)

    def _stats(self, options: dict[str, Any]) -> None:
        now = read_database_clock()
        headings, overdue = ("task_type", "priority", "pending", "overdue"), overdue_by_topic(now)
        rows = [(*topic, count, overdue[topic]) for topic, count in sorted(pending_by_topic().items())]
        failed, late = failed_by_type(), lateness(now, options["minutes"])
        if options["json"]:
            topics = [dict(zip(headings, row, strict=True)) for row in rows]
            figures = asdict(late) | {"minutes": options["minutes"]}
            self._print_json({"topics": topics, "failed": failed, "lateness_ms": figures})
            return
        self.stdout.write(output.as_table(headings, rows))
        self.stdout.write(f"\nfailed={failed.total()} executed={late.count} in the last {options['minutes']:g} minutes")
        if late.p50 is not None:
            self.stdout.write(f"late_ms p50={late.p50:.1f} p99={late.p99:.1f} max={late.max:.1f}")
        if late.unmeasured:
            self.stdout.write(f"not measured, because the worker died: {late.unmeasured}")

    def _report(self, outcomes: Sequence[TaskResult], options: dict[str, Any]) -> None:
        if options["json"]:
            self._print_json([outcome._asdict() | {"task_id": str(outcome.task_id)} for outcome in outcomes])
        else:
            self.stdout.write("\n".join(f"{task_id}: {message}" for task_id, _, message in outcomes))
        if undone := sum(not outcome.done for outcome in outcomes):
            raise CommandError(f"{undone} of {len(outcomes)} could not be changed")

    def _print_count(self, name: str, count: int, options: dict[str, Any]) -> None:
        self.stdout.write(output.as_json({name: count}) if options["json"] else f"{name}={count}")

    def _print_json(self, value: object) -> None:
        self.stdout.write(output.as_json(value))


def _retry_one(task_id: int) -> TaskResult:
    try:
        retry_task(task_id)
    except SchedulingError as error:
        return TaskResult(task_id, False, _unknown(task_id) if find_task(task_id) is None else str(error))
    return TaskResult(task_id, True, "pending again, due now")


def _cancel_one(task_id: int) -> TaskResult:
    if cancel_task(task_id):
        return TaskResult(task_id, True, "cancelled, it will not run")
    found = find_task(task_id)
    return TaskResult(task_id, False, f"not cancelled, it is {found.status} already" if found else _unknown(task_id))


def _unknown(task_id: int) -> str:
    return f"there is no task {task_id}, or its record was pruned"


def _pages(tasks: QuerySet[Any], task_type: str) -> Iterator[list[int]]:
    """Ids of the current `tasks`, a page at a time."""
    tasks = tasks.filter(task_type=task_type) if task_type else tasks
    last, newest = -1, tasks.aggregate(newest=Max("task_id"))["newest"] or -1
    while last < newest:
        rest = tasks.filter(task_id__gt=last, task_id__lte=newest).order_by("task_id")
        page = list(rest.values_list("task_id", flat=True)[:_PAGE])
        yield page
        last = page[-1] if page else newest


def _add_list(parser: ArgumentParser) -> None:
    parser.add_argument("--type", default="", help="only this type")
    parser.add_argument("--status", choices=STATUSES, default=PENDING, help=f"default: {PENDING}")
    parser.add_argument("--key", default="", help="only this key")
    parser.add_argument("--limit", type=_whole_number(1), default=50, metavar="N", help="default: 50")


def _add_show(parser: ArgumentParser) -> None:
    parser.add_argument("task_id", type=_whole_number(0), metavar="ID")


def _add_retry(parser: ArgumentParser) -> None:
    parser.add_argument("task_ids", type=_whole_number(0), nargs="*", metavar="ID")
    parser.add_argument("--type", default="", help="instead of ids: all failed tasks of this type")
    parser.add_argument("--all-failed", action="store_true", help="instead of ids: all failed tasks")


def _add_cancel(parser: ArgumentParser) -> None:
    parser.add_argument("task_ids", type=_whole_number(0), nargs="*", metavar="ID")
    parser.add_argument("--type", default="", help="instead of ids: all pending tasks of this type")


def _add_prune(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--older-than", type=_whole_number(0, 36_500), metavar="DAYS", help="default: SCHEDULING_LOG_RETENTION_DAYS"
    )


def _add_stats(parser: ArgumentParser) -> None:
    parser.add_argument("--minutes", type=_whole_number(1, 100_000), default=15, metavar="N", help="default: 15")


def _whole_number(least: int, most: int = 2**63 - 1) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not text.isdecimal() or not least <= int(text) <= most:
            raise ArgumentTypeError(f"{text!r} is no whole number from {least} to {most}")
        return int(text)

    return parse
