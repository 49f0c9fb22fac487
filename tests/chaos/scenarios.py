"""Scenarios, each of which needs one guard: without it, the checker finds a violation.

Times begin when the articles are approved, which takes a while on a busy machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Thread

from tests.chaos.faults import fill_redis
from tests.chaos.history import now
from tests.chaos.newsroom import Story
from tests.chaos.script import Script
from tests.harness import eventually


def scheduled(script: Script) -> None:
    """Nothing else happens."""
    story = script.approved()
    script.wait_until(now() + 3.0)  # after the first refreshes of the workers, which add a missing task, too
    at = now() + 2.0
    script.schedule(story, at)
    script.wait_until(at + 5.0)  # before the refresh at the end, which adds a missing task


def moved_in_sql(script: Script) -> None:
    """The task of the old time runs before the new one."""
    story = script.approved()
    at = now() + 5.0
    script.schedule(story, at)
    script.wait_until(at - 2.0)  # after the first refreshes of the workers, which would find the move
    script.editor.move_by_sql(story)
    script.wait_until(at + 1.0)


def over_while_workers_stand_still(script: Script) -> None:
    """The time to be unpublished comes, and no worker does anything."""
    story = script.live()
    at = now() + 4.0
    script.end(story, at)
    script.wait_until(at - 0.5)  # when no cache may show any more that it has no end
    with script.fault("all workers stopped"):
        script.wait_until(at + 0.1)
        script.look(story)


def embargoed_beyond_its_time(script: Script) -> None:
    """The embargo ends after the time to go live."""
    story = script.approved()
    at = now() + 2.0
    script.schedule(story, at)
    script.embargo(story, at + 2.0)
    script.wait_until(at + 0.1)
    script.look(story)
    script.wait_until(at + 2.1)
    script.look(story)


def updated(script: Script) -> None:
    """A new text replaces one that is in every cache."""
    story = script.live()
    script.look(story)
    script.update(story)
    script.wait_until(now() + 2.0)  # longer than caches may show the old one
    script.look(story)


def cached_until_it_is_over(script: Script) -> None:
    """A page is in every cache when the clock removes it."""
    story = script.live()
    at = now() + 4.0
    script.end(story, at)
    script.wait_until(at - 1.0)  # after the last purge
    script.look(story)
    script.wait_until(at + 0.1)
    script.look(story)


def some_held(script: Script) -> None:
    """Another program holds two of the articles that are due at the same instant, and their tasks."""
    _hold(script, "rows held")


def some_articles_held(script: Script) -> None:
    """The same without their tasks."""
    _hold(script, "articles held")


def _is_leased(script: Script, task_type: str) -> bool:
    return bool(script.scene.rows("SELECT 1 FROM taskinfo WHERE task_type = %s AND lease_token <> ''", task_type))


def _hold(script: Script, fault: str) -> None:
    stories = [script.approved() for _ in range(6)]
    at = now() + 4.0
    for story in stories:
        script.schedule(story, at)
    with script.fault(fault):
        script.wait_until(at + 6.0)  # longer than a worker would wait for a lock


def due_while_redis_is_full(script: Script) -> None:
    """Redis refuses hints for longer than work may take."""
    _with_full_redis(script, [script.approved() for _ in range(6)], [])


def released_while_redis_is_full(script: Script) -> None:
    """The same, with a task of a thread that stores no hints itself."""
    _with_full_redis(script, [], [script.approved(), script.approved()])


def _with_full_redis(script: Script, stories: Sequence[Story], members: Sequence[Story]) -> None:
    with fill_redis(script.scene):
        at = now() + 1.0
        for number, story in enumerate(stories):
            script.schedule(story, at + number / 2)
        if members:
            script.release(members, at)
        script.wait_until(at + 8.0)


def released_with_a_retracted_member(script: Script) -> None:
    """A release that was ready is not any more."""
    members = [script.approved(), script.approved()]
    at = now() + 3.0
    script.release(members, at)
    script.editor.retract(members[0])
    script.wait_until(at + 0.5)
    script.look(members[1])


def released_after_its_own_time(script: Script) -> None:
    """An article that has a time joins a release that is later."""
    members = [script.approved(), script.approved()]
    at = now() + 3.0
    script.schedule(members[0], at)
    script.release(members, at + 2.0)
    script.wait_until(at + 0.3)
    script.look(members[0])
    script.wait_until(at + 2.5)


def slowly_mailed(script: Script) -> None:
    """The mail server takes longer than workers wait between two looks for tasks."""
    script.scene.outside.mail_takes = 2.5
    script.live()
    script.live()  # one of both authors wants mails
    script.wait_until(now() + 3.0)
    script.scene.outside.mail_takes = 0.0


def purged_by_workers_that_die(script: Script) -> None:
    """All workers are killed while one of them waits for the response of the CDN."""
    story = script.live()
    script.wait_until(now() + 2.0)  # the last purge of its publication is over
    script.scene.outside.purge_takes = 5.0
    script.unpublish(story)
    eventually(lambda: _is_leased(script, "articles.purge"), 10)
    with script.fault("all workers killed"):
        script.scene.outside.purge_takes = 0.0


def in_short(script: Script) -> None:
    """A worker dies, Redis is emptied and MariaDB stands still, while an editor moves one article and cancels another.

    Articles become due before, during and after each fault.
    """
    first, second, third, during, moved, cancelled = [script.approved() for _ in range(6)]
    at = now() + 2.5
    for story, after in ((first, 0.0), (second, 0.0), (third, 0.6), (during, 1.2), (moved, 2.6), (cancelled, 2.6)):
        script.schedule(story, at + after)
    script.end(second, at + 2.2)
    script.wait_until(at - 0.02)
    with script.fault("worker killed"):
        pass
    script.wait_until(at + 0.3)
    script.look(first, 2)
    with script.fault("Redis flushed"):
        pass
    script.wait_until(at + 0.9)
    with script.fault("MariaDB frozen"):
        editing = Thread(target=_change_plans, args=[script, moved, cancelled, at + 3.2])
        editing.start()
        script.wait_until(at + 1.5)
    editing.join()
    script.unpublish(third)
    script.wait_until(at + 2.7)
    for story in (first, second, third, during, moved, cancelled):
        script.look(story, 2)
    script.wait_until(at + 3.4)
    script.look(moved, 2)


def _change_plans(script: Script, moved: Story, cancelled: Story, at: float) -> None:
    script.schedule(moved, at)
    script.unschedule(cancelled)
