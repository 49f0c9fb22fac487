"""Store imported articles, many in one transaction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from django.contrib.auth.base_user import AbstractBaseUser
from django.db import IntegrityError, transaction
from django.db.models import F, prefetch_related_objects
from django.utils.translation import gettext as _

from articles.audit import IMPORT, StateSnapshot, record_many
from articles.exchange.digest import AROUND, STATE, Fingerprint, ImportedArticle, signature
from articles.exchange.external_id import own_ids
from articles.exchange.validate import BYLINE
from articles.images import update_uses
from articles.models import (
    Article,
    Channel,
    Correction,
    CoverMode,
    ReleaseMember,
    Revision,
    Tag,
    Text,
    context_of,
)
from articles.publishing import (
    IN_REVIEW,
    add_revisions,
    apply_import,
    channels_named,
    held,
    pin_all,
    sync_tasks,
    tag_all,
    tags_named,
    users_named,
)
from articles.search import index
from articles.text import references
from scheduling.services import database_now, lock_by_ids, read_database_clock, retried

Status = Article.Status


@dataclass
class Tally:
    """Counts of an import's results."""

    created: int = 0
    updated: int = 0
    skipped: int = 0
    failed: int = 0

    def add(self, other: Tally) -> None:
        """Add the counts of `other`."""
        self.created += other.created
        self.updated += other.updated
        self.skipped += other.skipped
        self.failed += other.failed

    def __str__(self) -> str:
        return f"created={self.created} updated={self.updated} skipped={self.skipped} failed={self.failed}"


_COLLISIONS = 4  # with other imports of the same articles, after which the error is reported


def store(chunk: Sequence[ImportedArticle], *, dry_run: bool = False) -> Tally:
    """Store all articles of `chunk` in one transaction, with channels, tags and tasks, or none.

    Articles are matched by their external id, which must be unique in `chunk`. Articles that were exported from here
    are skipped, and so are those with the same content as here or as in the last import, so that edits made here since
    then stay. Otherwise the file's text, channel and tags replace ours. Status and times are replaced only if they are
    unchanged since the last import, the article is not live and no release contains it. A text that is not approved in
    the file never replaces one that was approved here; it becomes a pending update. `dry_run` rolls everything back.
    """
    for _attempt in range(_COLLISIONS):
        with suppress(IntegrityError):  # another import has just stored some of them: they are found on the next try
            return _store(chunk, dry_run=dry_run)
    return _store(chunk, dry_run=dry_run)


@retried
def _store(chunk: Sequence[ImportedArticle], *, dry_run: bool) -> Tally:
    known = _known(chunk)
    own = own_ids(item.external_id for item in chunk)
    new = [item for item in chunk if item.external_id not in known and item.external_id not in own]
    changes = _changes(chunk, known, read_database_clock())
    context = Context.of([*new, *(change.item for change in changes if change.content)])
    prefetch_related_objects([change.article for change in changes], "tags")
    changes = [change for change in changes if change.state or not context.is_unchanged(change)]
    _write(new, changes, context)
    transaction.set_rollback(dry_run)
    return Tally(created=len(new), updated=len(changes), skipped=len(chunk) - len(new) - len(changes))


@dataclass(frozen=True, slots=True)
class Change:
    """A change of an article by a repeated import: of its content, its state or both."""

    article: Article
    item: ImportedArticle
    content: bool
    state: bool

    @property
    def is_for_editors(self) -> bool:
        """Whether the text must go through the review: the article was approved or is in review here, and the text is
        not approved in the file.
        """
        vouched = self.item.status in Status.passed() and self.article.status in Status.passed()
        under_way = self.article.status in (*Status.passed(), *IN_REVIEW, Status.RETRACTED)
        return self.content and not self.state and under_way and not vouched


def _known(chunk: Iterable[ImportedArticle]) -> dict[str, Article]:
    """The stored articles by the external ids of the file, each once."""
    found = _ids([item.external_id for item in chunk])
    former = [item for item in chunk if item.former_ids and item.external_id not in found]
    found_before = _ids([each for item in former for each in item.former_ids])
    articles = {article.pk: article for article in lock_by_ids(Article, [*found.values(), *found_before.values()])}
    # Those that were deleted before they could be locked are new again.
    known = {external_id or "": articles[pk] for external_id, pk in found.items() if pk in articles}
    free = {each: articles[pk] for each, pk in found_before.items() if pk in articles and pk not in found.values()}
    for item in former:
        same = [each for each in item.former_ids if each in free and _is_same(free[each], item)]
        if same:
            known[item.external_id] = free.pop(same[0])
    return known


