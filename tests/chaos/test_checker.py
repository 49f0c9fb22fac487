"""The checker, with small histories made by hand: it finds each kind of violation, and nothing where there is none."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.chaos.bounds import BOUNDS, OF_REDIS
from tests.chaos.checker import Verdict, check
from tests.chaos.history import Added, FaultRecord, Mailed, Purged, Record, Request, Sight
from tests.chaos.violations import EARLY, LATE, LOST, TWICE, UNEXPLAINED, ZOMBIE

Row = dict[str, Any]
SETTLED_AT = 100.0
DUE = 20.0


def iso(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat()


class Ledger:
    """A history and a dump of one story, which is scheduled and goes live as it should; the tests spoil it."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.article: Row = {
            "id": 7, "title": "Mark1v1e", "status": 9, "publish_at": DUE, "unpublish_at": None, "text": 1,
            "update": None, "is_shown": True,
        }  # fmt: skip
        self.entries: list[Row] = []
        self.notifications: list[Row] = [self.notification("approved"), self.notification("published")]
        self.tasks: list[Row] = []
        self.logs = [self.log()]
        self.effects: list[Row] = []
        self.releases: list[Row] = []
        for at, name, old, new in ((1, "create", None, 0), (2, "submit", 0, 3), (3, "approve", 3, 4)):
            self.do(at, name)
            self.entry(at, name, old, new)
        self.do(4, "schedule", {"publish_at": iso(DUE)})
        self.entry(4, "schedule", 4, 4)
        self.published = self.entry(DUE, "published", 4, 9, source="worker")

    def do(self, at: float, name: str, values: Row | None = None, *, status: int | None = 200, number: int = 0) -> None:
        """A request that took half a second."""
        count = sum(isinstance(one, Request) for one in self.records)
        self.records.append(
            Request(
                began=at - 0.25,
                ended=at + 0.25,
                number=number or count + 1,
                operation=name,
                stories=[1],
                values=values or {},
                status=status,
            )  # fmt: skip
        )

    def entry(self, at: float, action: str, old: int | None, new: int | None, **values: Any) -> Row:
        """An audit entry."""
        row = {
            "id": len(self.entries) + 1, "at": float(at), "action": action, "source": "api", "user_name": "chief",
            "article_id": 7, "article_title": "Mark1v1e", "release_id": None, "old_status": old, "new_status": new,
            "old_time": None, "new_time": float(at), **values,
        }  # fmt: skip
        self.entries.append(row)
        return row

    def log(self, **values: Any) -> Row:
        """The record of the task that publishes it."""
        return {
            "task_id": 70, "task_type": "articles.publish", "key": "7", "execute_time": DUE, "promised_at": 4.0,
            "status": 1, "executed_at": DUE + 0.01, "error": "", **values,
        }  # fmt: skip

    def notification(self, kind: str) -> Row:
        """For its author."""
        return {
            "id": f"0a-{kind}", "kind": kind, "article_id": 7, "is_author": True, "is_wanted_by_mail": False,
            "mailed_at": None,
        }  # fmt: skip

    def see(self, at: float, *texts: tuple[int, int], own: bool = True, status: int = 200) -> None:
        """A reader looks at a page."""
        story = 1 if own else None
        self.records.append(
            Sight(began=at, ended=at + 0.1, address="/page/", status=status, story=story, texts=texts)  # fmt: skip
        )

    def check(self) -> Verdict:
        """The verdict."""
        names = ("entries", "notifications", "tasks", "logs", "effects", "releases")
        articles = [self.article] if self.article else []
        return check(self.records, {"articles": articles, **{name: getattr(self, name) for name in names}}, SETTLED_AT)

    def kinds(self) -> list[str]:
        """The violations."""
        return sorted({violation.kind for violation in self.check().violations})


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()


def unpublish(ledger: Ledger, at: float, *, status: int | None = 200) -> None:
    ledger.do(at, "unpublish", status=status)
    if status == 200:
        ledger.entry(at, "unpublish", 9, 10)
        ledger.article |= {"is_shown": False, "status": 10}


