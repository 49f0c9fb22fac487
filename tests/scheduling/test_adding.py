"""Adding tasks: rows first, then hints; invalid input is refused with a message that says what to do."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, time, timedelta, timezone
from typing import Any

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction

from scheduling.database import read_database_clock
from scheduling.exceptions import InvalidTask, NaiveTime, TimeOutOfRange
from scheduling.models import TaskInfo, TaskInfoLog
from scheduling.queues import DelayQueue
from scheduling.services import add_task, add_tasks, refresh, run_due
from scheduling.services.adding import write_drafts
from tests.scheduling.conftest import TYPE, Add, Keys, Notes, Travel

NOON = datetime(2100, 1, 1, 12, tzinfo=UTC)

pytestmark = pytest.mark.django_db(transaction=True)


@contextmanager
def refusing(table: str) -> Iterator[None]:
    """A database that refuses to insert into `table`."""
    body = (
        "FOR EACH ROW SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'refused'"
        if connection.vendor == "mysql"
        else "BEGIN SELECT RAISE(ABORT, 'refused'); END"
    )
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TRIGGER refuse BEFORE INSERT ON {table} {body}")
        try:
            yield
        finally:
            cursor.execute("DROP TRIGGER refuse")


def test_a_task_and_its_record_are_stored_together(queue: DelayQueue) -> None:
    """R1.1, R0.7"""
    task = add_task(TYPE, execute_time=NOON, parameters={"article": 7}, priority=2, key="7")
    stored, log = TaskInfo.objects.get(), TaskInfoLog.objects.get()
    assert (stored.task_id, stored.task_type, stored.priority, stored.key) == (task.task_id, TYPE, 2, "7")
    assert (stored.execute_time, stored.parameters) == (NOON, {"article": 7})
    assert (task.version, task.attempts) == (stored.version, stored.attempts) == (1, 0)
    assert (log.task_id, log.status, log.version) == (task.task_id, TaskInfoLog.Status.SCHEDULED, 1)
    assert (log.execute_time, log.parameters, log.key) == (NOON, {"article": 7}, "7")


def test_rows_are_committed_before_hints_are_pushed(keys: Keys, add: Add) -> None:
    """R1.1"""
    with transaction.atomic():
        task = add(30)
        assert TaskInfo.objects.filter(pk=task.pk).exists()
        assert keys.client.dbsize() == 0
    assert list(keys.future()) == [task.task_id]


@pytest.mark.parametrize("table", ["taskinfo", "taskinfo_logs"])
def test_when_the_database_refuses_nothing_is_queued_and_the_error_is_raised(keys: Keys, add: Add, table: str) -> None:
    """R1.2"""
    with refusing(table), pytest.raises(DatabaseError, match="refused"):
        add(0)
    assert (TaskInfo.objects.count(), TaskInfoLog.objects.count(), keys.client.dbsize()) == (0, 0, 0)


@pytest.mark.parametrize("seconds", [0, -1, -86_400])
def test_due_now_or_past_is_ready_at_once(keys: Keys, add: Add, seconds: float) -> None:
    """R1.3, R0.2"""
    task = add(seconds)
    assert keys.ready() == [task.task_id]
    assert keys.future() == {}


def test_due_within_the_window_waits_in_the_future_set_by_its_millisecond(keys: Keys) -> None:
    """R1.4, R4.1, R0.1, R0.7"""
    due = (read_database_clock() + timedelta(seconds=200)).replace(microsecond=123_456)
    later = add_task(TYPE, execute_time=due + timedelta(seconds=1), parameters=None)
    sooner = add_task(TYPE, execute_time=due, parameters=None)
    rounded_up = int(due.replace(microsecond=0).timestamp()) * 1000 + 124
    assert list(keys.future().items()) == [(sooner.task_id, rounded_up), (later.task_id, rounded_up + 1000)]


def test_due_later_stays_in_the_database_until_its_window_comes(keys: Keys, add: Add, travel: Travel) -> None:
    """R1.5"""
    task = add(301)
    assert keys.client.dbsize() == 0
    refresh()
    assert keys.future() == {}
    travel(2)
    assert refresh().loaded == 1
    assert list(keys.future()) == [task.task_id]


def test_a_task_in_the_past_runs_at_once(queue: DelayQueue, add: Add, notes: Notes) -> None:
    """R0.2, R1.3"""
    add(-3600, parameters="yesterday's news")
    run_due(10)
    assert notes.flat == ["yesterday's news"]


def test_lateness_counts_from_the_moment_a_past_time_was_asked_for(queue: DelayQueue, add: Add, notes: Notes) -> None:
    add(-86_400)
    run_due(10)
    lateness = TaskInfoLog.objects.get().lateness
    assert lateness is not None
    assert timedelta() <= lateness < timedelta(hours=1)


def test_a_pending_key_is_rescheduled_not_added_twice(queue: DelayQueue, add: Add) -> None:
    first = add(30, key="7", parameters=1)
    second = add(60, key="7", parameters=2, priority=1)
    stored, log = TaskInfo.objects.get(), TaskInfoLog.objects.get()
    assert second.task_id == first.task_id == stored.task_id
    assert (stored.execute_time, stored.parameters, stored.priority, stored.version) == (second.execute_time, 2, 1, 2)
    assert (log.execute_time, log.parameters, log.priority, log.version) == (second.execute_time, 2, 1, 2)


def test_adding_the_same_again_changes_nothing(queue: DelayQueue) -> None:
    for _ in range(2):
        task = add_task(TYPE, execute_time=NOON, parameters={"a": 1}, key="7")
    assert task.version == TaskInfo.objects.get().version == 1


def test_two_concurrent_adds_of_a_key_share_one_task(queue: DelayQueue) -> None:
    start, errors = threading.Barrier(8), []

    def add_one(number: int) -> None:
        start.wait()
        try:
            add_task(TYPE, execute_time=NOON + timedelta(seconds=number), parameters=number, key="7")
        except Exception as error:
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=add_one, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    task, log = TaskInfo.objects.get(), TaskInfoLog.objects.get()
    assert task.execute_time == log.execute_time == NOON + timedelta(seconds=task.parameters or 0)
    assert task.version == log.version == 8


def test_a_rolled_back_transaction_leaves_no_task(queue: DelayQueue, add: Add, notes: Notes) -> None:
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        add(0)
        raise ZeroDivisionError
    with transaction.atomic():
        with pytest.raises(ZeroDivisionError), transaction.atomic():
            add(0)
            raise ZeroDivisionError
        add(0, parameters="stored")
    run_due(10)
    assert notes.flat == ["stored"]
    assert TaskInfoLog.objects.count() == 1


def test_a_failing_commit_hook_of_other_code_only_delays_the_hint(
    keys: Keys, add: Add, travel: Travel, notes: Notes
) -> None:
    def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), transaction.atomic():
        transaction.on_commit(fail)
        task = add(0)
    assert keys.client.dbsize() == 0
    travel(1)
    assert refresh().requeued == 1
    assert keys.ready() == [task.task_id]


@pytest.mark.cases(10)
@pytest.mark.parametrize(
    "name",
    ["a_b:c", "a:b:", ":", "{}", "}{", "{a}:1", "%7B", "发布", "📰", "a'b\"c\\", "ä", "a", "A", "x" * 64, "a b", "-1"],
)
def test_any_type_and_key_is_stored_and_matched_exactly(queue: DelayQueue, monkeypatch: Any, name: str) -> None:
    """R3.1"""
    from_other_names = [name.swapcase() + "x", name + "a", "a" + name, name.replace("a", "á") + "."]
    for other in from_other_names:
        add_task(other[-64:], execute_time=NOON, parameters=None, key=other)
    task = add_task(name, execute_time=read_database_clock(), parameters=None, key=name)
    assert TaskInfo.objects.get(task_type=name, key=name).task_id == task.task_id
    popped = queue.pop([name], 10, now_ms=int(NOON.timestamp() * 1000) - 1)
    assert popped.ids == {(name, 0): [task.task_id]}


def test_many_tasks_are_added_in_order_and_in_a_few_statements(
    queue: DelayQueue, django_assert_max_num_queries: Any
) -> None:
    times = [NOON + timedelta(seconds=number % 7) for number in range(3000)]
    few = 12 if connection.vendor == "mysql" else 120  # SQLite allows fewer values in a statement
    with django_assert_max_num_queries(few):
        tasks = add_tasks(
            {"task_type": TYPE, "execute_time": time, "parameters": number, "key": str(number)}
            for number, time in enumerate(times)
        )
    assert [task.parameters for task in tasks] == list(range(3000))
    assert [task.execute_time for task in tasks] == times
    ids = [task.task_id for task in tasks]
    assert ids == sorted(set(ids))
    assert TaskInfo.objects.count() == TaskInfoLog.objects.count() == 3000


def test_adding_many_is_all_or_nothing(queue: DelayQueue) -> None:
    good: dict[str, Any] = {"task_type": TYPE, "execute_time": NOON, "parameters": 1}
    faults: list[dict[str, Any]] = [{"execute_time": datetime(2100, 1, 1)}, {"parameters": object()}, {"hue": "red"}]
    for bad in faults:
        with pytest.raises(InvalidTask, match="task 1: "):
            add_tasks([good, {**good, **bad}])
    with pytest.raises(InvalidTask, match="task 1: .* is there twice"):
        add_tasks([{**good, "key": "7"}, {**good, "key": "7"}])
    assert TaskInfo.objects.count() == 0


def nested(levels: int) -> Any:
    value: Any = 1
    for level in range(levels):
        value = [value] if level % 2 else {"a": value}
    return value


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ({"execute_time": datetime(2100, 1, 1)}, NaiveTime, "no time zone"),  # noqa: DTZ001
        ({"execute_time": "2100-01-01T00:00:00Z"}, InvalidTask, "must be a datetime, not str"),
        ({"execute_time": datetime(1, 1, 1, tzinfo=UTC)}, TimeOutOfRange, "1000 to 9999"),
        (
            {"execute_time": datetime(9999, 12, 31, 23, 59, tzinfo=timezone(timedelta(hours=-5)))},
            TimeOutOfRange,
            "9999",
        ),
        ({"parameters": {1, 2}}, InvalidTask, "plain JSON"),
        ({"parameters": float("nan")}, InvalidTask, "plain JSON"),
        ({"parameters": "\ud800"}, InvalidTask, "plain JSON"),
        ({"parameters": "x" * 65_536}, InvalidTask, "65538 bytes"),
        ({"parameters": nested(32)}, InvalidTask, "deeper than 31 levels"),
        ({"parameters": {"a": [nested(20), nested(31)]}}, InvalidTask, "deeper than 31 levels"),
        ({"parameters": nested(600)}, InvalidTask, "deeper than 31 levels"),
        ({"parameters": nested(100_000)}, InvalidTask, "plain JSON"),
        ({"task_type": ""}, InvalidTask, "not empty"),
        ({"task_type": "x" * 65}, InvalidTask, "at most 64"),
        ({"task_type": None}, InvalidTask, "not empty"),
        ({"task_type": "a\0b"}, InvalidTask, "no database stores"),
        ({"key": "x" * 192}, InvalidTask, "at most 191"),
        ({"task_type": "\ud800"}, InvalidTask, "no database stores"),
        ({"key": "\ud800"}, InvalidTask, "no database stores"),
        ({"key": " 7"}, InvalidTask, "white space"),
        ({"key": 7}, InvalidTask, "must be a text"),
        ({"priority": 40_000}, InvalidTask, "-32768 to 32767"),
        ({"priority": "high"}, InvalidTask, "whole number"),
        ({"priority": True}, InvalidTask, "whole number"),
    ],
)
def test_invalid_input_is_refused_with_a_message(
    transactional_db: None, values: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        add_task(**{"task_type": TYPE, "execute_time": NOON, "parameters": None, **values})
    assert TaskInfo.objects.count() == 0


def test_the_deepest_parameters_are_stored(queue: DelayQueue) -> None:
    values = [nested(31), [nested(30), {}], [[[]]]]
    tasks = add_tasks({"task_type": TYPE, "execute_time": NOON, "parameters": value} for value in values)
    for task, value in zip(tasks, values, strict=True):
        assert TaskInfo.objects.get(pk=task.pk).parameters == value
        assert TaskInfoLog.objects.get(pk=task.pk).parameters == value


def test_a_row_that_the_database_refuses_for_its_values_is_no_collision(
    queue: DelayQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would be refused each time."""
    attempts = []

    def write(*given: Any, **values: Any) -> Any:
        attempts.append(given)
        return write_drafts(*given, **values | {"now": None})  # a column that may not be empty

    monkeypatch.setattr("scheduling.services.adding.write_drafts", write)
    with pytest.raises(IntegrityError):
        add_task(TYPE, execute_time=NOON, parameters=None)
    assert len(attempts) == 1


