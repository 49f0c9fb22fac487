"""Accounts for everything in the history of a proof, and finds what was lost, twice, early, a zombie or unexplained.

It reads only the history and the dump of the database at the end. An operation that was acknowledged must have exactly
one effect, one that was refused none, and an uncertain one either. What the workers do must follow from the times that
the operations have set, and each page must show what was true at some instant between its request and its response,
or what caches may show after a change.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tests.chaos.agreement import Agreement
from tests.chaos.bounds import LEASES, OF_REDIS, PURGE, bound_of
from tests.chaos.history import Added, FaultRecord, Mailed, Operation, Purged, Record, Sight, operations
from tests.chaos.marks import MARK
from tests.chaos.timeline import FOREVER, Segment, State, Timeline, after, seconds
from tests.chaos.violations import EARLY, LATE, LOST, TWICE, UNEXPLAINED, ZOMBIE

TOLERANCE = 0.002  # seconds
STALE = 1.5  # seconds for which caches may show what was changed: docs/cache.md
STALE_AFTER_FAULT = 6.0  # seconds after a fault for which they may show what was removed from the site
STALE_TTL = 65.0  # seconds for which they may show anything
UNREST = 20.0  # seconds after a fault in which other overdue tasks may come first
ON_TIME = 1.0  # seconds of lateness that need no cause

_UNRECORDED = {"move by SQL", "store"}
"""Operations without an audit entry."""
_REMOVALS = {"unpublish", "retract"}
_SYSTEM = {"published", "unpublished", "updated"}
_NOTIFIED = {
    "approve": "approved", "publish_now": "published", "publish_update": "published", "published": "published",
    "updated": "published",
}  # fmt: skip
_SCHEDULED, _EXECUTED, _CANCELLED, _FAILED = range(4)
_LIVE, _WAITING = 9, (4, 8)
_OF_ENTRY = {"articles.publish": "published", "articles.unpublish": "unpublished", "articles.update": "updated"}

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Violation:
    """Something that must not happen."""

    kind: str
    subject: str
    text: str


@dataclass(frozen=True)
class Late:
    """Something that was done late, what was on at that time, and how long after the end of it."""

    subject: str
    due: float
    at: float
    cause: str
    recovery: float

    def __str__(self) -> str:
        return f"{self.at - self.due:.1f} s late, {self.recovery:.1f} s after {self.cause or 'nothing'}"


@dataclass
class Verdict:
    """The result: what was accounted for, the violations, and the lateness of everything that became due."""

    checked: Counter[str] = field(default_factory=Counter)
    violations: list[Violation] = field(default_factory=list)
    lateness: list[Late] = field(default_factory=list)

    def count(self, kind: str) -> int:
        """The number of violations of a kind."""
        return sum(violation.kind == kind for violation in self.violations)

    def add(self, kind: str, subject: str, text: str) -> None:
        """Note a violation."""
        self.violations.append(Violation(kind, subject, text))


@dataclass
class Story:
    """What is known about one story."""

    number: int
    operations: list[Operation] = field(default_factory=list)
    article: Row | None = None
    entries: list[Row] = field(default_factory=list)

    def __str__(self) -> str:
        return f"story {self.number}"


@dataclass(frozen=True)
class Event:
    """An effect on a story: an operation with its audit entry, or what the system did."""

    at: float
    entry: Row | None
    operation: Operation | None


def check(
    records: Sequence[Record], dump: Mapping[str, Sequence[Row]], settled_at: float, *, latest: float | None = None
) -> Verdict:
    """Account for everything that was due before `settled_at`, when the workers had nothing left to do.

    `latest` is how many seconds after all faults everything must be done, instead of the bounds of each kind.
    """
    return Checker(records, dump, settled_at, latest).run()


class Checker:
    """One check; use `check`."""

    def __init__(
        self,
        records: Sequence[Record],
        dump: Mapping[str, Sequence[Row]],
        settled_at: float,
        latest: float | None = None,
    ) -> None:
        self.dump = dump
        self.latest = latest
        self.settled_at = settled_at
        self.verdict = Verdict()
        self.records = records
        self.faults = sorted((one for one in records if isinstance(one, FaultRecord)), key=lambda one: one.began)
        self.stories: dict[int, Story] = {}
        self.timelines: dict[int, Timeline] = {}
        self.releases: defaultdict[str, list[Operation]] = defaultdict(list)
        self.story_of: dict[int, int] = {}  # by the article's id
        self.purges = [one for one in records if isinstance(one, Purged)]

    def run(self) -> Verdict:
        """Check all."""
        self._gather()
        for story in self.stories.values():
            self.verdict.checked["articles"] += 1
            events = self._match(story)
            self._follow(story, events)
        self._check_releases()
        self._check_notifications()
        self._check_mails()
        self._check_tasks()
        self._check_probes()
        self._check_sights()
        self._check_received()
        return self.verdict

    # What belongs together

    def _gather(self) -> None:
        for operation in operations(self.records):
            self.verdict.checked["requests"] += 1
            for number in operation.stories:
                self._story(number).operations.append(operation)
            if operation.release:
                self.releases[operation.release].append(operation)
        for article in self.dump["articles"]:
            marked = _number(article["title"])
            if marked is None:
                continue
            story = self._story(marked)
            if story.article is not None:
                self.verdict.add(TWICE, str(story), f"is stored as articles {story.article['id']} and {article['id']}")
            story.article = article
            self.story_of[article["id"]] = marked
        for entry in self.dump["entries"]:
            known = self.story_of.get(entry["article_id"] or 0) or _number(entry["article_title"])
            self.verdict.checked["audit entries"] += 1
            if known:
                self._story(known).entries.append(entry)

    def _story(self, number: int) -> Story:
        return self.stories.setdefault(number, Story(number))

    def _match(self, story: Story) -> list[Event]:
        """Each effect with its operation; each acknowledged operation must have one, and no effect may have none."""
        left = [entry for entry in story.entries if not (entry["source"] == "worker" and entry["action"] in _SYSTEM)]
        events = [Event(entry["at"], entry, None) for entry in story.entries if entry not in left]
        for operation in story.operations:
            self.verdict.checked["uncertain requests"] += operation.ended == FOREVER
            if operation.name in _UNRECORDED:
                if operation.is_done or _has_moved(story, operation):
                    events.append(Event(operation.began, None, operation))
                continue
            found = [entry for entry in left if _fits(entry, operation)]
            if len(found) > 1:
                self.verdict.add(TWICE, str(story), f"{_name(operation)} has {len(found)} audit entries")
            elif operation.is_done and not found:
                self.verdict.add(LOST, str(story), f"{_name(operation)} was acknowledged and has no audit entry")
            if operation.is_refused and found:
                self.verdict.add(UNEXPLAINED, str(story), f"{_name(operation)} was refused and has an audit entry")
            left = [entry for entry in left if entry not in found]
            events += [Event(entry["at"], entry, operation) for entry in found[:1]]
        for entry in left:
            if entry["release_id"] and entry["action"] in _SYSTEM:
                events.append(Event(entry["at"], entry, None))  # of an editor who published a release at once
            else:
                self.verdict.add(
                    UNEXPLAINED, str(story), f"audit entry {entry['id']} ({entry['action']}) has no request"
                )
        return sorted(events, key=lambda event: (event.at, event.entry["id"] if event.entry else 0))

    # One story from its beginning to its end

    def _follow(self, story: Story, events: Sequence[Event]) -> None:
        state, begin, spans, segments = State(), float("-inf"), State().spans(), []
        for event in events:
            before, state = state, self._after(story, state, event)
            if _changes_pages(event):
                low, high = self._span_of(event)
                stale = self._stale_until(event, high)
                segments.append(Segment(begin, high, stale, spans))
                begin, spans = low, state.spans()
                if self.purges and event.entry and _is_seen(before, state, event.entry["at"]):
                    self._check_purge(story, event.entry, stale)
        segments.append(Segment(begin, FOREVER, FOREVER, spans))
        self.timelines[story.number] = Timeline(segments)
        self._check_end(story, state, bool(events))

    def _check_purge(self, story: Story, entry: Row, until: float) -> None:
        """The CDN got a purge after a change, and in time."""
        self.verdict.checked["purges"] += 1
        keys, since = {"site", f"article:{entry['article_id']}"}, entry["at"] - TOLERANCE
        if kinds := self._kinds_about(entry["at"], entry["at"]):
            waits = LEASES[PURGE] if _is_of_redis_alone(kinds) else UNREST + LEASES[PURGE]
            until = max(until, entry["at"] + bound_of(kinds, PURGE) + waits)
        if not any(since <= one.began <= until and not keys.isdisjoint(one.keys) for one in self.purges):
            text = f"was purged from no CDN after {entry['action']} at {entry['at']:.3f}"
            self.verdict.add(LOST, str(story), text)

    def _span_of(self, event: Event) -> tuple[float, float]:
        if event.operation is not None:
            return event.operation.began, event.operation.ended
        assert event.entry is not None
        row = next((one for one in self.dump["releases"] if one["id"] == event.entry["release_id"]), None)
        due = row["publish_at"] if row else event.entry["new_time"]  # readers see it by the clock, before it is stored
        return min(event.at, due or event.at), self._quiet_after(event.at + STALE, 0.0)

    def _after(self, story: Story, state: State, event: Event) -> State:
        if event.operation is None:
            assert event.entry is not None
            return self._after_system(story, state, event.entry)
        if event.entry is not None and event.entry["old_status"] == _LIVE and not state.is_stamped:
            state = replace(state, is_stamped=True)  # live by the clock, and stored as that with this change
        name, values = event.operation.name, event.operation.values
        if name == "approve" and "pending_update" in event.operation.answer:
            pending = event.operation.answer["pending_update"] or {}
            values = {**values, "waits": bool(pending.get("approved"))}  # it does if the article is live
        at = event.at
        if name == "joined_release" and event.entry is not None and event.entry["new_time"] is None:
            at = event.operation.began  # it may have gone live between that decision and its record
        found = after(state, name, values, at)
        if name in ("publish_now", "republish") and event.entry is not None:
            return replace(found, publish_at=_dated(story, event.entry["new_time"], event.operation.ended))
        return found

    def _after_system(self, story: Story, state: State, entry: Row) -> State:
        """Check an effect of the workers, or of a release."""
        if entry["release_id"]:
            return self._after_release(story, state, entry)
        action = entry["action"]
        due = _due_of(state, action)
        if due is None:
            repeated = action == "published" and state.is_stamped and state.is_shown
            self.verdict.add(TWICE if repeated else UNEXPLAINED, str(story), f"was {action} without a reason")
        elif entry["at"] < due - TOLERANCE:
            self.verdict.add(EARLY, str(story), f"was {action} {due - entry['at']:.3f} s early")
        else:
            self._check_prompt(story, action, due, entry)
        if action == "published":
            return replace(state, is_stamped=True)
        if action == "unpublished":
            return replace(state, is_shown=False, is_stamped=True)
        return state.updated()

    def _check_prompt(self, story: Story, action: str, due: float, entry: Row) -> None:
        """The system did it soon, even if its task was added too late; what was moved in SQL may wait for refresh."""
        before = [one for one in story.operations if one.began <= entry["at"]]
        asked = max((one.ended for one in before), default=due)
        if any(one.name == "move by SQL" for one in before):
            return
        late = self._lateness(str(story), max(due, asked), entry["at"], entry["article_id"])
        if self._is_too_late(late):
            self.verdict.add(LATE, str(story), f"was {action} {late}")

    def _after_release(self, story: Story, state: State, entry: Row) -> State:
        times = self._times_of(entry["release_id"])
        if not any(moment <= entry["at"] + TOLERANCE for moment in times):
            self.verdict.add(EARLY if times else UNEXPLAINED, str(story), "was released before its release was due")
        if not state.is_shown:
            self.verdict.add(UNEXPLAINED, str(story), "was released though it may not be shown")
        if entry["action"] == "updated":
            return state.updated()
        row = next((row for row in self.dump["releases"] if row["id"] == entry["release_id"]), None)
        until = row["published_at"] if row and row["published_at"] else entry["new_time"]
        dated = _dated(story, entry["new_time"], until)
        # The process that published it died after the commit, so a worker dated it, after the repetition was answered.
        answered = [one.ended for one in self.releases[row["name"]] if one.name == "publish_release"] if row else []
        late = (dated, entry["new_time"]) if any(ended < dated for ended in answered) else None
        return replace(state, is_shown=True, is_stamped=True, publish_at=dated, late_date=late)

    def _check_end(self, story: Story, state: State, exists: bool) -> None:
        """Compare the stored article with what the operations lead to."""
        article = story.article
        if article is None:
            if exists:
                self.verdict.add(LOST, str(story), "is not stored any more")
            return
        if not exists:
            self.verdict.add(UNEXPLAINED, str(story), "is stored and has no audit entry")
            return
        for action in _OF_ENTRY.values():
            due = _due_of(state, action)
            if due is not None and due <= self.settled_at:
                self.verdict.add(LOST, str(story), f"was not {action} though it was due at {due:.3f}")
                return
        for name, wanted in _columns(state).items():
            if not _same(article[name], wanted):
                text = f"its {name} is {article[name]!r} instead of {wanted!r}"
                self.verdict.add(LOST if self._is_certain(story) else UNEXPLAINED, str(story), text)

    def _is_certain(self, story: Story) -> bool:
        return all(operation.ended < FOREVER for operation in story.operations)

    # Releases, notifications, tasks

    def _times_of(self, release: Any) -> list[float]:
        """The times for which a release was scheduled, or published at once, by requests that may have succeeded."""
        name = next((row["name"] for row in self.dump["releases"] if row["id"] == release), "")
        wanted = [one for one in self.releases[name] if not one.is_refused]
        times = [seconds(one.values["publish_at"]) or 0.0 for one in wanted if one.name == "schedule_release"]
        return times + [one.began for one in wanted if one.name == "publish_release"]

    def _check_releases(self) -> None:
        by_name: defaultdict[str, list[Row]] = defaultdict(list)
        for row in self.dump["releases"]:
            by_name[row["name"]].append(row)
        entries: Counter[tuple[int, str]] = Counter()
        for entry in self.dump["entries"]:
            if entry["release_id"]:
                entries[entry["release_id"], entry["action"]] += 1
        for name, done in self.releases.items():
            self.verdict.checked["releases"] += 1
            self._check_release(f"release {name}", done, by_name[name], entries)

    def _check_release(
        self, subject: str, done: Sequence[Operation], rows: Sequence[Row], entries: Counter[tuple[int, str]]
    ) -> None:
        if len(rows) > 1:
            return self.verdict.add(TWICE, subject, f"is stored {len(rows)} times")
        if not rows:
            if any(one.is_done for one in done):
                self.verdict.add(LOST, subject, "was acknowledged and is not stored")
            return None
        row = rows[0]
        for name in ("create_release", "schedule_release", "cancel_release", "publish_release"):
            sure = sum(one.is_done for one in done if one.name == name)
            perhaps = sum(not one.is_refused for one in done if one.name == name)
            found = entries[row["id"], name]
            if found < sure:
                self.verdict.add(LOST, subject, f"{name} was acknowledged {sure} times and has {found} audit entries")
            elif found > perhaps:
                self.verdict.add(TWICE, subject, f"{name} was asked for {perhaps} times and has {found} audit entries")
        members, published = row["members"], sum(entries[row["id"], action] for action in _SYSTEM)
        is_out = row["status"] == "published"
        if published != (members if is_out else 0):
            kind = TWICE if published > members else LOST
            self.verdict.add(kind, subject, f"is {row['status']} with {published} of {members} members published")
        if is_out and entries[row["id"], "released"] + entries[row["id"], "publish_release"] != 1:
            self.verdict.add(TWICE, subject, "was published more than once")
        if row["status"] == "scheduled" and row["publish_at"] <= self.settled_at:
            self.verdict.add(LOST, subject, "was not published though it was due")
        if row["status"] == "failed" and not self._has_blocked_member(done, row):
            self.verdict.add(LOST, subject, "failed though nothing is wrong with its members")
        if is_out and row["publish_at"] and entries[row["id"], "released"]:
            self._note_lateness(subject, row["publish_at"], row["published_at"], self._asked(done))
        return None

    def _has_blocked_member(self, done: Iterable[Operation], row: Row) -> bool:
        """Whether an operation may have kept a member from being published."""
        failed = (one for one in self.dump["entries"] if one["release_id"] == row["id"])
        moment = max((one["at"] for one in failed if one["action"] == "release_failed"), default=FOREVER)
        members = [self.stories[number] for number in {number for one in done for number in one.stories}]
        blocking = (one for story in members for one in story.operations if not one.is_refused)
        return any(_has_draft(story, moment) for story in members) or any(
            one.name in ("retract", "set_embargo") or "unpublish_at" in one.values for one in blocking
        )

    def _asked(self, done: Iterable[Operation]) -> float:
        return max((one.ended for one in done if one.name == "schedule_release" and one.is_done), default=0.0)

    def _check_notifications(self) -> None:
        wanted: Counter[tuple[int, str]] = Counter()
        for entry in self.dump["entries"]:
            if entry["action"] in _NOTIFIED and entry["article_id"] in self.story_of:
                wanted[entry["article_id"], _NOTIFIED[entry["action"]]] += 1
        found: Counter[tuple[int, str]] = Counter()
        for row in self.dump["notifications"]:
            self.verdict.checked["notifications"] += 1
            if row["is_author"] and row["article_id"] and row["kind"] in _NOTIFIED.values():
                found[row["article_id"], row["kind"]] += 1
        for key in wanted.keys() | found.keys():
            article, kind = key
            if found[key] != wanted[key]:
                text = f"its author has {found[key]} notifications “{kind}” instead of {wanted[key]}"
                story = f"story {self.story_of.get(article, '?')}"
                self.verdict.add(LOST if found[key] < wanted[key] else TWICE, story, text)

    def _check_mails(self) -> None:
        """Each notification that is wanted by mail is mailed once; while there are faults, at least once."""
        sent: defaultdict[str, list[float]] = defaultdict(list)
        for record in self.records:
            if isinstance(record, Mailed):
                self.verdict.checked["mails"] += 1
                sent[_notification_of(record.message)].append(record.began)
        for row in self.dump["notifications"]:
            if not row["is_wanted_by_mail"]:
                continue
            found, subject = sent.pop(row["id"].replace("-", ""), []), f"mail “{row['kind']}” of {row['article_id']}"
            if not found:
                self.verdict.add(LOST, subject, "was not sent")
            elif row["mailed_at"] is None:
                self.verdict.add(LOST, subject, "was sent, and nothing says so")
            if len(found) > 1 and self._is_calm(found[0], found[-1]):
                self.verdict.add(TWICE, subject, f"was sent {len(found)} times")
        for message in sent:
            self.verdict.add(UNEXPLAINED, f"mail {message}", "has no notification that is wanted by mail")

    def _is_calm(self, began: float, ended: float) -> bool:
        """Whether no fault was on, nor shortly before: a poisoned burst kills workers for a while."""
        return not self._kinds_about(began, ended)

    def _check_tasks(self) -> None:
        pending = {row["task_id"]: row for row in self.dump["tasks"]}
        executed: Counter[tuple[str, str]] = Counter()
        for row in self.dump["logs"]:
            self.verdict.checked["task logs"] += 1
            subject = f"task {row['task_type']} {row['key'] or row['task_id']}"
            self._check_log(subject, row, pending.pop(row["task_id"], None))
            if row["status"] == _EXECUTED:
                executed[row["task_type"], str(row["key"])] += 1
                due = max(row["execute_time"], row["promised_at"])
                self._note_lateness(subject, due, row["executed_at"], due, row)
        for task_id in pending:
            self.verdict.add(UNEXPLAINED, f"task {task_id}", "is pending without a record")
        self._compare_with_entries(executed)

    def _check_log(self, subject: str, row: Row, pending: Row | None) -> None:
        if row["status"] == _EXECUTED and row["executed_at"] < row["execute_time"]:
            self.verdict.add(EARLY, subject, f"ran {row['execute_time'] - row['executed_at']:.3f} s early")
        if row["status"] == _FAILED and not row["task_type"].startswith("probe."):
            self.verdict.add(LOST, subject, "is dead")
        if row["status"] == _SCHEDULED and pending is None:
            self.verdict.add(LOST, subject, "is open and not pending")
        elif row["status"] == _SCHEDULED and row["execute_time"] <= self.settled_at:
            self.verdict.add(LOST, subject, "has not run though it was due")
        elif row["status"] != _SCHEDULED and pending is not None:
            self.verdict.add(TWICE, subject, "is closed and still pending")

    def _compare_with_entries(self, executed: Counter[tuple[str, str]]) -> None:
        """Each executed task has one audit entry, and the other way round."""
        recorded: Counter[tuple[str, str]] = Counter()
        for entry in self.dump["entries"]:
            if entry["source"] == "worker" and not entry["release_id"]:
                recorded[entry["action"], str(entry["article_id"])] += 1
        for task_type, action in _OF_ENTRY.items():
            keys = {key for kind, key in executed if kind == task_type} | {
                key for kind, key in recorded if kind == action
            }
            for key in keys:
                ran, noted = executed[task_type, key], recorded[action, key]
                if ran != noted:
                    text = f"ran {ran} times, and the audit log has {noted} entries"
                    self.verdict.add(LOST if noted < ran else TWICE, f"task {task_type} {key}", text)

    def _check_probes(self) -> None:
        """The tasks of the tests: one effect each, or none if they are to end failed."""
        logs = {row["task_id"]: row for row in self.dump["logs"]}
        effects: defaultdict[int, list[float]] = defaultdict(list)
        for row in self.dump["effects"]:
            effects[row["task_id"]].append(row["at"])
        for added in self.records:
            if not isinstance(added, Added):
                continue
            self.verdict.checked["side effects"] += 1
            subject, log, found = (
                f"task {added.task_type} {added.task_id}",
                logs.get(added.task_id),
                effects[added.task_id],
            )
            wanted = _FAILED if added.must_fail else _EXECUTED
            if log is None or log["status"] != wanted:
                self.verdict.add(LOST, subject, f"has status {log and log['status']} instead of {wanted}")
            if len(found) > (not added.must_fail):
                self.verdict.add(TWICE, subject, f"had {len(found)} effects")
            elif len(found) < (not added.must_fail):
                self.verdict.add(LOST, subject, "had no effect")
            if any(at < added.due - TOLERANCE for at in found):
                self.verdict.add(EARLY, subject, "had its effect early")

    # What readers saw

    def _check_sights(self) -> None:
        for sight in self.records:
            if isinstance(sight, Sight) and sight.status < 500:
                self.verdict.checked["sights"] += 1
                self._check_sight(sight)

    def _check_sight(self, sight: Sight) -> None:
        for number, text in sight.texts:
            timeline = self.timelines.get(number)
            if timeline is None:
                self.verdict.add(UNEXPLAINED, f"story {number}", f"is shown on {sight.address} and does not exist")
            elif not timeline.may_show(text, sight.began, sight.ended):
                kind = ZOMBIE if timeline.may_have_shown(text, sight.ended) else EARLY
                self.verdict.add(kind, f"story {number}", f"text {text} on {sight.address} at {sight.began:.3f}")
        if sight.story is None or any(number == sight.story for number, _text in sight.texts):
            return
        timeline = self.timelines.get(sight.story)
        if timeline is not None and not timeline.may_be_missing(sight.began, sight.ended):
            missing = f"is not on its page {sight.address} at {sight.began:.3f} ({sight.status})"
            self.verdict.add(LOST, f"story {sight.story}", missing)

    # What programs received

    def _check_received(self) -> None:
        timelines = {pk: self.timelines[story] for pk, story in self.story_of.items() if story in self.timelines}
        agreement = Agreement(
            self.records, self.dump, self.verdict.add, timelines=timelines, is_calm=self._is_calm
        )  # fmt: skip
        self.verdict.checked += agreement.run()

    # Faults and lateness

    def _stale_until(self, event: Event, high: float) -> float:
        """Until when caches may show what an operation has changed."""
        assert event.operation is not None or event.entry is not None
        began = event.operation.began if event.operation else event.at
        if not any(fault.began <= high + STALE and fault.ended >= began - STALE for fault in self.faults):
            return high + STALE
        if event.operation and event.operation.name in _REMOVALS:
            return min(self._quiet_after(high + STALE, STALE_AFTER_FAULT), high + STALE_TTL)
        return high + STALE_TTL

    def _quiet_after(self, moment: float, pause: float) -> float:
        """The first instant from `moment` on at which no fault has been on for a while."""
        for fault in self.faults:
            if fault.began <= moment <= fault.ended + pause:
                moment = fault.ended + pause
        return moment

    def _note_lateness(self, subject: str, due: float, at: float, asked: float, task: Row | None = None) -> None:
        self.verdict.checked["due"] += 1
        late = self._lateness(
            subject, max(due, asked), at, int(task["key"]) if task and task["task_type"] in _OF_ENTRY else None
        )
        self.verdict.lateness.append(late)
        if self._is_too_late(late, task["task_type"] if task else ""):
            self.verdict.add(LATE, subject, str(late))

    def _is_too_late(self, late: Late, task_type: str = "") -> bool:
        """Whether it exceeds the bound of the faults that were on, or shortly before; see `tests.chaos.bounds`."""
        kinds = self._kinds_about(late.due, late.at)
        bound = bound_of(kinds, task_type) if self.latest is None else self.latest
        # Workers take tasks from the database. A purge is sent, and ends once Redis' copies are invalidated, too.
        if task_type != PURGE and _is_of_redis_alone(kinds):
            return late.at - late.due > bound
        return late.recovery > bound + (LEASES.get(task_type, 0.0) if kinds else 0.0)

    def _kinds_about(self, began: float, ended: float) -> set[str]:
        """The kinds of the faults that were on, or shortly before."""
        return {one.kind for one in self.faults if one.began <= ended and one.ended >= began - UNREST}

    def _lateness(self, subject: str, due: float, at: float, article: int | None) -> Late:
        cause = self._cause(due, at, article)
        ended = min(cause.ended, at) if cause else due
        return Late(subject, due, at, cause.kind if cause else "", at - max(ended, due))

    def _cause(self, due: float, at: float, article: int | None) -> FaultRecord | None:
        """The fault that ended last among those that were on since the due time; none if it was on time."""
        if at - due < ON_TIME:
            return None
        on = [
            fault
            for fault in self.faults
            if fault.began <= at and fault.ended >= due - ON_TIME and (fault.holds is None or article in fault.holds)
        ]
        return max(on, key=lambda fault: fault.ended, default=None)


def _changes_pages(event: Event) -> bool:
    """Whether its spans alone do not say it: of what the workers store, publications and ends do."""
    return event.operation is not None or bool(
        event.entry and (event.entry["release_id"] or event.entry["action"] == "updated")
    )


def _is_seen(before: State, state: State, at: float) -> bool:
    """Whether readers see a change from one state to the other at this time."""
    moment = at + TOLERANCE
    return before.spans() != state.spans() and (before.is_live(moment) or state.is_live(moment))


def _is_of_redis_alone(kinds: Collection[str]) -> bool:
    return bool(kinds) and all(map(OF_REDIS.match, kinds))


def _notification_of(message: str) -> str:
    """The id of the notification that a Message-ID names."""
    return message.strip("<>").partition("@")[0].replace("-", "")


def _number(title: str) -> int | None:
    found = MARK.search(title or "")
    return int(found[1]) if found else None


def _fits(entry: Row, operation: Operation) -> bool:
    is_in_time = operation.began - TOLERANCE <= entry["at"] <= operation.ended + TOLERANCE
    return is_in_time and bool(entry["action"] == operation.name and entry["source"] == "api")


def _name(operation: Operation) -> str:
    return f"{operation.name} at {operation.began:.3f}"


def _due_of(state: State, action: str) -> float | None:
    """When the workers have to do this, if nothing else happens."""
    begin, end = state.goes_live_at, state.unpublish_at
    if action == "updated":
        return state.update_at if state.update is not None else None
    if not state.is_shown or begin is None:
        return None
    if action == "published":
        return None if state.is_stamped else begin
    return end


def _columns(state: State) -> dict[str, Any]:
    """What the article's row must contain."""
    return {"text": state.text, "is_shown": state.is_shown, "publish_at": state.publish_at, "update": state.update}