def test_nothing_is_found_where_nothing_is_wrong(ledger: Ledger) -> None:
    ledger.see(DUE - 1, status=404)
    ledger.see(DUE - 0.05, (1, 1))
    ledger.see(DUE + 1, (1, 1))
    unpublish(ledger, 30)
    ledger.see(31, (1, 1))  # within the time that caches may show it
    ledger.see(40, status=404)
    verdict = ledger.check()
    assert verdict.violations == []
    assert verdict.checked["sights"] == 5
    assert [round(late.at - late.due, 3) for late in verdict.lateness] == [0.01]


@pytest.mark.parametrize("status", [None, 500])
@pytest.mark.parametrize("took_effect", [True, False])
def test_an_uncertain_request_is_accepted_both_ways(ledger: Ledger, status: int | None, *, took_effect: bool) -> None:
    ledger.do(30, "unpublish", status=status)
    if took_effect:
        ledger.entry(33, "unpublish", 9, 10)
        ledger.article |= {"is_shown": False, "status": 10}
        ledger.see(50, status=404)
    else:
        ledger.see(50, (1, 1))
    assert ledger.kinds() == []


def test_attempts_with_one_key_are_one_operation(ledger: Ledger) -> None:
    ledger.do(30, "unpublish", status=None, number=50)
    ledger.do(35, "unpublish", status=200, number=50)
    ledger.entry(30, "unpublish", 9, 10)
    ledger.article |= {"is_shown": False, "status": 10}
    ledger.see(33, (1, 1))
    ledger.see(33, status=404)
    assert ledger.kinds() == []


def test_a_refused_request_must_have_no_effect(ledger: Ledger) -> None:
    ledger.do(30, "unpublish", status=409)
    assert ledger.kinds() == []
    ledger.entry(30, "unpublish", 9, 10)
    assert UNEXPLAINED in ledger.kinds()


def test_an_acknowledged_request_without_effect_is_lost(ledger: Ledger) -> None:
    ledger.do(30, "unpublish")
    assert ledger.kinds() == [LOST]


def test_an_acknowledged_article_that_is_gone_is_lost(ledger: Ledger) -> None:
    ledger.article = {}
    assert LOST in ledger.kinds()


def test_an_operation_that_took_effect_twice_is_found(ledger: Ledger) -> None:
    ledger.entry(4.1, "schedule", 4, 4)
    assert TWICE in ledger.kinds()


def test_an_article_that_was_created_twice_is_found(ledger: Ledger) -> None:
    first = ledger.check
    ledger.entry(1.1, "create", None, 0, article_id=8)
    assert TWICE in [violation.kind for violation in first().violations]


def test_an_effect_without_a_request_is_unexplained(ledger: Ledger) -> None:
    ledger.entry(30, "retract", 9, 11)
    assert UNEXPLAINED in ledger.kinds()


def test_an_article_that_was_never_published_is_lost(ledger: Ledger) -> None:
    ledger.entries.remove(ledger.published)
    ledger.article |= {"status": 4}
    ledger.logs = []
    ledger.notifications.pop()
    assert ledger.kinds() == [LOST]


def test_an_article_that_was_published_twice_is_found(ledger: Ledger) -> None:
    ledger.entry(DUE + 1, "published", 4, 9, source="worker")
    assert TWICE in ledger.kinds()


def test_an_article_that_was_published_early_is_found(ledger: Ledger) -> None:
    ledger.published["at"] = DUE - 0.1
    assert ledger.kinds() == [EARLY]


def test_a_page_that_shows_an_article_before_its_time_is_early(ledger: Ledger) -> None:
    ledger.see(DUE - 0.2, (1, 1), own=False)
    assert ledger.kinds() == [EARLY]


def test_a_page_that_shows_an_article_before_the_end_of_its_embargo_is_early(ledger: Ledger) -> None:
    ledger.do(10, "set_embargo", {"until": iso(DUE + 5)})
    ledger.entry(10, "set_embargo", 4, 4)
    ledger.published["at"] = ledger.logs[0]["executed_at"] = DUE + 5
    ledger.see(DUE + 5, (1, 1))
    assert ledger.kinds() == []
    ledger.see(DUE + 3, (1, 1))
    assert ledger.kinds() == [EARLY]


def test_a_page_without_an_article_that_is_live_lost_it(ledger: Ledger) -> None:
    ledger.see(DUE + 3, status=404)
    assert ledger.kinds() == [LOST]


