"""Whether the receiver of webhooks, the follower of the change feed, the events and the audit log say the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tests.chaos.history import Followed, Received, Record
from tests.chaos.timeline import Timeline
from tests.chaos.violations import EARLY, LOST, TWICE, UNEXPLAINED, ZOMBIE

Row = Mapping[str, Any]
Add = Callable[[str, str, str], None]
"""Notes a violation: its kind, its subject and a text."""

_NEWSROOM = {"article.scheduled", "article.unscheduled", "release.failed"}
_LEADS_TO = {
    "article.published": "live", "article.republished": "live", "article.updated": "live", "article.corrected": "live",
    "article.unpublished": "unpublished", "article.retracted": "retracted",
}  # fmt: skip
_OF_ENTRY = {
    "publish_now": "article.published", "published": "article.published", "republish": "article.republished",
    "updated": "article.updated", "publish_update": "article.updated", "unpublished": "article.unpublished",
    "unpublish": "article.unpublished", "released": "release.published", "publish_release": "release.published",
}  # fmt: skip
_LIVE = 9  # as readers see no update of what is not
_STALE = 5.0  # seconds from the preparation of a message to its arrival, without faults


class Agreement:
    """One comparison; use `run`."""

    def __init__(
        self,
        records: Sequence[Record],
        dump: Mapping[str, Sequence[Row]],
        add: Add,
        *,
        timelines: Mapping[int, Timeline],
        is_calm: Callable[[float, float], bool],
    ) -> None:
        """`timelines` are those of articles by their ids."""
        self._received = [one for one in records if isinstance(one, Received)]
        self._followed = [one for one in records if isinstance(one, Followed)]
        self._dump, self._add, self._timelines, self._is_calm = dump, add, timelines, is_calm
        self._events = sorted(dump.get("events", ()), key=lambda one: one["seq"] or 0)
        self.checked: Counter[str] = Counter()

    def run(self) -> Counter[str]:
        """Compare all; what was compared. Nothing without a receiver."""
        if self._received:
            self._check_numbers()
            self._check_audit_log()
            self._check_received()
            self._check_order()
            self._check_truth()
            self._check_end()
        return self.checked

    def _check_numbers(self) -> None:
        """Without gaps: who has read up to a number misses nothing."""
        numbers = [one["seq"] for one in self._events]
        self.checked["events"] = len(numbers)
        if None in numbers:
            self._add(LOST, "events", f"{numbers.count(None)} have no number")
        known = {number for number in numbers if number is not None}
        if known and len(known) != max(known) - min(known) + 1:
            self._add(LOST, "events", f"{max(known) - min(known) + 1 - len(known)} numbers are missing")

    def _check_audit_log(self) -> None:
        """Each entry about what readers see has its event; each article's events follow from one another."""
        entries = Counter(
            (kind, (one["release_id"] if kind.startswith("release.") else one["article_id"]) or 0)
            for one in self._dump["entries"]
            if (kind := _OF_ENTRY.get(one["action"])) and (kind != "article.updated" or one["old_status"] == _LIVE)
        )
        events = Counter((one["kind"].replace("corrected", "updated"), one["object_id"]) for one in self._events)
        for key, count in entries.items():
            if events[key] < count:
                self._add(LOST, f"{key[0]} {key[1]}", f"has {count} audit entries and {events[key]} events")
        before: dict[int, str] = {}
        for one in self._events:
            if after := _LEADS_TO.get(one["kind"]):
                if not _may_follow(before.get(one["object_id"]), one["kind"]):
                    self._add(TWICE, f"article {one['object_id']}", f"{one['kind']} ({one['seq']}), and was that")
                before[one["object_id"]] = after

    def _check_received(self) -> None:
        """At least once, and nothing else."""
        written = {f"evt_{one['seq']}": one for one in self._events if one["kind"] not in _NEWSROOM}
        delivered = Counter(one.message for one in self._received if one.message and one.status == 200)
        self.checked["webhooks"] = delivered.total()
        for message in written.keys() - delivered.keys():
            self._add(LOST, message, f"{written[message]['kind']} of {written[message]['object_id']} was not delivered")
        for message in delivered.keys() - written.keys():
            self._add(UNEXPLAINED, message, "was delivered and is not written")

    def _check_order(self) -> None:
        """The first arrivals of one object's events are in their order."""
        last: dict[tuple[str, int], int] = {}
        seen: set[str] = set()
        for one in self._arrived():
            if one.message in seen:
                continue
            seen.add(one.message)
            key, number = (one.kind.partition(".")[0], one.object), _number(one)
            if number < last.get(key, 0):
                self._add(UNEXPLAINED, one.message, f"of {key[0]} {key[1]} arrived after evt_{last[key]}")
            last[key] = max(number, last.get(key, 0))

    def _check_truth(self) -> None:
        """Nothing was received before readers could see it, and nothing that they had not seen for a while."""
        for one in self._received:
            timeline = self._timelines.get(one.object)
            if one.state != "live" or one.text is None or timeline is None:
                continue
            self.checked["texts received"] += 1
            if not timeline.may_have_shown(one.text, one.ended):
                self._add(EARLY, f"article {one.object}", f"{one.message} has text {one.text} at {one.ended:.3f}")
            elif self._is_calm(one.began - _STALE, one.ended) and not timeline.may_show(
                one.text, one.began - _STALE, one.ended
            ):
                self._add(ZOMBIE, f"article {one.object}", f"{one.message} has text {one.text} at {one.ended:.3f}")

    def _check_end(self) -> None:
        """All know the same of each article in the end: state, and text."""
        events = {one["object_id"]: (_LEADS_TO[one["kind"]], None) for one in self._events if one["kind"] in _LEADS_TO}
        received = {one.object: (one.state, one.text) for one in sorted(self._arrived(), key=_number) if one.state}
        followed: dict[int, tuple[str, int | None]] = {}
        for page in self._followed:
            followed |= {pk: ("live", text) for pk, text in page.live}
            followed |= {pk: (kind, None) for pk, kind in page.gone}
        texts = {one["id"]: one["text"] for one in self._dump["articles"]}
        self.checked["articles received and followed"] = len(followed.keys() & received.keys())
        for pk in events.keys() | received.keys() | followed.keys():
            knows = [source.get(pk, ("nothing", None)) for source in (events, received, followed)]
            states, last = {state for state, _text in knows}, [text for state, text in knows[1:] if state == "live"]
            if len(states) > 1 or any(text != texts.get(pk) for text in last):
                text = f"event, webhook and feed say {knows}, text {texts.get(pk)} is stored"
                self._add(LOST, f"article {pk}", text)

    def _arrived(self) -> Iterable[Received]:
        return (one for one in self._received if one.message.startswith("evt_") and one.status == 200)


def _may_follow(before: str | None, kind: str) -> bool:
    if kind == "article.published":
        return before != "live"
    if kind == "article.republished":
        return before in ("unpublished", "retracted")
    if kind == "article.retracted":
        return before != "retracted"
    return before == "live"


def _number(one: Received) -> int:
    return int(one.message.removeprefix("evt_"))
