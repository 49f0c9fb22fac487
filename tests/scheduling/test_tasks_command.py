"""`manage.py tasks`: its output and results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from scheduling import registry
from scheduling.database import read_database_clock
from scheduling.models import TaskInfo, TaskInfoLog
from scheduling.services import cancel_task, run_due
from scheduling.services.pruning import BATCH
from tests.conftest import Manage
from tests.scheduling.conftest import TYPE, Add, Notes

pytestmark = pytest.mark.django_db(transaction=True)

Status = TaskInfoLog.Status


def tasks(*arguments: object) -> str:
    """The output of the command; raises CommandError instead of exit code 1."""
    output = StringIO()
    call_command("tasks", *map(str, arguments), stdout=output)
    return output.getvalue()


def tasks_json(*arguments: object) -> Any:
    return json.loads(tasks(*arguments, "--json"))


def ids(*arguments: object) -> list[int]:
    return [int(task["task_id"]) for task in tasks_json("list", *arguments)]


@pytest.fixture
def failed(add: Add, notes: Notes, monkeypatch: pytest.MonkeyPatch) -> TaskInfo:
    """A dead task; the next ones succeed."""

    def refuse(batch: Sequence[TaskInfo]) -> None:
        raise ValueError("the printing press is on fire")

    monkeypatch.setitem(registry._handlers, TYPE, registry.Handler(refuse, max_attempts=1))
    task = add()
    run_due(10)
    monkeypatch.setitem(registry._handlers, TYPE, registry.Handler(notes.run))
    return task


def test_pending_tasks_are_listed_soonest_first_across_types(add: Add) -> None:
    third, first, second = add(300), add(100, task_type="other", key="7"), add(200, priority=-1)
    assert ids() == [first.pk, second.pk, third.pk]
    assert ids("--limit", 2) == [first.pk, second.pk]
    assert ids("--type", TYPE) == [second.pk, third.pk]
    assert ids("--key", "7") == [first.pk]


def test_closed_tasks_are_listed_latest_first_by_their_status(add: Add, notes: Notes, failed: TaskInfo) -> None:
    executed = [add(), add()]
    run_due(10)
    cancelled = add(60)
    cancel_task(cancelled.pk)
    pending = add(60)
    assert sorted(ids("--status", "executed")) == [task.pk for task in executed]
    assert ids("--status", "cancelled") == [cancelled.pk]
    assert ids("--status", "failed") == [failed.pk]
    assert ids("--status", "pending") == [pending.pk]
    assert ids("--status", "all") == [pending.pk, cancelled.pk, executed[1].pk, executed[0].pk, failed.pk]


def test_only_tasks_that_are_long_due_and_free_are_overdue(add: Add) -> None:
    add(60)
    add(-1)
    overdue, leased = add(-60), add(-60, task_type="other")
    TaskInfo.objects.filter(pk=leased.pk).update(
        leased_until=read_database_clock() + timedelta(seconds=30), lease_token="held"
    )
    assert ids("--status", "overdue") == [overdue.pk]


def test_the_table_names_a_task_and_cuts_its_error(failed: TaskInfo) -> None:
    heading, line = tasks("list", "--status", "failed").splitlines()
    assert heading.split()[:3] == ["task", "type", "priority"]
    assert line.split()[:5] == [str(failed.pk), TYPE, "0", "-", "failed"]
    assert line.endswith("ValueError: the printing press is on fire")


def test_a_key_cannot_control_the_terminal(add: Add) -> None:
    add(60, key="red \x1b[31m")
    assert "\x1b" not in tasks("list")


def test_a_task_is_shown_with_its_parameters_and_its_whole_error(failed: TaskInfo, add: Add) -> None:
    assert "Traceback" in tasks("show", failed.pk)
    task = add(60, parameters={"article": 7, "title": "头条"}, key="7")
    shown = tasks_json("show", task.pk)
    assert (shown["task_id"], shown["status"], shown["key"]) == (str(task.pk), "pending", "7")
    assert shown["parameters"] == {"article": 7, "title": "头条"}
    assert shown["execute_time"] == shown["next_attempt"] == task.execute_time.isoformat()
    assert "头条" in tasks("show", task.pk)


@pytest.mark.cases(1)
@pytest.mark.parametrize("verb", ["show", "retry", "cancel"])
def test_an_unknown_id_is_an_error_that_names_it(manage: Manage, verb: str) -> None:
    done = manage("tasks", verb, "404")
    assert done.returncode == 1
    assert "no task 404" in done.stdout + done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["retry"],
        ["retry", "1", "--all-failed"],
        ["cancel"],
        ["cancel", "1", "--type", TYPE],
        ["cancel", "seven"],
        ["list", "--limit", "0"],
        ["prune", "--older-than", "-1"],
        ["prune", "--older-than", "99999999999"],
        ["eat"],
    ],
)
def test_invalid_arguments_are_refused_before_anything_is_done(arguments: list[str], add: Add) -> None:
    add(60)
    with pytest.raises(CommandError):
        tasks(*arguments)
    assert TaskInfo.objects.count() == 1


def test_cancelling_says_of_each_task_whether_it_will_run(add: Add, notes: Notes) -> None:
    executed, pending = add(), add(60)
    run_due(10)
    output = StringIO()
    with pytest.raises(CommandError, match="1 of 2 could not be changed"):
        call_command("tasks", "cancel", str(executed.pk), str(pending.pk), stdout=output)
    assert output.getvalue().splitlines() == [
        f"{executed.pk}: not cancelled, it is executed already",
        f"{pending.pk}: cancelled, it will not run",
    ]
    assert TaskInfoLog.objects.get(pk=executed.pk).status == Status.EXECUTED
    assert TaskInfoLog.objects.get(pk=pending.pk).status == Status.CANCELLED


def test_all_pending_tasks_of_a_type_are_cancelled_and_no_others(add: Add, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scheduling.management.commands.tasks._PAGE", 2)
    other = add(60, task_type="other")
    for _ in range(5):
        add(60)
    assert tasks("cancel", "--type", TYPE) == "cancelled=5\n"
    assert TaskInfo.objects.get().pk == other.pk


def test_a_failed_task_is_retried_and_runs(failed: TaskInfo, notes: Notes, add: Add) -> None:
    waiting = add(60)
    with pytest.raises(CommandError, match="1 of 2"):
        tasks("retry", failed.pk, waiting.pk)
    run_due(10)
    assert TaskInfoLog.objects.get(pk=failed.pk).status == Status.EXECUTED
    assert TaskInfoLog.objects.get(pk=waiting.pk).version == 1


@pytest.mark.parametrize(
    ("arguments", "left"), [(["--all-failed"], 0), (["--type", TYPE], 0), (["--all-failed", "--type", "other"], 1)]
)
def test_failed_tasks_are_retried_together(failed: TaskInfo, arguments: list[str], left: int) -> None:
    tasks("retry", *arguments)
    assert TaskInfoLog.objects.filter(status=Status.FAILED).count() == left


def test_old_records_are_pruned_in_batches_and_pending_tasks_stay(add: Add, notes: Notes) -> None:
    """R4.9"""
    old, recent, pending = [add() for _ in range(BATCH + 1)], add(), add(60)
    run_due(2 * BATCH)
    age(old + [pending], days=91)
    age([recent], days=89)
    assert tasks("prune") == f"pruned={BATCH + 1}\n"
    assert set(TaskInfoLog.objects.values_list("pk", flat=True)) == {recent.pk, pending.pk}
    assert tasks_json("prune", "--older-than", "0") == {"pruned": 1}
    assert TaskInfoLog.objects.get().pk == TaskInfo.objects.get().pk == pending.pk


def age(aged: list[TaskInfo], *, days: int) -> None:
    past = read_database_clock() - timedelta(days=days)
    TaskInfoLog.objects.filter(pk__in=[task.pk for task in aged]).update(updated_at=past)


def test_stats_count_by_topic_and_show_the_lateness(add: Add, notes: Notes, failed: TaskInfo) -> None:
    add()
    run_due(10)
    add(60)
    add(60)
    add(-60, task_type="other", priority=3)
    stats = tasks_json("stats")
    assert stats["topics"] == [
        {"task_type": "other", "priority": 3, "pending": 1, "overdue": 1},
        {"task_type": TYPE, "priority": 0, "pending": 2, "overdue": 0},
    ]
    assert stats["failed"] == {TYPE: 1}
    assert stats["lateness_ms"]["count"] == 1
    assert 0 <= stats["lateness_ms"]["p50"] == stats["lateness_ms"]["max"] < 60_000
    assert "failed=1 executed=1 in the last 15 minutes" in tasks("stats")


def test_stats_of_an_empty_engine_are_zero() -> None:
    assert "failed=0 executed=0" in tasks("stats", "--minutes", 1)


def test_a_lost_database_ends_the_command_with_a_message(manage: Manage) -> None:
    done = manage("tasks", "list", env={"DATABASE_URL": "mysql://headline:headline@127.0.0.1:1/headline"})
    assert done.returncode == 1
    assert "the database failed" in done.stderr
    assert "Traceback" not in done.stderr