def test_a_page_that_shows_an_article_after_it_was_unpublished_is_a_zombie(ledger: Ledger) -> None:
    unpublish(ledger, 30)
    ledger.see(32, (1, 1), own=False)
    assert ledger.kinds() == [ZOMBIE]


def test_caches_may_show_more_while_a_fault_is_on(ledger: Ledger) -> None:
    unpublish(ledger, 30)
    ledger.records.append(FaultRecord(began=29, ended=33, kind="Redis frozen"))
    ledger.see(35, (1, 1))
    assert ledger.kinds() == []
    ledger.see(45, (1, 1))
    assert ledger.kinds() == [ZOMBIE]


def test_a_page_that_shows_an_article_after_its_end_is_a_zombie(ledger: Ledger) -> None:
    """The clock needs no purge, so caches have no time for it."""
    ledger.do(10, "edit", {"unpublish_at": iso(30)})
    ledger.entry(10, "edit", 4, 4)
    ledger.entry(30, "unpublished", 9, 10, source="worker")
    ledger.logs.append(ledger.log(task_id=71, task_type="articles.unpublish", execute_time=30.0, executed_at=30.1))
    ledger.article |= {"is_shown": False, "status": 10}
    ledger.see(29.9, (1, 1))
    assert ledger.kinds() == []
    ledger.see(30.1, (1, 1))
    assert ledger.kinds() == [ZOMBIE]


def updated(ledger: Ledger) -> None:
    """An update that is due at 40."""
    ledger.do(30, "edit", {"text": 2})
    ledger.do(31, "submit")
    ledger.do(32, "approve")
    ledger.do(33, "schedule_update", {"publish_at": iso(40)})
    for at, name in ((30, "edit"), (31, "submit"), (32, "approve"), (33, "schedule_update")):
        ledger.entry(at, name, 9, 9)
    ledger.entry(40, "updated", 9, 9, source="worker")
    ledger.logs.append(ledger.log(task_id=72, task_type="articles.update", execute_time=40.0, executed_at=40.1))
    ledger.notifications += [ledger.notification("approved"), ledger.notification("published")]
    ledger.article |= {"text": 2}


def test_an_update_is_shown_from_its_time_on(ledger: Ledger) -> None:
    updated(ledger)
    ledger.see(39, (1, 1))
    ledger.see(41, (1, 2))
    assert ledger.kinds() == []


@pytest.mark.parametrize(("at", "text", "kind"), [(39, 2, EARLY), (45, 1, ZOMBIE)])
def test_the_wrong_text_is_found(ledger: Ledger, at: float, text: int, kind: str) -> None:
    updated(ledger)
    ledger.see(at, (1, text))
    assert ledger.kinds() == [kind]


def test_an_update_of_an_article_that_is_not_live_replaces_its_text_at_once(ledger: Ledger) -> None:
    for at, name in ((10, "edit"), (11, "submit"), (12, "approve")):
        ledger.do(at, name, {"text": 2} if name == "edit" else None)
        ledger.entry(at, name, 4, 4)
    ledger.notifications.append(ledger.notification("approved"))
    ledger.article |= {"text": 2}
    ledger.see(DUE + 1, (1, 2))
    assert ledger.kinds() == []


def test_an_update_that_is_not_stored_at_the_end_is_lost(ledger: Ledger) -> None:
    updated(ledger)
    ledger.article |= {"text": 1}
    assert ledger.kinds() == [LOST]


def released(ledger: Ledger, *times: float) -> None:
    """A release with one member instead of a time."""
    ledger.records, ledger.entries = ledger.records[:3], ledger.entries[:3]
    ledger.logs = []
    ledger.records += [
        Request(began=4, ended=4.5, number=90, operation="create_release", stories=[], release="R", status=201),
        Request(began=5, ended=5.5, number=91, operation="joined_release", stories=[1], release="R", status=201),
        *(
            Request(
                began=6,
                ended=6.5,
                number=92 + number,
                operation="schedule_release",
                stories=[],
                release="R",
                values={"publish_at": iso(moment)},
                status=200,
            )  # fmt: skip
            for number, moment in enumerate(times)
        ),
    ]
    release = {"article_id": None, "article_title": "", "release_id": 3}
    ledger.entry(4.2, "create_release", None, None, **release)
    ledger.entry(5.2, "joined_release", 4, 4, release_id=3)
    for _moment in times:
        ledger.entry(6.2, "schedule_release", None, None, **release)
    ledger.entry(DUE, "published", 4, 9, release_id=3, source="worker", new_time=DUE)
    ledger.entry(DUE, "released", None, None, **release)
    ledger.releases = [
        {"id": 3, "name": "R", "status": "published", "publish_at": DUE, "published_at": DUE + 0.1, "members": 1}
    ]


