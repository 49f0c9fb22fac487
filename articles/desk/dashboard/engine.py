"""State of the publishing service, and failed tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.utils.translation import gettext as _, ngettext

from articles.models import Article, Release, Update
from articles.permissions import may_see_system, reads_articles
from articles.publishing import Actor
from articles.task_types import OF_ARTICLES, RELEASE
from articles.text import format_time_briefly, format_time_exactly
from scheduling import registry
from scheduling.database import COUNT_LIMIT
from scheduling.services import (
    FAILED,
    FAILING,
    FoundTask,
    Refused,
    Workers,
    find_tasks,
    overdue_by_topic,
    refused_work,
    workers,
    works_without_redis,
)

START_COMMAND = "python manage.py poll --forever"
LIST_COMMAND = "python manage.py tasks list --status overdue"
SHOWN = 5


@dataclass(frozen=True)
class Health:
    """State of the service: sentences, advice, and technical details for operators."""

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
    """State of the service and what waits for it; the repair command is shown to operators only."""
    found = _health(by, now)
    return found if found.is_well else replace(found, sentences=[*found.sentences, *_waiting(now)])


def _health(by: Actor, now: datetime) -> Health:
    if refused := refused_work(now):
        return _refusing(refused, by)
    found = workers(now)
    if not found.count:
        return _without_worker(found, by)
    without_redis = [_("Redis cannot be reached.")] if works_without_redis(found) else []
    if overdue := _overdue_publications(now):
        late = _late(overdue, found, by)
        return replace(late, sentences=[*without_redis, *late.sentences])
    if without_redis:
        advice = _("The workers continue without it. Articles may be recorded up to a quarter of a second later.")
        return Health(False, without_redis, [advice])
    return Health(True, [_answered(found)])


def _waiting(now: datetime) -> Iterator[str]:
    """What readers do not have, because only a worker shows it to them."""
    updates = Update.objects.overdue(now).filter(approved__isnull=False)[:COUNT_LIMIT].count()
    releases = Release.objects.overdue(now)[:COUNT_LIMIT].count()
    named = [
        ngettext("%(count)d update", "%(count)d updates", updates) % {"count": updates} if updates else "",
        ngettext("%(count)d release", "%(count)d releases", releases) % {"count": releases} if releases else "",
    ]
    if what := _(" and ").join(filter(None, named)):
        yield ngettext(
            "%(what)s waits; readers do not have it yet.",
            "%(what)s wait; readers do not have them yet.",
            updates + releases,
        ) % {"what": what}


def failures(by: Actor) -> list[Failure]:
    """Failing and dead tasks, for operators and users who may see them."""
    if not (may_see_system(by) or by.has_perm("articles.publish_article")):  # type: ignore[union-attr]
        return []
    found = [*find_tasks(FAILING, limit=SHOWN), *find_tasks(FAILED, limit=SHOWN)][:SHOWN]
    titles = _titles(found) if reads_articles(by) else {}
    return [_failure(task, titles) for task in found]


def _refusing(refused: list[Refused], by: Actor) -> Health:
    """A sentence for each kind of write refused by the database; its error message is for operators."""
    advice = _(
        "Nothing is lost. Due tasks are retried every few seconds and complete once this is "
        "repaired. Approved articles still go live on time."
    )
    words = "\n".join(dict.fromkeys(one.error for one in refused if one.error))
    return Health(False, [_refusal_text(one) for one in refused], [advice], words if may_see_system(by) else "")


def _refusal_text(refused: Refused) -> str:
    sentence = str(refused.trouble.label)
    if refused.since is None:
        return sentence
    kinds = _(", ").join(sorted(registry.label_of(task_type) for task_type in refused.task_types))
    values = {"sentence": sentence, "time": format_time_briefly(refused.since), "kinds": kinds}
    return _("%(sentence)s Delayed since %(time)s: %(kinds)s.") % values


def _without_worker(found: Workers, by: Actor) -> Health:
    sentence = _("Publishing service: no worker is running.")
    if found.last_sign is not None:
        sentence = _("Publishing service: no worker is running. Last heartbeat %(time)s.") % {
            "time": ago(found.last_sign)
        }
    advice = _("Approved articles still go live on time, but updates, releases and notifications wait for a worker.")
    if may_see_system(by):
        return Health(False, [sentence], [advice, _("Start a worker with:")], START_COMMAND)
    return Health(False, [sentence], [advice, _("Contact the server administrator.")])


def _overdue_publications(now: datetime) -> int:
    """How many tasks of articles and releases are overdue, up to `COUNT_LIMIT` of each topic."""
    counts = overdue_by_topic(now).items()
    return sum(count for (task_type, _priority), count in counts if task_type in (*OF_ARTICLES, RELEASE))


def _late(overdue: int, found: Workers, by: Actor) -> Health:
    """A worker that is busy, frozen or cut off still counts as running."""
    sentence = ngettext(
        "Publishing service: %(count)d task is overdue. Last heartbeat %(time)s.",
        "Publishing service: %(count)d tasks are overdue. Last heartbeat %(time)s.",
        overdue,
    ) % {"count": overdue, "time": ago(found.last_sign or 0)}
    advice = [_("Approved articles still go live on time, but notifications and other follow-up tasks wait.")]
    if may_see_system(by):
        return Health(False, [sentence], [*advice, _("List them with:")], LIST_COMMAND)
    return Health(False, [sentence], advice)


def _answered(found: Workers) -> str:
    time = ago(found.last_sign or 0)
    if found.count == 1:
        return _("Publishing service: OK. Last heartbeat %(time)s.") % {"time": time}
    text = ngettext("%(count)d worker", "%(count)d workers", found.count)
    return _("Publishing service: OK. %(workers)s, last heartbeat %(time)s.") % {
        "workers": text % {"count": found.count},
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
