"""Simulated editors, who work through the REST API and record each request."""

from __future__ import annotations

import json
import random
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from http.client import HTTPConnection, HTTPException
from typing import Any

import MySQLdb

from tests.chaos.faults import connect
from tests.chaos.history import History, Request, now
from tests.harness import Stand

TIMEOUT = 9.0  # seconds for a response
ATTEMPTS = 4  # of one operation
PAUSE = 0.4  # seconds before another attempt
GIVES_UP = 0.05  # of the requests, whose response the editor does not wait for
CHANGES_PLAN = 0.6  # of the schedules that are changed at once
FAR = 6.0  # seconds ahead at most for which something is scheduled
REMEMBERED = ("id", "status", "publish_at", "revision", "pending_update", "slug", "rescheduled", "code", "members")
AUTHORS = ("author", "subscriber")  #: the second one wants notifications by mail

Body = Mapping[str, Any]


@dataclass(eq=False)
class Story:
    """An article as its editor knows it."""

    number: int
    article: int = 0
    text: int = 1
    status: int = 0
    revision: int = 1
    publish_at: str | None = None
    has_draft: bool = False
    draft_status: int = 0
    draft_revision: int = 0
    has_update: bool = False
    slug: str = ""
    is_held: bool = False  #: a member of a release
    author: str = "author"

    def learn(self, answer: Mapping[str, Any]) -> None:
        """Read a response of the API."""
        self.article, self.status, self.revision = answer["id"], answer["status"], answer["revision"]
        self.publish_at, self.slug = answer["publish_at"], answer["slug"]
        update = answer["pending_update"] or {}
        draft = update.get("draft") or {}
        self.has_draft, self.has_update = bool(draft), bool(update.get("approved"))
        self.draft_status, self.draft_revision = update.get("status", 0), draft.get("number", 0)


@dataclass
class Newsroom:
    """What editors and readers share: the stories, and the numbers of stories and operations."""

    history: History
    port: int
    tokens: Mapping[str, str]
    stand: Stand
    stories: list[Story] = field(default_factory=list)
    zone: tzinfo = UTC  #: in which editors write times
    stock: Sequence[Story] = ()  #: articles that were there before the editors, in the order of their times
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _numbers: int = 0

    def number(self, count: int = 1) -> int:
        """Another number, or the first of several."""
        with self._lock:
            first, self._numbers = self._numbers + 1, self._numbers + count
            return first

    def store(self, count: int, seconds: float) -> float:
        """Store articles that become due during these seconds, from the returned time on."""
        began, first = now(), self.number(count)
        wanted = {"first": first, "count": count, "seconds": seconds}
        stored = self.stand.run("tests.chaos.stock", json.dumps(wanted))
        stories = []
        for number, (article, due) in enumerate(stored["articles"], first):
            stories.append(Story(number, article, status=4, publish_at=iso(due), slug="stored"))
            self.history.add(
                Request(
                    began=began, ended=now(), number=number, operation="store", stories=[number],
                    values={"publish_at": iso(due)}, status=201,
                )
            )  # fmt: skip
        self.stock = sorted(stories, key=lambda story: story.publish_at or "")
        return float(stored["begin"])


def iso(moment: float, zone: tzinfo = UTC) -> str:
    """In ISO 8601."""
    return datetime.fromtimestamp(moment, zone).isoformat()


class Uncertain(Exception):
    """No attempt was answered; the article is left alone from now on."""


class Refused(Exception):
    """The API refused the operation."""


