"""State of the publishing service, and failed tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _, ngettext

from articles.models import Article, Release
from articles.permissions import may_see_system, reads_articles
from articles.publishing import Actor
from articles.task_types import OF_ARTICLES
from articles.text import format_time_briefly, format_time_exactly
from scheduling import problems, registry
from scheduling.database import COUNT_LIMIT
from scheduling.problems import Figures
from scheduling.services import FAILED, FAILING, FoundTask, RefusedWork, find_tasks, refused_work

FAILURES_LISTED = 5


@dataclass(frozen=True)
class Health:
    """State of the service: sentences, advice, and the database's own words for operators."""

    is_well: bool
    sentences: Sequence[str]
    advice: Sequence[str] = ()
    technical: str = ""


@dataclass(frozen=True)
class Failure:
    """A failed task: dead, or retried at `next_attempt`."""

    task_id: int
    name: str
    due: str
    error: str
    article_id: int | None
    attempts: int
    next_attempt: str


def health(by: Actor, now: datetime) -> Health:
    """Problems of the engine and what waits for it; how to repair them is shown to operators only."""
    figures = problems.figures(now)
    found = [problem for problem in problems.found(figures) if problem.code != "failing"]  # `failures` lists them
    if not found:
        return Health(True, [_answered(figures)])
    sentences = [*(problem.sentence(figures) for problem in found), *_heartbeat(figures), *_waiting(now)]
    effect = []
    if any(problem.is_failure for problem in found):
        effect.append(
            _(
                "Nothing is lost: articles, updates and releases still go live on time, but notifications and other "
                "follow-ups wait until this is repaired."
            )
        )
    refused = refused_work(now) if figures["trouble"] else []
    sentences += filter(None, map(_delay, refused))
    if not may_see_system(by):
        return Health(False, sentences, [*effect, _("Contact the server administrator.")])
    advice = dict.fromkeys(str(problem.advice) for problem in found)
    return Health(False, sentences, [*effect, *advice], "\n".join({one.error: None for one in refused if one.error}))


def _waiting(now: datetime) -> Iterator[str]:
    """What readers do not have: releases with blocking issues, which no worker has stored as failed yet."""
    if releases := Release.objects.overdue(now)[:COUNT_LIMIT].count():
        yield ngettext(
            "%(count)d release has blocking issues; readers do not have it.",
            "%(count)d releases have blocking issues; readers do not have them.",
            releases,
        ) % {"count": releases}


def failures(by: Actor) -> list[Failure]:
    """Failing and dead tasks, for operators and users who may see them."""
    if not (may_see_system(by) or by.has_perm("articles.publish_article")):  # type: ignore[union-attr]
        return []
    found = [*find_tasks(FAILING, limit=FAILURES_LISTED), *find_tasks(FAILED, limit=FAILURES_LISTED)][:FAILURES_LISTED]
    titles = _titles(found) if reads_articles(by) else {}
    return [_failure(task, titles) for task in found]


def _delay(refused: RefusedWork) -> str:
    """Since when which tasks wait; empty if no worker says so."""
    if refused.since is None:
        return ""
    kinds = _(", ").join(sorted(registry.label_of(task_type) for task_type in refused.task_types))
    return _("Delayed since %(time)s: %(kinds)s.") % {"time": format_time_briefly(refused.since), "kinds": kinds}


def _heartbeat(figures: Figures) -> Iterator[str]:
    """When a worker was last seen; nothing if none ever was."""
    if (age := figures["heartbeat_age_seconds"]) is not None:
        yield _("Last heartbeat %(time)s.") % {"time": ago(age)}


def _answered(figures: Figures) -> str:
    time, count = ago(figures["heartbeat_age_seconds"] or 0), figures["workers"]
    if count == 1:
        return _("Publishing service: OK. Last heartbeat %(time)s.") % {"time": time}
    text = ngettext("%(count)d worker", "%(count)d workers", count)
    return _("Publishing service: OK. %(workers)s, last heartbeat %(time)s.") % {
        "workers": text % {"count": count},
        "time": time,
    }


def ago(seconds: float) -> str:
    """A relative time."""
    number = int(seconds)
    if number < 1:
        return _("just now")
    if number < 60:
        return ngettext("%d second ago", "%d seconds ago", number) % number
    if number < 3600:
        return ngettext("%d minute ago", "%d minutes ago", number // 60) % (number // 60)
    if number < 86_400:
        return ngettext("%d hour ago", "%d hours ago", number // 3600) % (number // 3600)
    return ngettext("%d day ago", "%d days ago", number // 86_400) % (number // 86_400)


def _titles(found: Iterable[FoundTask]) -> Mapping[int, str]:
    ids = {pk for task in found if (pk := _article_id(task))}
    return dict(Article.objects.filter(pk__in=ids).values_list("pk", "title")) if ids else {}


def _failure(task: FoundTask, titles: Mapping[int, str]) -> Failure:
    pk = _article_id(task)
    title = titles.get(pk or 0, "")
    kind = registry.label_of(task.log.task_type)
    return Failure(
        task_id=task.log.task_id,
        name=_("%(kind)s: “%(title)s”") % {"kind": kind, "title": title} if title else kind,
        due=format_time_exactly(task.log.execute_time),
        error=task.log.error.strip().rpartition("\n")[2],
        article_id=pk if title else None,
        attempts=task.log.attempts,
        next_attempt=format_time_exactly(task.next_attempt) if task.next_attempt else "",
    )


def _article_id(task: FoundTask) -> int | None:
    key = task.log.key or ""
    return int(key) if task.log.task_type in OF_ARTICLES and key.isdecimal() else None