def test_a_row_that_is_there_already_is_a_collision(queue: DelayQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = add_task(TYPE, execute_time=NOON, parameters=1).task_id
    ids = iter([[taken], [taken + 1]])
    monkeypatch.setattr("scheduling.services.adding.new_task_ids", lambda count: next(ids))
    assert add_task(TYPE, execute_time=NOON, parameters=2).task_id == taken + 1


@pytest.mark.parametrize("parameters", [{1: (2, 3)}, {"a": [2, 3]}, [True, 1.5, None, "é"]])
def test_a_task_that_is_added_again_unchanged_is_left_alone(queue: DelayQueue, parameters: Any) -> None:
    values: dict[str, Any] = {"execute_time": NOON, "parameters": parameters, "key": "7"}
    first = add_task(TYPE, **values)
    again = add_task(TYPE, **values)
    assert (again.task_id, again.version) == (first.task_id, 1)
    assert first.parameters == again.parameters == TaskInfo.objects.get().parameters


@pytest.mark.parametrize(("one", "other"), [(1, True), ([1], [1.0]), ({"a": 0}, {"a": False})])
def test_values_that_only_python_takes_for_the_same_are_a_change(queue: DelayQueue, one: Any, other: Any) -> None:
    add_task(TYPE, execute_time=NOON, parameters=one, key="7")
    assert add_task(TYPE, execute_time=NOON, parameters=other, key="7").version == 2
    assert str(TaskInfo.objects.get().parameters) == str(other)


@pytest.mark.parametrize("day", [date(1000, 1, 1), date(1969, 12, 31), date(9999, 12, 30)])
def test_any_time_that_every_zone_can_show_is_stored_to_the_microsecond(queue: DelayQueue, day: date) -> None:
    moment = datetime.combine(day, time.max, tzinfo=UTC)
    add_task(TYPE, execute_time=moment, parameters=None)
    assert TaskInfo.objects.get().execute_time == moment


def test_parameters_are_returned_unchanged(queue: DelayQueue, notes: Notes, add: Add) -> None:
    values = [None, True, 0, 1.5, "发布 📰 'quoted' \\", [1, [2]], {"a": {"b": None}, "ä": "é"}]
    for value in values:
        add(0, parameters=value)
    run_due(10)
    assert notes.flat == values
