"""Reading what is due as if a worker had stored it: updates, and releases as a whole.

Readers get an update and a release at their instant by the clock, as they get an article. Until a worker has stored
that, the rows of a request are composed with what is due; afterwards there is nothing to compose.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from datetime import datetime
from typing import Any, cast

from django.db.models import Model, QuerySet, prefetch_related_objects

from articles.fronts import versions_in
from articles.models import (
    Article,
    Correction,
    Due,
    FrontVersion,
    Release,
    ReleaseMember,
    Revision,
    Tag,
    Tagging,
    Text,
    Update,
    reading,
)
from articles.publishing import is_seen
from articles.releases.effects import article_of
from articles.releases.preflight_checks import find_problems, loaded_members
from articles.search import terms_of
from articles.text import language_of
from scheduling.database import Overlay, as_stored, compiled_once, database_now, overlaid

Action = ReleaseMember.Action
Status = Article.Status
MOST_SEARCHED = 100
"""New texts, the latest, that a search reads; others are found by their words before until they are stored.

It takes some milliseconds for each text, in a request that a visitor may repeat with other words.
"""

Changes = defaultdict[str, dict[int, Any]]
"""Column to its values by the id of the row."""


@contextmanager
def as_due() -> Iterator[None]:
    """Let the statements of this block read what is due as stored: one statement, and a few more if something is.

    Within another such block at an earlier instant it holds all that is due by now.
    """
    with as_stored(), composed(plan_of_due()):
        yield


@contextmanager
def composed(plan: Composition) -> Iterator[None]:
    """Let the statements of this block read the tables as `plan` has them."""
    with overlaid(plan.tables()) if plan.is_filled else nullcontext(), reading(plan.due()):
        yield


def _is_due() -> QuerySet[Any]:
    now = database_now()
    return Update.objects.due(now).values("pk").union(Release.objects.due(now).values("pk"))[:1]


def plan_of_due() -> Composition:
    """What is due, unless it fails."""
    now, plan = database_now(), Composition()
    if not compiled_once(_is_due):
        return plan
    for update in Update.objects.due(now).select_related("article", "approved"):
        plan.add_update(update)
    for release in Release.objects.due(now):
        members, versions = loaded_members(release), versions_in(release)
        if not find_problems(members, versions, release.due_since):
            plan.add_release(release, members, versions)
    return plan


class _DueTerms(Mapping[int, tuple[str, str]]):
    """The terms of texts by their articles, found when a search asks for them: other pages would wait for nothing."""

    def __init__(self, texts: Mapping[int, Revision]) -> None:
        self._texts = texts
        self._found: dict[int, tuple[str, str]] = {}

    def __getitem__(self, pk: int) -> tuple[str, str]:
        if pk not in self._found:
            self._found[pk] = terms_of(self._texts[pk])
        return self._found[pk]

    def __iter__(self) -> Iterator[int]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)


class Composition:
    """How tables are read: collected change by change."""

    def __init__(self) -> None:
        self._texts: list[tuple[Article, Revision]] = []
        tables = (Changes(dict) for _table in range(5))
        self._articles, self._releases, self._members, self._updates, self._versions = tables
        self._dropped: list[int] = []
        self._corrected: list[Revision] = []
        self._hidden_corrections: list[int] = []
        self._since: dict[int, datetime] = {}

    @property
    def is_filled(self) -> bool:
        """Whether anything is read otherwise than it is stored."""
        return bool(self._since or self._releases or self._articles or self._hidden_corrections)

    def add_update(self, update: Update, at: datetime | None = None) -> None:
        """The approved text of an update replaces that of its article; its draft stays."""
        text = cast(Revision, update.approved)
        self._texts.append((update.article, text))
        if text.correction:
            self.add_correction(text)
        self._since[update.article_id] = at or update.due_since
        # As the editor has it, who may have opened the article before its instant: no conflict with what is shown then.
        self._change(self._articles, update.article_id, updated_at=max(update.article.updated_at, update.updated_at))
        if update.draft_id is None:
            self._dropped.append(update.pk)
        else:
            self._change(self._updates, update.pk, approved_id=None, publish_at=None)

    def add_release(self, release: Release, members: Iterable[ReleaseMember], versions: Iterable[FrontVersion]) -> None:
        """What `effects` stores of a release, its members, and its versions of fronts."""
        at = release.due_since
        for version in versions:
            self._change(self._versions, version.pk, status=FrontVersion.Status.SCHEDULED, live_from=at)
        self._change(self._releases, release.pk, status=Release.Status.PUBLISHED, published_at=at)
        for member in members:
            article = article_of(member)
            self._since[article.pk] = at
            self._change(self._members, member.pk, holds=None)
            if member.action == Action.PUBLISH:
                times = {"published_at": at, "cleared_at": at, "text_changed_at": at, "goes_live_at": at}
                values = {"status": Status.PUBLISHED, "publish_at": release.publish_at, **times}
                self._change(self._articles, article.pk, **values)
            elif member.action == Action.UPDATE:
                self.add_update(article.update, at)
            else:
                self._change(self._articles, article.pk, status=Status.UNPUBLISHED)

    def show_article(
        self, article: Article, text: Revision | None, *, since: datetime, changed: datetime | None
    ) -> None:
        """An article that readers saw `since`, with this text if it is known, `changed` at that time."""
        values: dict[str, Any] = {"status": Status.PUBLISHED, "unpublish_at": None}
        if article.goes_live_at != since:
            values |= dict.fromkeys(("publish_at", "cleared_at", "goes_live_at", "published_at"), since)
            values["embargo_until"] = None
        is_other = text is not None and text.number != article.revision
        if is_other:
            values["text_changed_at"] = changed
        if text is not None and (is_other or article.status not in Status.passed()):  # the index has no entry of it now
            self._texts.append((article, text))
        self._since[article.pk] = changed or since
        self._change(self._articles, article.pk, **values)

    def hide_article(self, article: Article, status: Article.Status) -> None:
        """An article that readers did not see."""
        self._change(self._articles, article.pk, status=status)

    def show_retractions(self, texts: Mapping[int, str]) -> None:
        """Retracted articles of which readers saw these texts."""
        self._articles["retraction_notice"] |= texts

    def change_release(self, pk: int, status: Release.Status) -> None:
        """A release that had this status."""
        self._change(self._releases, pk, status=status)

    def hide_corrections(self, ids: Iterable[int]) -> None:
        """Corrections that readers did not see."""
        self._hidden_corrections += ids

    def add_correction(self, text: Revision) -> None:
        """A correction that came with a text, which is shown."""
        self._corrected.append(text)

    def tables(self) -> dict[type[Model], Overlay]:
        """How each table is read."""
        prefetch_related_objects([article for article, _revision in self._texts], "tags")
        copied, retagged = set[str](), dict[int, tuple[Article, Collection[str]]]()
        for article, revision in self._texts:
            before, text = Text.of(article), revision.text
            copied |= {name for name in Text.COLUMNS if getattr(before, name) != getattr(text, name)}
            self._change(self._articles, article.pk, revision=revision.number)
            if is_seen(article, before, revision):
                self._change(self._articles, article.pk, text_changed_at=self._since[article.pk])
            if article.language != language_of(text.title):
                self._change(self._articles, article.pk, language=language_of(text.title))
            if before.tags != text.tags:
                retagged[article.pk] = article, text.tags
        copies = {article.pk: revision.pk for article, revision in self._texts}
        return {
            Article: Overlay(changed=self._articles, copied=copied, source=Revision, copies=copies),
            Release: Overlay(changed=self._releases),
            FrontVersion: Overlay(changed=self._versions),
            ReleaseMember: Overlay(changed=self._members),
            Update: Overlay(changed=self._updates, without=self._dropped),
            Tagging: self._taggings(retagged),
            Correction: Overlay(added=list(self._corrections()), without=self._hidden_corrections),
        }

    def due(self) -> Due:
        """What queries know of it besides."""
        latest = sorted(self._texts, key=lambda text: self._since[text[0].pk])[-MOST_SEARCHED:]
        return Due(self._since, _DueTerms({article.pk: revision for article, revision in latest}))

    def _taggings(self, retagged: Mapping[int, tuple[Article, Collection[str]]]) -> Overlay:
        """The tags of new texts, and the copies of the time at which an article goes live."""
        names = {name for _article, tags in retagged.values() for name in tags}
        ids = dict(Tag.objects.filter(name__in=names).values_list("name", "pk")) if names else {}
        pairs = ((article, ids[name]) for article, tags in retagged.values() for name in tags if name in ids)
        times = self._articles["goes_live_at"]
        added = [
            {"id": -number, "article_id": article.pk, "tag_id": tag}
            | {"goes_live_at": times.get(article.pk, article.goes_live_at)}
            for number, (article, tag) in enumerate(pairs, start=1)
        ]
        return Overlay(changed={"goes_live_at": times}, without=retagged.keys(), added=added, key="article_id")

    def _corrections(self) -> Iterator[dict[str, Any]]:
        for revision in self._corrected:
            note = {"note": revision.correction, "published_at": self._since[revision.article_id]}
            yield {"id": -revision.pk, "article_id": revision.article_id, "revision_id": revision.pk, **note}

    def _change(self, table: Changes, pk: int, **values: Any) -> None:
        for name, value in values.items():
            table[name][pk] = value