class Editor:
    """Works on stories of its own, one request after the other, until told to stop."""

    def __init__(self, newsroom: Newsroom, seed: int, *, pause: float) -> None:
        self.newsroom = newsroom
        self.random = random.Random(seed)
        self.stories: list[Story] = []
        self.stock: list[Story] = []  #: stored articles, of which other editors have none
        self.releases: list[tuple[float, list[Story]]] = []
        self._pause = pause

    def work(self, stopping: threading.Event) -> None:
        """Work until the event is set."""
        while not stopping.wait(self.random.uniform(0, 2 * self._pause)):
            with suppress(Refused, Uncertain):
                self._act()

    def _act(self) -> None:
        self._leave_releases()
        if self.stock and self.random.random() < 0.2:
            return self._replan()
        free = [story for story in self.stories if not story.is_held]
        if len(free) < 7 or self.random.random() < 0.12:
            self.create()
            return None
        if self.random.random() < 0.05:
            return self._release([story for story in free if story.status in (4, 8)])
        if self.random.random() < 0.06:
            return self._reschedule([story for story in free if story.status in (4, 8) and story.publish_at])
        story = self.random.choice(free)
        try:
            self.random.choice(_possible(story))(self, story)
        except Uncertain:
            self._retire(story)
            raise
        return None

    def _replan(self) -> None:
        """Change the time of a stored article, remove it, or publish the article at once."""
        story = self.stock.pop(self.random.randrange(len(self.stock)))
        self.random.choice((Editor.schedule, Editor.unschedule, Editor.publish))(self, story)
        self.stock.append(story)  # unless it was refused or is uncertain

    def _retire(self, *stories: Story) -> None:
        for story in stories:
            if story in self.stories:
                self.stories.remove(story)

    def moment(self, least: float = 0.3) -> str:
        """A time soon."""
        return self._iso(now() + self.random.uniform(least, FAR))

    def _iso(self, moment: float) -> str:
        return iso(moment, self.newsroom.zone)

    # Operations

    def create(self) -> Story:
        """Write an article."""
        story = Story(self.newsroom.number())
        story.author = AUTHORS[story.number % len(AUTHORS)]
        body = {**texts(story.number, 1), "channel": "politics"}
        story.learn(self.send("create", [story], "articles/", body, by=story.author))
        self.stories.append(story)
        self.newsroom.stories.append(story)
        return story

    def submit(self, story: Story) -> None:
        """Submit the newest text."""
        self.on(story, "submit", "submit/", by=_writer(story))

    def approve(self, story: Story) -> None:
        """Approve what waits for review."""
        self.on(story, "approve", "approve/", revision=story.draft_revision if story.has_draft else story.revision)

    def schedule(self, story: Story) -> None:
        """Set a time, and often change the plan before it comes."""
        self.on(story, "schedule", "schedule/", publish_at=self.moment(1.0))
        if self.random.random() < CHANGES_PLAN:
            self.random.choice(_SCHEDULED)(self, story)

    def unschedule(self, story: Story) -> None:
        """Remove it."""
        self.on(story, "unschedule", "unschedule/")

    def publish(self, story: Story) -> None:
        """Publish at once."""
        self.on(story, "publish_now", "publish/")

    def embargo(self, story: Story) -> None:
        """Set an embargo, often beyond the time to go live, or lift it."""
        begin = datetime.fromisoformat(story.publish_at).timestamp() if story.publish_at else now()
        until = self._iso(begin + self.random.uniform(0.5, FAR / 2)) if self.random.random() < 0.8 else None
        self.on(story, "set_embargo", "embargo/", until=until)

    def unpublish(self, story: Story) -> None:
        """Remove it from the site."""
        self.on(story, "unpublish", "unpublish/")

    def republish(self, story: Story) -> None:
        """And back."""
        self.on(story, "republish", "republish/")

    def retract(self, story: Story) -> None:
        """Retract it; it is left alone then."""
        self.on(story, "retract", "retract/", notice="This was wrong.")
        self._retire(story)

    def edit(self, story: Story) -> None:
        """Write another text."""
        number = story.text = story.text + 1
        self.change(story, {"text": number}, texts(story.number, number), by=_writer(story))

    def end(self, story: Story) -> None:
        """Set a time to be unpublished."""
        after = datetime.fromisoformat(story.publish_at).timestamp() if story.publish_at else now()
        moment = self._iso(max(after, now()) + self.random.uniform(0.5, FAR))
        self.change(story, {"unpublish_at": moment}, {"unpublish_at": moment}, by="chief")

    def schedule_update(self, story: Story) -> None:
        """Set the time of the update."""
        self.on(story, "schedule_update", "update/schedule/", publish_at=self.moment())

    def unschedule_update(self, story: Story) -> None:
        """Remove it."""
        self.on(story, "unschedule_update", "update/unschedule/")

    def publish_update(self, story: Story) -> None:
        """Publish the approved update."""
        self.on(story, "publish_update", "update/publish/")

    def discard_update(self, story: Story) -> None:
        """Discard it."""
        self.on(story, "discard_update", "update/discard/")

    def move_by_sql(self, story: Story) -> None:
        """Another program moves an article to a later time in SQL, which changes no task and no cache."""
        moment = now() + self.random.uniform(5.5, FAR + 2)
        began, done = now(), None
        sql = (
            f"UPDATE articles_article SET publish_at = '{datetime.fromtimestamp(moment, UTC):%Y-%m-%d %H:%M:%S.%f}'"
            f" WHERE id = {story.article} AND status IN (4, 8) AND embargo_until IS NULL AND unpublish_at IS NULL"
            " AND publish_at BETWEEN UTC_TIMESTAMP(6) + INTERVAL 0.3 SECOND AND UTC_TIMESTAMP(6) + INTERVAL 5 SECOND"
        )
        with suppress(MySQLdb.Error):
            connection = connect(self.newsroom.stand)
            done = connection.cursor().execute(sql)
            connection.close()
        status = None if done is None else 200 if done else 409
        values = {"publish_at": iso(moment)}
        self._record("move by SQL", [story], "", values, self.newsroom.number(), began, status, {})
        if done is None:
            raise Uncertain

    def _reschedule(self, stories: Sequence[Story]) -> None:
        chosen = stories[:3]
        if not chosen:
            return
        shift = self.random.choice((-1, 1, 2, 3))
        sign = "-" if shift < 0 else ""
        body = {
            "articles": [story.article for story in chosen],
            "shift": f"{sign}00:00:{abs(shift):02}",
            "at_once": True,
        }
        try:
            self.send("reschedule", chosen, "articles/reschedule/", body, values={"shift": shift})
        except Uncertain:
            self._retire(*chosen)
            raise

    def _release(self, stories: Sequence[Story]) -> None:
        """Create a release of some articles, and schedule, publish or cancel it."""
        members = self.random.sample(stories, min(3, len(stories)))
        if len(members) < 2:
            return
        name = f"Release {self.newsroom.number()}"
        try:
            pk = self.send("create_release", [], "releases/", {"name": name}, release=name)["id"]
            for story in members:
                self.send(
                    "joined_release", [story], f"releases/{pk}/members/", {"article": story.article}, release=name
                )
            self._end_release(pk, name)
            if self.random.random() < 0.35:
                self.retract(members[0])  # which makes the release fail, unless it was published
        except (Uncertain, Refused):
            self._retire(*members)
            raise
        for story in members:
            story.is_held = True
        self.releases.append((now() + FAR + 3, list(members)))

    def _end_release(self, pk: int, name: str) -> None:
        choice = self.random.random()
        if choice < 0.2:
            self.send("publish_release", [], f"releases/{pk}/publish/", {}, release=name)
            return
        body = {"publish_at": self.moment(0.5)}
        self.send("schedule_release", [], f"releases/{pk}/schedule/", body, release=name, values=body)
        if choice < 0.35:
            with suppress(Refused):
                self.send("cancel_release", [], f"releases/{pk}/cancel/", {}, release=name)

    def _leave_releases(self) -> None:
        """The members of old releases are free, unless nothing is known of them."""
        for entry in [one for one in self.releases if one[0] < now()]:
            self.releases.remove(entry)
            for story in entry[1]:
                story.is_held = False
                try:
                    self._look(story)
                except (Uncertain, Refused):
                    self._retire(story)

    def _look(self, story: Story) -> None:
        response = self._request("GET", f"articles/{story.article}/", None, by="chief", key="")
        if response is None or response[0] != 200:
            raise Uncertain
        story.learn(response[1])

    def on(self, story: Story, operation: str, path: str, *, by: str = "chief", **body: Any) -> None:
        """Send an operation on one article."""
        story.learn(self.send(operation, [story], f"articles/{story.article}/{path}", body, by=by, values=body))

    def change(self, story: Story, values: Body, body: Body, *, by: str) -> None:
        """Change the article's fields; `values` are for the history."""
        answer = self.send("edit", [story], f"articles/{story.article}/", body, by=by, values=values, method="PATCH")
        story.learn(answer)

    # Requests

    def send(
        self,
        operation: str,
        stories: Sequence[Story],
        path: str,
        body: Body,
        *,
        by: str = "chief",
        values: Body | None = None,
        release: str = "",
        method: str = "POST",
    ) -> Mapping[str, Any]:
        """Send a request until it is answered; again with the same idempotency key if it has one."""
        number, key = self.newsroom.number(), uuid.UUID(int=self.random.getrandbits(128)).hex
        for attempt in range(ATTEMPTS if method == "POST" else 1):
            began = now()
            response = self._request(method, path, body, by=by, key=key if method == "POST" else "")
            if response and attempt == 0 and method == "POST" and self.random.random() < GIVES_UP:
                response = None  # its reply got lost
            status, answer = response or (None, {})
            self._record(operation, stories, release, values or {}, number, began, status, answer)
            if status is not None and status < 300:
                return answer
            if status is not None and 400 <= status < 500 and not (status == 409 and "idempotency" in str(answer)):
                if attempt:
                    raise Uncertain  # an earlier attempt may still be waiting
                raise Refused(answer)
            time.sleep(PAUSE * (attempt + 1))
        raise Uncertain

    def _record(
        self,
        operation: str,
        stories: Sequence[Story],
        release: str,
        values: Body,
        number: int,
        began: float,
        status: int | None,
        answer: Mapping[str, Any],
    ) -> None:
        known = {name: answer[name] for name in REMEMBERED if name in answer}
        record = Request(
            began=began, ended=now(), number=number, operation=operation, stories=[one.number for one in stories],
            release=release, values=values, status=status, answer=known,
        )  # fmt: skip
        self.newsroom.history.add(record)

    def _request(
        self, method: str, path: str, body: Body | None, *, by: str, key: str
    ) -> tuple[int, Mapping[str, Any]] | None:
        headers = {"Authorization": f"Token {self.newsroom.tokens[by]}", "Content-Type": "application/json"}
        if key:
            headers["Idempotency-Key"] = key
        response = fetch(self.newsroom.port, method, f"/api/v1/desk/{path}", body=body, headers=headers)
        if response is None:
            return None
        status, text = response
        with suppress(ValueError):
            answer = json.loads(text)
            return status, answer if isinstance(answer, dict) else {}
        return status, {}