def _has_draft(story: Story, moment: float) -> bool:
    """Whether an update may be unapproved at this time: no release publishes that of a live member."""
    earlier = [one for one in story.operations if one.began < moment]
    drafts = [one.began for one in earlier if one.name == "edit" and "text" in one.values and one.is_done]
    approvals = [one.began for one in earlier if one.name == "approve" and not one.is_refused]
    return bool(drafts and approvals) and max(drafts) > max(approvals)


def _has_moved(story: Story, operation: Operation) -> bool:
    """Whether an uncertain move in SQL took effect: it has no audit entry, but was the last that its editor did."""
    moved = story.article is not None and _same(story.article["publish_at"], seconds(operation.values["publish_at"]))
    return moved and not operation.is_refused


def _dated(story: Story, recorded: float, until: float) -> float:
    """The time of what went live at once: that of its commit, while the audit entry has that of the transaction."""
    stored = story.article["publish_at"] if story.article else None
    return stored if stored is not None and recorded <= stored <= until + TOLERANCE else recorded


def _same(found: Any, wanted: Any) -> bool:
    if isinstance(found, float) and isinstance(wanted, float):
        return abs(found - wanted) < TOLERANCE
    return bool(found == wanted)


def iterate_late(verdict: Verdict) -> Iterator[Late]:
    """What was late, worst first."""
    late = (one for one in verdict.lateness if one.at - one.due >= ON_TIME)
    return iter(sorted(late, key=lambda one: one.due - one.at))