def _is_same(article: Article, item: ImportedArticle) -> bool:
    """Whether an id that is not unique across sources means this article."""
    return article.title == item.lines["title"] or Fingerprint.on(article).content in item.former_digests


def _changes(chunk: Iterable[ImportedArticle], known: dict[str, Article], now: datetime) -> list[Change]:
    bound = held([article.pk for article in known.values()], ReleaseMember.Action.PUBLISH)
    pairs = [(known[item.external_id], item) for item in chunk if item.external_id in known]
    changes = [_change(article, item, now, is_bound=article.pk in bound) for article, item in pairs]
    return [change for change in changes if change.content or change.state]


def _change(article: Article, item: ImportedArticle, now: datetime, *, is_bound: bool) -> Change:
    last = Fingerprint.on(article)
    content = last.content not in {item.digest, *item.former_digests}
    no_longer_held = last.held and not item.held
    untouched = last.state == signature(article) and not _is_visible(article, now) and not is_bound
    return Change(article, item, content, state=(content or no_longer_held) and untouched)


def _is_visible(article: Article, now: datetime) -> bool:
    goes_live_at = article.goes_live_at
    return article.status in Article.Status.visible() and goes_live_at is not None and goes_live_at <= now


def _write(new: Sequence[ImportedArticle], changes: Sequence[Change], context: Context) -> None:
    created = _create(new, context)
    _apply([change for change in changes if not change.is_for_editors], context)
    for change in changes:
        if change.is_for_editors:
            apply_import(change.article, changes=context.text(change.item), note=_("Imported"))
            Article.objects.filter(pk=change.article.pk).update(external_digest=str(Fingerprint.of(change.item)))
    written = [article.pk for article in created] + [change.article.pk for change in changes]
    sync_tasks(written)
    index(written)
    with_images = [article.pk for article in created if article.images or article.cover]
    update_uses(with_images + [change.article.pk for change in changes if change.content])
    _record(created, changes)


def _create(new: Sequence[ImportedArticle], context: Context) -> list[Article]:
    """Store new articles with their first revisions."""
    created = [_new_article(item, context) for item in new]
    Article.objects.bulk_create(created)
    ids = _ids([item.external_id for item in new])
    for article in created:
        article.pk = ids[article.external_id]
    names = {article.pk: context.tag_names(item) for article, item in zip(created, new, strict=True)}
    tag_all({article.pk: item.tags for article, item in zip(created, new, strict=True)}, context.tags)
    texts = {article.pk: Text.of(article, names[article.pk]) for article in created}
    contexts = {article.pk: context_of(article, texts[article.pk]) for article in created}
    add_revisions(texts, note=_("Imported"), contexts=contexts)
    _add_corrections(dict(zip((article.pk for article in created), new, strict=True)))
    return created


def _add_corrections(new: dict[int, ImportedArticle]) -> None:
    """The corrections of new articles, whose only revision is the corrected text."""
    corrected = {pk: item for pk, item in new.items() if item.corrections}
    revisions = Revision.objects.filter(article__in=corrected).values_list("article_id", "pk") if corrected else []
    Correction.objects.bulk_create(
        Correction(article_id=article, revision_id=revision, note=note, published_at=at)
        for article, revision in revisions
        for note, at in corrected[article].corrections
    )


def _apply(changes: Sequence[Change], context: Context) -> None:
    """Change existing articles; each new text becomes a revision."""
    content = [change for change in changes if change.content]
    pin_all([change.article for change in content])
    numbers = add_revisions({one.article.pk: context.replaced(one) for one in content}, note=_("Imported"))
    rows: defaultdict[tuple[tuple[str, ...], bool], list[tuple[Any, ...]]] = defaultdict(list)
    for change in changes:
        values = _new_values(change, context)
        if change.article.pk in numbers:
            values["revision"] = numbers[change.article.pk]
        looks_the_same = change.content and not context.is_visible_change(change)
        stored = (getattr(value, "pk", value) for value in values.values())
        rows[tuple(values), looks_the_same].append((change.article.pk, *stored))
    now = read_database_clock()
    for (names, looks_the_same), some in rows.items():
        kept = {"text_changed_at": F("text_changed_at")} if looks_the_same else {}
        Article.objects.update_each(names, some, updated_at=now, **kept)
    tag_all({change.article.pk: change.item.tags for change in content}, context.tags)


