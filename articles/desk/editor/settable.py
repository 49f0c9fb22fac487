"""What a user may change in the article form: the text, and which times."""

from __future__ import annotations

from articles.desk.transitions import may_take
from articles.models import Article, status_at
from articles.permissions import CHANGE, allows
from articles.publishing import Actor, held_transitions, position
from articles.workflow import Transition, is_possible
from scheduling.database import read_database_clock

Status = Article.Status

TIME_FIELDS = ("publish_at", "update_at", "embargo_until", "unpublish_at")
"""The times, in form order."""

_SETTING = {"publish_at": Transition.SCHEDULE, "update_at": Transition.SCHEDULE_UPDATE}
"""The transition that setting each time stands for."""


def as_stored(article: Article) -> Article:
    """The article as it was read, without what a form wrote into it."""
    stored: Article = article.__dict__.get("stored", article)
    return stored


def may_write(article: Article | None, by: Actor) -> bool:
    """Whether the user may edit the text of the article, or create one."""
    return article is None or allows(CHANGE, by, article)


def settable_times(article: Article | None, by: Actor) -> list[str]:
    """The times that the user may set, in form order."""
    article = article and as_stored(article)
    names = list(TIME_FIELDS)
    if not may_take(Transition.SET_EMBARGO, by) or (
        article and not is_possible(Transition.SET_EMBARGO, position(article))
    ):
        names.remove("embargo_until")
    if article is None or article.pending_update is None:
        names.remove("update_at")
    if article is None:
        return names
    kept = held_transitions(article)  # by a release
    names = [name for name in names if _SETTING.get(name) not in kept]
    may_set = may_take(Transition.SCHEDULE, by) if article.status in Status.passed() else may_write(article, by)
    if not may_set:
        return [name for name in names if name == "embargo_until"]
    is_over = status_at(article, read_database_clock()) in (Status.PUBLISHED, Status.UNPUBLISHED)
    return [name for name in names if not (is_over and name == "publish_at")]
