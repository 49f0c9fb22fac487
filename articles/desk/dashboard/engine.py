"""Whether the engine runs, in plain words, and what it could not do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from articles.audit import reads_articles
from articles.models import Article
from articles.publishing import Actor
from articles.task_types import OF_ARTICLES
from articles.text import spoken_briefly, spoken_exactly
from scheduling import registry
from scheduling.services import (
    FAILED,
    FAILING,
    FoundTask,
    Refused,
    Workers,
    find_tasks,
    refused_work,
    workers,
    works_without_redis,
)

OPERATE = "scheduling.operate_tasks"
LOOK = "scheduling.view_taskinfo"
START_COMMAND = "python manage.py poll --forever"
SHOWN = 5


@dataclass(frozen=True)
class Health:
    """How the engine is: `is_well`, what can be said of it, what follows from that, and words for operators."""

    is_well: bool
    sentences: Sequence[str]
    advice: Sequence[str] = ()
    technical: str = ""


@dataclass(frozen=True)
class Failure:
    """A task that failed: dead, or tried again at `next_attempt`."""

    task_id: int
    name: str
    due: str
    error: str
    article_id: int | None
    attempts: int
    next_attempt: str


def health(by: Actor, now: datetime) -> Health:
    """How the engine is; the command that repairs it is shown to those who look after it."""
    if refused := refused_work(now):
        return _refusing(refused, by)
    found = workers(now)
    if not found.count:
        return _without_worker(found, by)
    if works_without_redis(found):
        advice = _("The workers go on without it: articles are noted up to a quarter of a second later.")
        return Health(False, [_("Redis cannot be reached.")], [advice])
    return Health(True, [_answered(found)])


def failures(by: Actor) -> list[Failure]:
    """Tasks that fail and are tried again, and dead ones that wait for a person; for those who look after either."""
    if not any(by.has_perm(right) for right in (OPERATE, LOOK, "articles.publish_article")):  # type: ignore[union-attr]
        return []
    found = [*find_tasks(FAILING, limit=SHOWN), *find_tasks(FAILED, limit=SHOWN)][:SHOWN]
    titles = _titles(found) if reads_articles(by) else {}
    return [_failure(task, titles) for task in found]


def _refusing(refused: list[Refused], by: Actor) -> Health:
    """What the database refuses, in a sentence for each trouble; its own words are for those who look after it."""
    advice = _(
        "Nothing is lost: what is due is tried again every few seconds and goes out by itself once this is repaired. "
        "Approved articles still appear at their second."
    )
    words = "\n".join(dict.fromkeys(one.error for one in refused if one.error))
    return Health(False, [_spoken(one) for one in refused], [advice], words if _looks_after_tasks(by) else "")


def _spoken(refused: Refused) -> str:
    sentence = str(refused.trouble.label)
    if refused.since is None:
        return sentence
    kinds = _(", ").join(sorted(registry.label_of(task_type) for task_type in refused.task_types))
    values = {"sentence": sentence, "time": spoken_briefly(refused.since), "kinds": kinds}
    return _("%(sentence)s Held up since %(time)s: %(kinds)s.") % values


def _looks_after_tasks(by: Actor) -> bool:
    return by.has_perm(LOOK) or by.has_perm(OPERATE)  # type: ignore[union-attr]


def _without_worker(found: Workers, by: Actor) -> Health:
    sentence = _("No worker is running.")
    if found.last_sign is not None:
        sentence = _("No worker is running; the last one answered %(time)s.") % {"time": ago(found.last_sign)}
    advice = _(
        "Approved articles still appear at their second, but nobody notes it: no mails are sent, and nothing else that "
        "follows from it is done."
    )
    if _looks_after_tasks(by):
        return Health(False, [sentence], [advice, _("Start one with:")], START_COMMAND)
    return Health(False, [sentence], [advice, _("Tell the people who look after the server.")])


def _answered(found: Workers) -> str:
    time = ago(found.last_sign or 0)
    if found.count == 1:
        return _("The worker answered %(time)s.") % {"time": time}
    text = ngettext("%(count)d worker is running", "%(count)d workers are running", found.count)
    return _("%(workers)s; the latest answer came %(time)s.") % {"workers": text % {"count": found.count}, "time": time}


def ago(seconds: float) -> str:
    """How long ago, in words."""
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
        name=_("%(kind)s of “%(title)s”") % {"kind": kind, "title": title} if title else kind,
        due=spoken_exactly(task.log.execute_time),
        error=task.log.error.strip().rpartition("\n")[2],
        article_id=pk if title else None,
        attempts=task.log.attempts,
        next_attempt=spoken_exactly(task.next_attempt) if task.next_attempt else "",
    )


def _article_id(task: FoundTask) -> int | None:
    key = task.log.key or ""
    return int(key) if task.log.task_type in OF_ARTICLES and key.isdecimal() else None