def _record(created: Iterable[Article], changes: Iterable[Change]) -> None:
    entries = [(article, StateSnapshot()) for article in created]
    for change in changes:
        before = StateSnapshot.of(change.article)
        for name in STATE if change.state else ():
            setattr(change.article, name, getattr(change.item, name))
        entries.append((change.article, before))
    record_many(IMPORT, entries)


@dataclass(frozen=True, slots=True)
class Context:
    """The channels, users and tags of one chunk, by name."""

    channels: dict[str, Channel]
    users: dict[str, AbstractBaseUser]
    tags: dict[str, Tag]

    @classmethod
    def of(cls, items: Sequence[ImportedArticle]) -> Self:
        """Find or create channels and tags, and find users."""
        return cls(
            channels_named({item.channel: item.new_channel for item in items if item.channel}),
            users_named({item.author for item in items if item.author}),
            tags_named({name: item.tag_slugs.get(name, "") for item in items for name in item.tags}),
        )

    def tag_names(self, item: ImportedArticle) -> set[str]:
        """The stored names of its tags."""
        return {self.tags[name].name for name in item.tags}

    def text(self, item: ImportedArticle) -> dict[str, Any]:
        """The text fields of `content` and the tags."""
        values = {name: value for name, value in self.content(item).items() if name in Text.NAMES}
        return {**values, "tags": {self.tags[name] for name in item.tags}}

    def replaced(self, change: Change) -> Text:
        """The new text of a changed article."""
        return Text.of(change.article).changed(self.text(change.item))

    def is_unchanged(self, change: Change) -> bool:
        """Whether the article has the text and author of the file already."""
        author = self.content(change.item)["author"]
        return author == change.article.author and Text.of(change.article) == self.replaced(change)

    def is_visible_change(self, change: Change) -> bool:
        """Whether readers see the change."""
        author, byline = (self.content(change.item)[name] for name in ("author", "byline"))
        by_another = not byline and (author and author.pk) != change.article.author_id
        return change.state or by_another or not Text.of(change.article).looks_like(self.replaced(change))

    def content(self, item: ImportedArticle) -> dict[str, Any]:
        """The text, channel and author. The name of an unknown author becomes the byline."""
        author = self.users.get(item.author)
        name = item.author_name or ("" if author or "@" in item.author else item.author)
        is_named = author is not None and bool(author.get_full_name())  # type: ignore[attr-defined]
        return {
            **item.lines,
            "slug": item.slug,
            "body": item.body,
            **item.chosen_cover,
            "channel": self.channels.get(item.channel),
            "author": author,
            "byline": item.lines["byline"] or ("" if is_named else name[:BYLINE]),
        }


def _state(item: ImportedArticle) -> dict[str, Any]:
    return {name: getattr(item, name) for name in (*STATE, *AROUND)}


def _new_article(item: ImportedArticle, context: Context) -> Article:
    origin = {"external_id": item.external_id, "external_digest": str(Fingerprint.of(item)), "revision": 1}
    cover = {"cover": CoverMode.AUTO.cover([], references(item.body))}
    visible_since = item.published_at or database_now() if item.status in Status.visible() else None
    changed = {"text_changed_at": item.text_changed_at or visible_since}
    return Article(**origin, **cover | context.content(item), **_state(item), **changed)


def _new_values(change: Change, context: Context) -> dict[str, Any]:
    values = {"external_digest": str(Fingerprint.of(change.item))}
    if change.content:
        mode, chosen = CoverMode(change.article.cover_mode), change.article.cover
        values |= {"cover": mode.cover(chosen, references(change.item.body))} | context.content(change.item)
    return values | _new_state(change.item) if change.state else values


def _new_state(item: ImportedArticle) -> dict[str, Any]:
    """The columns of the state; an approved article is cleared now."""
    is_waiting = item.status in Status.waiting()
    return _state(item) | ({"cleared_at": read_database_clock()} if is_waiting else {})


def _ids(external_ids: Sequence[str]) -> dict[str | None, int]:
    """MySQL returns no ids from a bulk insert."""
    return dict(Article.objects.filter(external_id__in=external_ids).values_list("external_id", "pk"))
