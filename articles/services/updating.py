"""The approved newer text of an article: its time, and taking the place of what readers see."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from articles.models import Article, Text, Update
from articles.services.announcing import announce_published
from articles.services.publishing import Outcome, sort_missing
from articles.services.recording import UPDATED, Standing, record_many
from articles.services.revisions import adopt, keep_or_drop
from articles.services.scheduling import checked_time
from articles.services.steps import Person, taking
from articles.services.uses import note_uses
from articles.workflow import Step
from scheduling.services import read_database_clock


def schedule_update(article: Article, *, publish_at: datetime, by: Person) -> None:
    """Have the newer text, once it is approved, take the place of the present one at `publish_at`.

    A past time means at once. Raises `InvalidSchedule` for a time without a zone or one no database stores.
    """
    moment = checked_time(publish_at)
    with taking(Step.SCHEDULE_UPDATE, article, by=by) as taken:
        taken.notes.facts["update_at"] = moment.isoformat()
        _set_time(article.update, moment)


def cancel_update(article: Article, *, by: Person) -> None:
    """Take the update's time away: an approved newer text keeps its approval, and waits."""
    with taking(Step.CANCEL_UPDATE, article, by=by):
        _set_time(article.update, None)


def publish_update(article: Article, *, by: Person) -> None:
    """The approved newer text takes the place of the present one at this instant."""
    with taking(Step.PUBLISH_UPDATE, article, by=by) as taken:
        taken.notes.revision = adopt(article.update, at=taken.now).number
        announce_published([article.pk])


def discard_update(article: Article, *, by: Person) -> None:
    """Drop the draft of a newer text or, if there is none, the approved one; its revisions stay in the history."""
    with taking(Step.DISCARD_UPDATE, article, by=by):
        update = article.update
        if update.draft is not None:
            update.draft, update.status, update.status_reason = None, Article.Status.DRAFT, ""
        else:
            update.approved = update.publish_at = None
        keep_or_drop(update)


def update_due(article_ids: Collection[int]) -> Outcome:
    """Let approved newer texts whose time has come replace the present ones, in the caller's transaction.

    Never waits for an article that somebody is editing.
    """
    outcome, now = Outcome(at=read_database_clock()), read_database_clock()
    locked = {article.pk: article for article in Article.objects.filter(pk__in=article_ids).locked_if_free()}
    updates = Update.objects.filter(article__in=locked).select_related("draft", "approved")
    waiting = {update.article_id: update for update in updates if update.approved_id and update.publish_at}
    for pk, article in locked.items():
        _sort(article, waiting.get(pk), now, outcome)
    sort_missing(set(article_ids) - locked.keys(), outcome)
    note_uses(outcome.done)
    record_many(UPDATED, [(article, Standing.of(article)) for article in outcome.done.values()])
    announce_published(outcome.done)
    return outcome


def _sort(article: Article, update: Update | None, now: datetime, outcome: Outcome) -> None:
    if update is None:
        outcome.void[article.pk] = "no approved update waits"
    elif update.publish_at > now:  # type: ignore[operator]
        outcome.early.append(article.pk)
    else:
        update.article = article
        adopt(update, at=now)
        write_columns(article, now)
        outcome.done[article.pk] = article


def write_columns(article: Article, now: datetime) -> None:
    """Store the text of a locked article. Not by `save()`, whose hook would take back the very task that is running."""
    columns = {name: getattr(article, name) for name in (*Text.COLUMNS, "revision")}
    Article.objects.filter(pk=article.pk).update(**columns, updated_at=now)


def _set_time(update: Update, moment: datetime | None) -> None:
    update.publish_at = moment
    update.save()