def test_a_release_is_accounted_for(ledger: Ledger) -> None:
    released(ledger, DUE)
    ledger.see(DUE + 4, (1, 1))
    assert ledger.kinds() == []
    ledger.see(DUE - 0.5, (1, 1))
    assert ledger.kinds() == [EARLY]


def test_a_release_does_not_take_the_time_of_an_article_that_is_live(ledger: Ledger) -> None:
    ledger.do(DUE + 2, "joined_release")
    ledger.entry(DUE + 2, "joined_release", 9, 9)
    ledger.see(DUE + 9, (1, 1))
    assert ledger.kinds() == []


@pytest.mark.parametrize(("began", "kinds"), [(DUE - 0.2, []), (DUE + 0.1, [LOST])])
def test_an_article_may_lose_its_time_to_a_release_that_it_began_to_join_before(
    ledger: Ledger, began: float, kinds: list[str]
) -> None:
    ledger.entries.remove(ledger.published)
    ledger.notifications.pop()
    ledger.logs = [ledger.log(status=2, executed_at=None)]
    ledger.records.append(
        Request(began=began, ended=began + 0.5, number=90, operation="joined_release", stories=[1], status=201)
    )
    ledger.entry(began + 0.3, "joined_release", 4, 4, old_time=DUE, new_time=None)
    ledger.article |= {"status": 4, "publish_at": None}
    assert ledger.kinds() == kinds


@pytest.mark.parametrize(("has_draft", "kinds"), [(True, []), (False, [LOST])])
def test_a_release_fails_because_of_a_draft_alone(ledger: Ledger, has_draft: bool, kinds: list[str]) -> None:
    if has_draft:  # which is approved too late
        ledger.do(DUE + 1, "edit", {"text": 2})
        ledger.entry(DUE + 1, "edit", 9, 9)
    moments = {"create_release": 2, "joined_release": 3, "schedule_release": 4}
    for number, (name, after) in enumerate(moments.items(), 90):
        members = [1] if name == "joined_release" else []
        values = {"publish_at": iso(DUE + 6)} if name == "schedule_release" else {}
        began = DUE + after
        ledger.records.append(
            Request(
                began=began, ended=began + 0.5, number=number, operation=name, stories=members, release="R",
                values=values, status=200,
            )
        )  # fmt: skip
        of_article = {} if members else {"article_id": None, "article_title": ""}
        ledger.entry(began + 0.2, name, 9 if members else None, 9 if members else None, release_id=3, **of_article)
    ledger.entry(
        DUE + 6, "release_failed", None, None, release_id=3, source="worker", article_id=None, article_title=""
    )
    ledger.releases = [
        {"id": 3, "name": "R", "status": "failed", "publish_at": DUE + 6, "published_at": None, "members": 1}
    ]
    assert ledger.kinds() == kinds


def test_a_release_before_its_time_is_early(ledger: Ledger) -> None:
    released(ledger, DUE + 5)
    assert EARLY in ledger.kinds()


@pytest.mark.parametrize(("seen", "kinds"), [(DUE + 1, []), (DUE - 2, [EARLY])])
def test_pages_between_a_commit_and_the_date_that_a_worker_gave_it_are_not_early(
    ledger: Ledger, seen: float, kinds: list[str]
) -> None:
    released(ledger)
    for number, status in enumerate((None, 200)):  # its process died after the commit, so it was sent again
        began = DUE - 0.1 + number / 2
        ledger.records.append(
            Request(
                began=began,
                ended=began + 0.2,
                number=95,
                operation="publish_release",
                stories=[],
                release="R",
                status=status,
            )  # fmt: skip
        )
    ledger.entries[-1] |= {"action": "publish_release", "source": "api"}
    ledger.releases[0] |= {"publish_at": DUE + 3, "published_at": DUE + 3}
    ledger.article["publish_at"] = DUE + 3
    ledger.see(seen, (1, 1))
    assert ledger.kinds() == kinds