def fetch(
    port: int, method: str, path: str, *, body: Body | None = None, headers: Mapping[str, str] | None = None
) -> tuple[int, str] | None:
    """Status and content of a response; None without one."""
    connection = HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
    try:
        content = None if body is None else json.dumps(body)
        connection.request(method, path, content, dict(headers or {}))
        response = connection.getresponse()
        return response.status, response.read().decode("utf-8", "replace")
    except (OSError, HTTPException):
        return None
    finally:
        connection.close()


def texts(story: int, text: int) -> dict[str, str]:
    """Headline and body that name the story and the text."""
    return {"title": f"Mark{story}v{text}e", "body": f"<p>Mark{story}v{text}e and more.</p>"}


def _writer(story: Story) -> str:
    """Authors may not change what is approved."""
    return story.author if story.status < 4 else "editor"


Act = Callable[[Editor, Story], None]

_DRAFT: Sequence[Act] = (Editor.submit, Editor.submit, Editor.submit, Editor.edit, Editor.embargo)
_REVIEW: Sequence[Act] = (Editor.approve,)
_APPROVED: Sequence[Act] = (
    Editor.schedule,
    Editor.schedule,
    Editor.schedule,
    Editor.publish,
    Editor.embargo,
    Editor.edit,
)
_SCHEDULED: Sequence[Act] = (
    Editor.schedule, Editor.unschedule, Editor.embargo, Editor.end,
    Editor.end,
    Editor.end, Editor.edit, Editor.retract, Editor.move_by_sql,
    Editor.move_by_sql, Editor.move_by_sql,
)  # fmt: skip
_LIVE: Sequence[Act] = (
    Editor.edit, Editor.edit, Editor.edit, Editor.edit, Editor.unpublish, Editor.unpublish, Editor.retract, Editor.end,
)  # fmt: skip
_UPDATE: Sequence[Act] = (
    Editor.schedule_update, Editor.schedule_update, Editor.unschedule_update, Editor.publish_update,
    Editor.discard_update, Editor.unpublish,
)  # fmt: skip


def _possible(story: Story) -> Sequence[Act]:
    """What may be done with a story, the usual things more often; some of it is refused."""
    if story.has_draft:
        return _REVIEW if story.draft_status == 3 else (Editor.submit, Editor.schedule_update)
    if story.has_update:
        return _UPDATE
    if story.status in (0, 2):
        return _DRAFT
    if story.status == 3:
        return _REVIEW
    if story.status in (4, 8):
        return _SCHEDULED if story.publish_at else _APPROVED
    return _LIVE if story.status == 9 else (Editor.republish,)
