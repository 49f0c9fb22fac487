"""What readers miss: articles, updates and releases whose time is past, and releases that failed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from articles.desk.dashboard.attention import concerning
from articles.desk.dashboard.risks import Risk, form_of
from articles.models import Article, ChangeKind, Release, Update, overdue_at
from articles.publishing import Actor

MAX_OVERDUE = 6
_COUNTED = 100  # rows; more are "many"


@dataclass(frozen=True)
class Overdue:
    """The first items, and the number of articles in the list of overdue ones; `more` if counting stopped early."""

    items: list[Risk]
    count: int = 0
    more: bool = False


def overdue(by: Actor, now: datetime) -> Overdue:
    """What concerns the user, longest overdue first."""
    found = sorted((*_articles(by, now), *_updates(by, now), *_releases(by, now)), key=lambda item: item.at)
    if len(found) <= MAX_OVERDUE:
        return Overdue(found, len(found))
    articles = Article.objects.filter(overdue_at(now)).filter(concerning(by))
    count = len(articles.values_list("pk")[: _COUNTED + 1])
    return Overdue(found[:MAX_OVERDUE], min(count, _COUNTED), more=count > _COUNTED)


def _articles(by: Actor, now: datetime) -> Iterator[Risk]:
    rows = Article.objects.unapproved_past_time(now).filter(concerning(by)).order_by("goes_live_at")
    for article in rows.defer("body")[: MAX_OVERDUE + 1]:
        yield Risk(article.goes_live_at or now, article.title, form_of(article), _not_approved(article))


def _updates(by: Actor, now: datetime) -> Iterator[Risk]:
    rows = Update.objects.overdue(now).filter(concerning(by, "article__")).order_by("publish_at")
    related, texts = ("article", "draft"), ("article__body", "draft__body")
    for update in rows.select_related(*related).defer(*texts)[: MAX_OVERDUE + 1]:
        yield Risk(
            update.publish_at or now,
            update.headline,
            form_of(update.article),
            _not_approved(update),
            str(ChangeKind.UPDATE.label),
        )


def _releases(by: Actor, now: datetime) -> Iterator[Risk]:
    """Overdue and failed ones, for users who may view releases."""
    if not by.has_perm("articles.view_release"):  # type: ignore[union-attr]
        return
    failed, late = Release.objects.filter(status=Release.Status.FAILED), Release.objects.overdue(now)
    for release in (*failed.order_by("-publish_at")[:MAX_OVERDUE], *late.order_by("publish_at")[: MAX_OVERDUE + 1]):
        why = release.reason or _("No worker has started it yet.")
        yield Risk(
            release.publish_at or release.updated_at, release.name, form_of(release), why, str(ChangeKind.RELEASE.label)
        )


def _not_approved(text: Article | Update) -> str:
    return _("Not approved: “%(status)s”.") % {"status": text.get_status_display()}