def test_a_release_without_all_of_its_members_is_found(ledger: Ledger) -> None:
    released(ledger, DUE)
    ledger.releases[0]["members"] = 2
    assert ledger.kinds() == [LOST]


def test_a_release_that_is_still_scheduled_is_lost(ledger: Ledger) -> None:
    released(ledger, DUE)
    ledger.entries = ledger.entries[:-2]
    ledger.notifications.pop()
    ledger.releases[0] |= {"status": "scheduled"}
    ledger.article |= {"publish_at": None, "status": 4}
    assert ledger.kinds() == [LOST]


@pytest.mark.parametrize(("count", "kind"), [(0, LOST), (2, TWICE)])
def test_each_publication_has_one_notification(ledger: Ledger, count: int, kind: str) -> None:
    ledger.notifications = [ledger.notification("approved"), *[ledger.notification("published")] * count]
    assert ledger.kinds() == [kind]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ({"status": 3}, LOST),
        ({"status": 0}, LOST),
        ({"executed_at": DUE - 0.001}, EARLY),
        ({"executed_at": DUE + 25}, LATE),
    ],
)
def test_a_task_that_went_wrong_is_found(ledger: Ledger, values: Row, kind: str) -> None:
    ledger.logs = [ledger.log(**values)]
    assert kind in ledger.kinds()


def test_an_article_whose_task_was_added_late_is_late(ledger: Ledger) -> None:
    at = DUE + 25
    ledger.logs = [ledger.log(promised_at=at, execute_time=at, executed_at=at)]
    ledger.published["at"] = at
    assert ledger.kinds() == [LATE]
    ledger.do(10, "move by SQL", {"publish_at": iso(DUE)})  # which adds none
    assert ledger.kinds() == []


@pytest.mark.parametrize("took_effect", [True, False])
def test_an_uncertain_move_in_sql_is_accepted_both_ways(ledger: Ledger, *, took_effect: bool) -> None:
    later = DUE + 3
    ledger.do(10, "move by SQL", {"publish_at": iso(later)}, status=None)
    if took_effect:
        ledger.logs = [ledger.log(execute_time=later, executed_at=later)]
        ledger.published["at"] = ledger.article["publish_at"] = later
    assert ledger.kinds() == []


def test_a_task_that_is_closed_and_pending_may_run_twice(ledger: Ledger) -> None:
    ledger.tasks = [{"task_id": 70, "task_type": "articles.publish", "key": "7", "execute_time": DUE}]
    assert ledger.kinds() == [TWICE]


@pytest.mark.parametrize(("other", "kinds"), [(None, [LATE]), (DUE - 30, [LATE]), (DUE - 15, [])])
def test_faults_of_redis_alone_excuse_seconds(ledger: Ledger, other: float | None, kinds: list[str]) -> None:
    ledger.logs = [ledger.log(executed_at=DUE + 6)]
    ledger.records.append(FaultRecord(began=DUE - 5, ended=DUE + 30, kind="Redis full"))
    if other is not None:
        ledger.records.append(FaultRecord(began=other - 1, ended=other, kind="MariaDB frozen"))
    assert ledger.kinds() == kinds


@pytest.mark.parametrize("kind", BOUNDS)
def test_each_fault_has_a_bound_for_what_is_done_after_it(ledger: Ledger, kind: str) -> None:
    bound, ended = BOUNDS[kind].stored, DUE if OF_REDIS.match(kind) else DUE + 1
    ledger.records.append(FaultRecord(began=DUE - 1, ended=ended, kind=kind))
    ledger.logs = [ledger.log(executed_at=ended + bound)]
    assert ledger.kinds() == []
    ledger.logs = [ledger.log(executed_at=ended + bound + 0.1)]
    assert ledger.kinds() == [LATE]


