"""The guards of the promise, each with a mutant of the source that lacks it: the proof must fail on every one.

A mutant is a copy of the source in which an exact text is replaced. If the text is gone, the mutant must be changed
with the source. Those that random editors and faults meet too rarely have a scenario.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from tests.chaos import scenarios
from tests.chaos.script import Scenario
from tests.chaos.violations import EARLY, LATE, LOST, TWICE, UNEXPLAINED, ZOMBIE
from tests.harness import base_dir

_COPIED = (
    "articles",
    "headline",
    "scheduling",
    "templates",
    "tests",
    "manage.py",
    "gunicorn.conf.py",
    "pyproject.toml",
)


@dataclass(frozen=True)
class Mutant:
    """A guard, the text without which it is gone, and the violations that show it."""

    name: str
    path: str
    text: str
    without: str
    shown_by: frozenset[str]
    faults: Collection[str] = ()  #: of the random proof
    scenario: Scenario | None = None  #: instead of that
    has_cdn: bool = True
    tests: Collection[str] = ()  #: that show it, instead of the proof
    database: str = "sqlite"  #: of these tests

    def source(self) -> str:
        """The changed file. AssertionError if the text is not there exactly once."""
        found = (base_dir / self.path).read_text(encoding="utf-8")
        assert found.count(self.text) == 1, f"{self.path} has {found.count(self.text)} times: {self.text}"
        return found.replace(self.text, self.without)

    def make(self, directory: Path) -> Path:
        """A copy of the source without the guard."""
        for name in _COPIED:
            if (base_dir / name).is_dir():
                shutil.copytree(base_dir / name, directory / name)  # compiled modules, too
            else:
                shutil.copy(base_dir / name, directory / name)
        (directory / self.path).write_text(self.source(), encoding="utf-8")
        return directory


def _mutant(
    name: str,
    path: str,
    text: str,
    without: str,
    *shown_by: str,
    faults: Collection[str] = (),
    scenario: Scenario | None = None,
    has_cdn: bool = True,
) -> Mutant:
    return Mutant(name, path, text, without, frozenset(shown_by), faults, scenario, has_cdn)


_HINTS = ("early hints", "poisoned burst", "Redis flushed", "worker killed")
_CALM = ("worker killed", "workers' clock set", "web server's clock set")
_RUNNING, _MODELS = "scheduling/services/running.py", "scheduling/models.py"
_PUBLISH, _CACHE = "articles/publishing/publish.py", "articles/cache"
_LOCKED = 'return self.order_by("task_id").select_for_update(skip_locked=True)'

STAMPED_BEFORE = _mutant(
    "a record is stamped after the commit",
    "scheduling/services/commits.py",
    "            self._has_tasks = True\n",
    "            self._read_clock()\n",
)
"""Found by an outside observer, see `tests.chaos.test_records`: the proof measures in seconds."""

MUTANTS = (
    _mutant(
        "no task runs before its time",
        _RUNNING,
        "by_ids(ids).due(database_now()).locked().needed_to_run()",
        "by_ids(ids).locked().needed_to_run()",
        EARLY,
        faults=_HINTS,
    ),
    _mutant(
        "no article is published before its time",
        _PUBLISH,
        "return _free(ids, due_at(database_now()) & SEEN)",
        "return _free(ids, SEEN)",
        EARLY,
        scenario=scenarios.moved_in_sql,
    ),
    _mutant(
        "the clock decides what is live",
        "articles/models/article.py",
        "return self.filter(due_at(now), not_over_at(now), status__in=Article.Status.visible())",
        "return self.filter(not_over_at(now), status__in=Article.Status.visible())",
        EARLY,
        faults=_CALM,
    ),
    _mutant(
        "the clock decides what is over",
        "articles/models/article.py",
        "return self.filter(due_at(now), not_over_at(now), status__in=Article.Status.visible())",
        "return self.filter(due_at(now), status__in=Article.Status.visible())",
        ZOMBIE,
        scenario=scenarios.over_while_workers_stand_still,
    ),
    _mutant(
        "an embargo hides an article",
        "articles/models/article.py",
        "return Q(goes_live_at__lte=now)",
        "return Q(publish_at__lte=now)",
        EARLY,
        scenario=scenarios.embargoed_beyond_its_time,
    ),
    _mutant(
        "an executed task is deleted",
        _RUNNING,
        "delete_tasks([task.task_id for task in done] + list(dropped))",
        "delete_tasks(list(dropped))",
        TWICE,
        faults=_HINTS,
    ),
    _mutant("a running task is locked", _MODELS, _LOCKED, 'return self.order_by("task_id")', TWICE, faults=_HINTS),
    _mutant(
        "no worker waits for a locked task",
        _MODELS,
        _LOCKED,
        'return self.order_by("task_id").select_for_update()',
        LATE,
        scenario=scenarios.some_held,
    ),
    _mutant(
        "no worker waits for a locked article",
        _PUBLISH,
        "return lock_by_ids(Article, ids, skip_locked=True).values_list",
        "return lock_by_ids(Article, ids).values_list",
        LATE,
        scenario=scenarios.some_articles_held,
    ),
    _mutant(
        "a full Redis is not used until it has memory",
        "scheduling/queues/fallback.py",
        "if down_until is not None:\n"
        "            # Only the call that found it back ends the outage: others may have failed since, "
        "with another time.\n"
        "            self.availability.succeeded(down_until)",
        "if self.availability.down_until is not None:\n            self.availability.down_until = None",
        LATE,
        scenario=scenarios.due_while_redis_is_full,
    ),
    _mutant(
        "all threads fall back from Redis together",
        "scheduling/queues/fallback.py",
        "self.fallback.for_thread(), self.availability)",
        "self.fallback.for_thread(), Availability())",
        LATE,
        scenario=scenarios.released_while_redis_is_full,
    ),
    _mutant(
        "the sweep finds lost hints",
        "scheduling/services/refreshing.py",
        "ids = TaskInfo.objects.overdue_ids(*topic, now=before, limit=conf.SWEEP_LIMIT)",
        "ids = []",
        LOST,
        faults=_HINTS,
    ),
    _mutant(
        "a failure counts for its version only",
        _RUNNING,
        "by_ids([task_id]).at_version(version).due(database_now())",
        "by_ids([task_id]).due(database_now())",
        LOST,
        faults=("failing task corrected",),
    ),
    _mutant(
        "a request with the same key takes effect once",
        "headline/api/idempotency.py",
        'if key is None or request.method != "POST"',
        'if key is not None or request.method != "POST"',
        TWICE,
        UNEXPLAINED,
        faults=("web process killed",),
    ),
    _mutant(
        "a saved article has its task",
        "articles/publishing/store.py",
        "    sync_tasks_of(stored, now=now)\n",
        "",
        LATE,
        scenario=scenarios.scheduled,
    ),
    _mutant(
        "a publication is recorded",
        "articles/publishing/by_clock.py",
        "    record_due(Action.PUBLISHED, ids)\n",
        "",
        LOST,
        faults=_CALM,
    ),
    _mutant(
        "an author is notified of a publication",
        "articles/subscribers.py",
        "DueRecorded: (lambda event: notify_authors_of_due(event.action, event.article_ids),),",
        "DueRecorded: (),",
        LOST,
        faults=_CALM,
    ),
    _mutant(
        "a member of a release has no time of its own",
        "articles/releases/manage.py",
        "            _clear_time(article, chosen, now)\n        if is_new",
        "        if is_new",
        EARLY,
        LOST,
        UNEXPLAINED,
        scenario=scenarios.released_after_its_own_time,
    ),
    _mutant(
        "a release is checked before it is published",
        "articles/releases/run.py",
        "    if problems:\n        fail(",
        "    if not members:\n        fail(",
        UNEXPLAINED,
        ZOMBIE,
        scenario=scenarios.released_with_a_retracted_member,
    ),
    _mutant(
        "a change invalidates pages",
        f"{_CACHE}/invalidate.py",
        "    schedule_cdn_purge(articles=article_ids)\n    transaction.on_commit(_purge, robust=True)",
        "    schedule_cdn_purge(articles=article_ids)",
        ZOMBIE,
        scenario=scenarios.updated,
        has_cdn=False,  # whose purge task invalidates the pages again
    ),
    _mutant(
        "a copy in memory is checked against the cache",
        f"{_CACHE}/memory.py",
        "        if present != self.generation:",
        "        if False:",
        ZOMBIE,
        scenario=scenarios.updated,
    ),
    _mutant(
        "a cached page ends with the next change",
        f"{_CACHE}/next_change.py",
        "return self.read_at + (self.at - self.now).total_seconds()",
        "return self.read_at + MAX_TTL.total_seconds()",
        ZOMBIE,
        scenario=scenarios.cached_until_it_is_over,
    ),
    _mutant(
        "a change purges the CDN",
        f"{_CACHE}/cdn.py",
        "            for some in _chunks(sorted(tags)):",
        "            for some in ():",
        LOST,
        scenario=scenarios.updated,
    ),
    _mutant(
        "a notification is mailed",
        "articles/notifications/notify.py",
        '"key": pk} for pk in mails)',
        '"key": pk} for pk in ())',
        LOST,
        scenario=scenarios.slowly_mailed,
    ),
    _mutant(
        "a leased task is left alone",
        "scheduling/services/leasing.py",
        ".due(database_now()).free(database_now())",
        ".due(database_now())",
        TWICE,
        scenario=scenarios.slowly_mailed,
    ),
    _mutant(
        "a purge of a dead worker is sent again soon",
        "articles/handlers.py",
        "at_least_once=True, lease=_PURGE_LEASE",
        "at_least_once=True",
        LATE,
        scenario=scenarios.purged_by_workers_that_die,
    ),
)

_IDENTITY = ("tests/scheduling/test_identity.py",)
_WALKS = ("tests/articles/test_every_screen_by_clock.py", "tests/articles/test_walk_by_clock.py")
_ORDER = ("tests/articles/site/test_order.py",)
_EVENTS = "tests/articles/distribution/test_events.py::test_"
_WEBHOOKS = "tests/articles/webhooks/test_dispatch.py::test_"
_REVIEW = ("tests/articles/desk/review",)
_FORMER = "article.created_at.replace(year=2000, day=1)"
"""An instant before the clock changed anything: what the stored status alone says without a worker."""


def _shown(
    name: str, path: str, text: str, without: str, tests: Collection[str] = _WALKS, database: str = "sqlite"
) -> Mutant:
    return Mutant(name, path, text, without, frozenset(), tests=tests, database=database)


SHOWN = (
    _shown(
        "a status is that of the clock", "articles/models/state.py", "if article.is_out_at(now) else", "if False else"
    ),
    _shown(
        "a filter by state asks the clock",
        "articles/models/state.py",
        "State.LIVE: visible & due_at(now) & not_over_at(now),",
        "State.LIVE: Q(status=Status.PUBLISHED),",
    ),
    *(
        _shown(f"{screen} says what readers see now", path, text, text.replace(now, _FORMER))
        for screen, path, text, now in (
            ("the editor", "articles/desk/editor/state.py", "found = state_at(article, now)", "now"),
            ("a sentence", "articles/desk/transitions.py", "found = state_at(article, now)", "now"),
            (
                "the list",
                "articles/desk/articles/changelist.py",
                "state_at(article, article.asked_at.replace(tzinfo=UTC))",
                "article.asked_at.replace(tzinfo=UTC)",
            ),
            (
                "the calendar",
                "articles/desk/calendar/sources.py",
                "found = state_at(article, collector.now)",
                "collector.now",
            ),
            ("the palette", "articles/desk/palette/sources.py", "(state_at(article, now).label,", "now"),
            (
                "the API's state",
                "articles/api/article_serializers.py",
                "state_at(article, self._now).state.value",
                "self._now",
            ),
            (
                "the API's status",
                "articles/api/article_serializers.py",
                "status_at(article, self._now).value",
                "self._now",
            ),
        )
    ),
    _shown(
        "the board says what readers see now",
        "articles/desk/monitoring/cards.py",
        "found = state_at(article, now)",
        f"found = state_at(article, {_FORMER})",
        ("tests/articles/desk/monitoring/test_board.py",),
    ),
    _shown(
        "readers' lists are in the order in which readers got them",
        "articles/models/article.py",
        'NEWEST_FIRST = ("-goes_live_at", "-id")',
        'NEWEST_FIRST = ("-publish_at", "-id")',
        _ORDER,
    ),
    _shown(
        "related articles are in that order, too",
        "articles/pages/related.py",
        '"-shared", "-goes_live_at", "-pk"',
        '"-shared", "-publish_at", "-pk"',
        _ORDER,
    ),
    _shown(
        "so is what a search finds",
        "articles/search/query.py",
        'RANKED = ("-rank", "-goes_live_at", "-id")',
        'RANKED = ("-rank", "-publish_at", "-id")',
        _ORDER,
    ),
    _shown(
        "an approval after the time asks first",
        "articles/desk/review/decision.py",
        "                _refuse_unconfirmed(request, article)\n",
        "",
        _REVIEW,
    ),
    _shown(
        "a release is dated by its commit",
        "articles/releases/run.py",
        "    if before >= committed_at:\n",
        "    if before:\n",
        ("tests/articles/releases",),
    ),
    _shown(
        "keys in Redis follow the database to another server",
        "scheduling/identity.py",
        "if connection.connection is not None and connection.connection is not getattr(",
        "if False and connection.connection is not getattr(",
        _IDENTITY,
    ),
    _shown(
        "keys in Redis stay while the database does not answer",
        "scheduling/identity.py",
        "        except Error as error:\n",
        "        except ZeroDivisionError as error:\n",
        _IDENTITY,
    ),
    _shown(
        "an event is written in the transaction of its change",
        "articles/audit/outbox.py",
        '        insert_rows(Event, fields, rows, unless_there=True, happened_at=database_now(), state="")\n',
        "        rows = list(rows)\n"
        '        __import__("django.db.transaction").db.transaction.on_commit(\n'
        "            lambda: insert_rows(\n"
        '                Event, fields, rows, unless_there=True, happened_at=database_now(), state=""\n'
        "            )\n"
        "        )\n",
        (f"{_EVENTS}an_event_is_rolled_back_with_its_change",),
    ),
    _shown(
        "an event is numbered after the commit",
        "articles/distribution/sequencer.py",
        "in enumerate(events, start=head.sequence + 1):",
        "in [(event.pk, event) for event in events]:",
        (f"{_EVENTS}a_follower_that_keeps_the_last_number_misses_nothing_of_eight_writers",),
        database="mariadb",
    ),
    _shown(
        "a webhook says what is true when it is sent",
        "articles/webhooks/messages.py",
        "return event.kind if LEADS_TO[event.kind] == state or is_gone else _TRUE_KINDS[state]",
        "return event.kind",
        (f"{_WEBHOOKS}a_publication_that_was_retracted_before_it_is_sent_is_never_said",),
    ),
    _shown(
        "one process at a time sends to an endpoint",
        "articles/sending.py",
        "if not rows.filter(is_free(now)).update(",
        "if not rows.update(",
        (f"{_WEBHOOKS}two_processes_do_not_send_to_an_endpoint_at_once",),
    ),
    _shown(
        "what failed is sent again",
        "articles/webhooks/dispatch.py",
        "    state, due_at = Key.PENDING, now\n",
        "    state, due_at = Key.DELIVERED, now\n",
        (f"{_WEBHOOKS}each_attempt_has_the_same_id_and_its_own_signature_until_the_last",),
    ),
)
"""What users see, or would only see after a failover, each with a mutant that the tests of it must find."""
