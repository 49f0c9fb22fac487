"""Items at risk: unapproved articles and updates due soon, and releases with blocking issues."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Model, Q
from django.urls import reverse
from django.utils.translation import ngettext

from articles.desk.dashboard.attention import concerning
from articles.fronts import versions_in
from articles.models import AT_RISK_WITHIN, GOES_LIVE_COLUMNS, Article, ChangeKind, Release, Update
from articles.publishing import Actor
from articles.releases import find_problems, members_without_texts

MAX_RISKS = 6
_READ = 50


@dataclass(frozen=True)
class Risk:
    """An item due at `at`; `why` says what is missing."""

    at: datetime
    title: str
    address: str
    why: str
    kind: str = ""  #: empty for an article


def at_risk(by: Actor, now: datetime) -> list[Risk]:
    """The first items at risk that concern the user, soonest first."""
    found = (*_articles(by, now), *_updates(by, now), *_releases(by, now))
    return sorted(found, key=lambda risk: risk.at)[:MAX_RISKS]


def _articles(by: Actor, now: datetime) -> Iterator[Risk]:
    rows = Article.objects.at_risk(now).filter(concerning(by)).order_by("goes_live_at")
    for article in rows.only("title", "status", *GOES_LIVE_COLUMNS)[:MAX_RISKS]:
        yield Risk(article.goes_live_at or now, article.title, form_of(article), article.get_status_display())


def _updates(by: Actor, now: datetime) -> Iterator[Risk]:
    rows = Update.objects.at_risk(now).filter(concerning(by, "article__")).order_by("publish_at")
    for update in rows.select_related("article", "draft").defer("article__body", "draft__body")[:MAX_RISKS]:
        form, why = form_of(update.article), update.get_status_display()
        yield Risk(update.publish_at or now, update.headline, form, why, str(ChangeKind.UPDATE.label))


def _releases(by: Actor, now: datetime) -> Iterator[Risk]:
    if not by.has_perm("articles.view_release"):  # type: ignore[union-attr]
        return
    soon = Q(publish_at__gt=now, publish_at__lte=now + AT_RISK_WITHIN)
    for release in Release.objects.scheduled().filter(soon).order_by("publish_at")[:_READ]:
        at = release.publish_at or now
        if number := len(find_problems(members_without_texts(release), versions_in(release), at)):
            why = ngettext("%d blocking issue", "%d blocking issues", number) % number
            yield Risk(at, release.name, form_of(release), why, str(ChangeKind.RELEASE.label))


def form_of(row: Model) -> str:
    """The URL of its form."""
    return reverse(f"admin:articles_{row._meta.model_name}_change", args=[row.pk])