@pytest.mark.parametrize(("kind", "kinds"), [("worker killed", []), ("Redis killed", [LATE])])
def test_a_lease_excuses_side_effects_unless_redis_alone_failed(ledger: Ledger, kind: str, kinds: list[str]) -> None:
    ledger.records.append(FaultRecord(began=DUE - 1, ended=DUE, kind=kind))
    ledger.logs += [ledger.log(task_id=2, task_type="articles.mail_notice", executed_at=DUE + 31)]
    assert ledger.kinds() == kinds


def test_without_faults_a_burst_takes_as_long_as_it_may(ledger: Ledger) -> None:
    ledger.logs = [ledger.log(executed_at=DUE + 6)]
    assert ledger.kinds() == []


def test_lateness_has_the_fault_that_ended_last_as_its_cause(ledger: Ledger) -> None:
    ledger.logs = [ledger.log(executed_at=DUE + 40)]
    ledger.records += [
        FaultRecord(began=DUE - 5, ended=DUE + 38, kind="MariaDB frozen"),
        FaultRecord(began=DUE + 1, ended=DUE + 9, kind="Redis killed"),
        FaultRecord(began=DUE, ended=DUE + 39, kind="rows held", holds=[8]),
    ]
    verdict = ledger.check()
    assert [(late.cause, late.recovery) for late in verdict.lateness] == [("MariaDB frozen", 2.0)]
    assert verdict.violations == []


PROBE = Added(began=9, ended=9, task_id=99, task_type="probe.note", due=10.0)


@pytest.mark.parametrize(
    ("effects", "status", "kinds"),
    [([10.5], 1, []), ([], 1, [LOST]), ([10.5, 11], 1, [TWICE]), ([9.5], 1, [EARLY]), ([], 0, [LOST])],
)
def test_the_effect_of_a_task_happens_once_and_not_early(
    ledger: Ledger, effects: Sequence[float], status: int, kinds: list[str]
) -> None:
    ledger.records.append(PROBE)
    ledger.logs.append(
        ledger.log(task_id=99, task_type="probe.note", key=None, execute_time=10.0, executed_at=10.5, status=status)
    )
    ledger.effects = [{"task_id": 99, "at": at} for at in effects]
    assert ledger.kinds() == kinds


@pytest.mark.parametrize(
    ("times", "with_fault", "kinds"),
    [([21], False, []), ([], False, [LOST]), ([21, 22], False, [TWICE]), ([21, 52], True, [])],
)
def test_a_notification_is_mailed_once_or_more_often_only_while_there_are_faults(
    ledger: Ledger,
    times: Sequence[float],
    with_fault: bool,  # noqa: FBT001
    kinds: list[str],
) -> None:
    ledger.notifications[1] |= {"is_wanted_by_mail": True, "mailed_at": 21.1}
    ledger.records += [Mailed(began=at, ended=at, message="<0apublished@127.0.0.1>") for at in times]
    if with_fault:
        ledger.records.append(FaultRecord(began=21.05, ended=21.05, kind="worker killed"))
    assert ledger.kinds() == kinds


def test_a_mail_that_no_one_wants_is_unexplained(ledger: Ledger) -> None:
    ledger.records.append(Mailed(began=21, ended=21, message="<0b@127.0.0.1>"))
    assert ledger.kinds() == [UNEXPLAINED]


@pytest.mark.parametrize(
    ("at", "key", "kinds"),
    [
        (30.1, "article:7", []),
        (31, "site", []),
        (30.1, "article:8", [LOST]),
        (29, "site", [LOST]),
        (40, "site", [LOST]),
    ],
)
def test_a_change_is_purged_from_the_cdn_and_soon(ledger: Ledger, at: float, key: str, kinds: list[str]) -> None:
    unpublish(ledger, 30)
    ledger.records += [Purged(began=1, ended=1, keys=()), Purged(began=at, ended=at, keys=["news", key])]
    assert ledger.kinds() == kinds


def test_no_cache_may_show_an_article_early_that_was_embargoed_in_time(ledger: Ledger) -> None:
    ledger.do(DUE - 1, "set_embargo", {"until": iso(DUE + 5)})
    ledger.entry(DUE - 1, "set_embargo", 4, 4)
    ledger.published["at"] = ledger.logs[0]["executed_at"] = DUE + 5
    ledger.see(DUE + 0.1, (1, 1))
    assert ledger.kinds() == [EARLY]
