"""Store imported articles, many in one transaction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Self

from django.contrib.auth.base_user import AbstractBaseUser
from django.db import IntegrityError, transaction
from django.db.models import F, prefetch_related_objects
from django.utils.translation import gettext as _

from articles.audit import (
    Action,
    StateSnapshot,
    record_many,
)
from articles.exchange.digest import (
    AROUND,
    NEW_CHANNEL,
    STATE,
    Fingerprint,
    ImportedArticle,
    ImportedNote,
    ImportedText,
    signature,
)
from articles.exchange.external_id import own_ids
from articles.exchange.numbers import given_numbers
from articles.exchange.validate import BYLINE
from articles.images import update_uses
from articles.models import (
    Alert,
    Article,
    Channel,
    Correction,
    CoverMode,
    Note,
    ReleaseMember,
    Revision,
    Tag,
    Text,
    Update,
    context_of,
)
from articles.publishing import (
    IN_REVIEW,
    add_revisions,
    apply_import,
    channels_named,
    end_before_next_change,
    held,
    pin_all,
    sync_tasks,
    tag_all,
    tags_named,
    users_named,
)
from articles.review import needs_second_person
from articles.search import index
from articles.text import references
from scheduling.database import database_now, lock_by_ids, read_database_clock, retried

Status = Article.Status


@dataclass
class Tally:
    """Counts of an import's results."""

    created: int = 0
    updated: int = 0
    skipped: int = 0
    failed: int = 0
    renumbered: int = 0  #: of the created articles, those whose number was taken
    incomplete: int = 0  #: and those with the name of an owner or writer who has no account here

    def add(self, other: Tally) -> None:
        """Add the counts of `other`."""
        self.created += other.created
        self.updated += other.updated
        self.skipped += other.skipped
        self.failed += other.failed
        self.renumbered += other.renumbered
        self.incomplete += other.incomplete

    def __str__(self) -> str:
        return f"created={self.created} updated={self.updated} skipped={self.skipped} failed={self.failed}"


_COLLISIONS = 4  # with other imports of the same articles, after which the error is reported


def store(chunk: Sequence[ImportedArticle], *, highest: int = 0, dry_run: bool = False) -> Tally:
    """Store all articles of `chunk` in one transaction, with channels, tags and tasks, or none.

    New ones keep their numbers if those were never given here; `highest` is the highest in the file.

    Articles are matched by their external id, which must be unique in `chunk`. Articles that were exported from here
    are skipped, and so are those with the same content as here or as in the last import, so that edits made here since
    then stay. Otherwise the file's text, channel and tags replace ours. Status and times are replaced only if they are
    unchanged since the last import, the article is not live and no release contains it. A text that is not approved in
    the file never replaces one that was approved here; it becomes a pending update. `dry_run` rolls everything back.
    """
    for _attempt in range(_COLLISIONS):
        with suppress(IntegrityError):  # another import has just stored some of them: they are found on the next try
            return _store(chunk, highest=highest, dry_run=dry_run)
    return _store(chunk, highest=highest, dry_run=dry_run)


@retried
def _store(chunk: Sequence[ImportedArticle], *, highest: int, dry_run: bool) -> Tally:
    known = _known(chunk)
    own = own_ids(item.external_id for item in chunk)
    new = [item for item in chunk if item.external_id not in known and item.external_id not in own]
    now = read_database_clock()
    changes = _changes(chunk, known, now)
    context = Context.of([*new, *(change.item for change in changes if change.content)])
    prefetch_related_objects([change.article for change in changes], "tags")
    changes = [change for change in changes if change.state or not context.is_unchanged(change)]
    for change in changes:
        if change.state:
            end_before_next_change(change.article, now)
    numbers = given_numbers(Article, [item.number for item in new], highest=highest)
    _write(new, numbers, changes, context)
    transaction.set_rollback(dry_run)
    renumbered = sum(number != item.number for number, item in zip(numbers, new, strict=True))
    # A dry run has stored no accounts.
    incomplete = 0 if dry_run else sum(bool(item.users - {item.author} - context.users.keys()) for item in new)
    skipped = len(chunk) - len(new) - len(changes)
    return Tally(len(new), len(changes), skipped, renumbered=renumbered, incomplete=incomplete)


@dataclass(frozen=True, slots=True)
class ImportedChange:
    """A change of an article by a repeated import: of its content, its state or both."""

    article: Article
    item: ImportedArticle
    content: bool
    state: bool

    @property
    def is_for_editors(self) -> bool:
        """Whether the text must go through the review: the article was approved or is in review here, and the text is
        not approved in the file; under the two-person rule that is no approval by a second person.
        """
        vouched = {self.item.status, self.article.status} <= {*Status.passed()} and not needs_second_person()
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


def _changes(chunk: Iterable[ImportedArticle], known: dict[str, Article], now: datetime) -> list[ImportedChange]:
    bound = held([article.pk for article in known.values()], ReleaseMember.Action.PUBLISH)
    pairs = [(known[item.external_id], item) for item in chunk if item.external_id in known]
    changes = [_change(article, item, now, is_bound=article.pk in bound) for article, item in pairs]
    return [change for change in changes if change.content or change.state]


def _change(article: Article, item: ImportedArticle, now: datetime, *, is_bound: bool) -> ImportedChange:
    last = Fingerprint.on(article)
    content = last.content not in {item.digest, *item.former_digests}
    no_longer_held = last.held and not item.held
    untouched = last.state == signature(article) and not _is_visible(article, now) and not is_bound
    return ImportedChange(article, item, content, state=(content or no_longer_held) and untouched)


def _is_visible(article: Article, now: datetime) -> bool:
    goes_live_at = article.goes_live_at
    return article.status in Article.Status.visible() and goes_live_at is not None and goes_live_at <= now


def _write(
    new: Sequence[ImportedArticle], numbers: Sequence[int | None], changes: Sequence[ImportedChange], context: Context
) -> None:
    created = _create(new, numbers, context)
    _apply([change for change in changes if not change.is_for_editors], context)
    for change in changes:
        if change.is_for_editors:
            apply_import(change.article, changes=context.text(change.item), note=_("Imported"))
            Article.objects.filter(pk=change.article.pk).update(external_digest=str(Fingerprint.of(change.item)))
    written = [article.pk for article in created] + [change.article.pk for change in changes]
    sync_tasks(written)
    index(written)
    updated = {article.pk for article, item in zip(created, new, strict=True) if item.update}
    with_images = [article.pk for article in created if article.pk in updated or article.images or article.cover]
    update_uses(with_images + [change.article.pk for change in changes if change.content])
    _record(created, changes)


def _create(new: Sequence[ImportedArticle], numbers: Sequence[int | None], context: Context) -> list[Article]:
    """Store new articles with their first revisions, and what else the file has of them."""
    created = [_new_article(item, number, context) for item, number in zip(new, numbers, strict=True)]
    Article.objects.bulk_create(created)
    ids = _ids([item.external_id for item in new])
    for article in created:
        article.pk = ids[article.external_id]
    items = dict(zip((article.pk for article in created), new, strict=True))
    dated = [(pk, item.created_at) for pk, item in items.items() if item.created_at]
    Article.objects.update_each(["created_at"], dated)  # Django has written the present time
    tag_all({pk: item.tags for pk, item in items.items()}, context.tags)
    texts = {article.pk: Text.of(article, context.tag_names(items[article.pk].tags)) for article in created}
    contexts = {article.pk: context_of(article, texts[article.pk]) for article in created}
    _add_former_slugs(texts, items)
    add_revisions(texts, note=_("Imported"), contexts=contexts)
    _add_corrections(items)
    _add_updates([article for article in created if items[article.pk].update], items, context)
    _add_notes(items, context)
    return created


def _add_former_slugs(texts: Mapping[int, Text], items: Mapping[int, ImportedArticle]) -> None:
    """Revisions by which the former addresses of new articles lead to them, as they did in the file's newsroom."""
    Revision.objects.bulk_create(
        Revision.holding(
            replace(texts[pk], slug=slug), article_id=pk, number=number, note=_("Imported: former address")
        )
        for pk, item in items.items()
        for number, slug in enumerate(item.former_slugs, start=1)
    )


def _add_updates(articles: Iterable[Article], items: Mapping[int, ImportedArticle], context: Context) -> None:
    """The pending updates of new articles, with their texts as revisions after the present one."""
    pending = []
    for article in articles:
        item = items[article.pk]
        if item.update is None:
            continue
        update = Update(
            article=article,
            status=item.update.status,
            status_reason=item.update.status_reason,
            publish_at=item.update.publish_at,
        )
        for number, text in enumerate(item.texts_of_update, start=article.revision + 1):
            revision = _revision_of(text, article, number, update, context)
            revision.save()
            setattr(update, "draft" if text is item.update.draft else "approved", revision)
        pending += [update] if item.update.is_kept else []
    Update.objects.bulk_create(pending)


def _revision_of(text: ImportedText, article: Article, number: int, update: Update, context: Context) -> Revision:
    channel = context.channels.get(text.channel)
    chosen = CoverMode(text.cover_mode).cover(text.cover, references(text.body))
    held = Text(
        **text.lines,
        slug=text.slug,
        body=text.body,
        channel_id=channel.pk if channel else None,
        tags=tuple(sorted(context.tag_names(text.tags))),
        cover_mode=text.cover_mode,
        cover=chosen,
    )
    return Revision.holding(
        held,
        article=article,
        number=number,
        author=context.users.get(text.saved_by),
        note=text.note,
        correction=text.correction,
        context=context_of(article, held, update),
    )


def _add_notes(items: Mapping[int, ImportedArticle], context: Context) -> None:
    """The notes of new articles. No one is notified of them again."""
    found = [(_note(note, pk, context), note.replies) for pk, item in items.items() for note in item.notes]
    Note.objects.bulk_create([thread for thread, _replies in found])
    Note.objects.bulk_create(
        _note(reply, thread.article_id, context, thread=thread) for thread, replies in found for reply in replies
    )


def _note(note: ImportedNote, article_id: int, context: Context, *, thread: Note | None = None) -> Note:
    users: dict[str, Any] = context.users
    return Note(
        article_id=article_id,
        thread=thread,
        author=users.get(note.author),
        text=note.text,
        quote=note.quote,
        prefix=note.prefix,
        suffix=note.suffix,
        created_at=note.created_at,
        edited_at=note.edited_at,
        resolved_at=note.resolved_at,
        resolved_by=users.get(note.resolved_by),
    )


def _add_corrections(new: Mapping[int, ImportedArticle]) -> None:
    """The corrections of new articles, whose newest revision is the corrected text."""
    corrected = {pk: item for pk, item in new.items() if item.corrections}
    found = Revision.objects.filter(article__in=corrected, number=F("article__revision"))
    revisions = found.values_list("article_id", "pk") if corrected else []
    Correction.objects.bulk_create(
        Correction(article_id=article, revision_id=revision, note=note, published_at=at)
        for article, revision in revisions
        for note, at in corrected[article].corrections
    )


def _apply(changes: Sequence[ImportedChange], context: Context) -> None:
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
    _disarm([change.article.pk for change in changes if change.state])


def _disarm(article_ids: Sequence[int]) -> None:
    """Let no alert be pushed because an import has published its article."""
    live = Article.objects.live(read_database_clock()).filter(pk__in=article_ids).values_list("pk", flat=True)
    Alert.objects.filter(push_since__isnull=False, article__in=list(live)).update(push_since=None)


def _record(created: Iterable[Article], changes: Iterable[ImportedChange]) -> None:
    entries = [(article, StateSnapshot()) for article in created]
    for change in changes:
        before = StateSnapshot.of(change.article)
        for name in STATE if change.state else ():
            setattr(change.article, name, getattr(change.item, name))
        entries.append((change.article, before))
    record_many(Action.IMPORT, entries)


@dataclass(frozen=True, slots=True)
class Context:
    """The channels, users and tags of one chunk, by name."""

    channels: dict[str, Channel]
    users: dict[str, AbstractBaseUser]
    tags: dict[str, Tag]

    @classmethod
    def of(cls, items: Sequence[ImportedArticle]) -> Self:
        """Find or create channels and tags, and find users."""
        updated = [(item, text) for item in items for text in item.texts_of_update]
        channels = {text.channel: NEW_CHANNEL for _item, text in updated if text.channel}
        tags = {name: item.tag_slugs.get(name, "") for item, text in updated for name in text.tags}
        return cls(
            channels_named(channels | {item.channel: item.new_channel for item in items if item.channel}),
            users_named({name for item in items for name in item.users}),
            tags_named(tags | {name: item.tag_slugs.get(name, "") for item in items for name in item.tags}),
        )

    def tag_names(self, tags: Iterable[str]) -> set[str]:
        """The stored names of these tags of the file."""
        return {self.tags[name].name for name in tags}

    def text(self, item: ImportedArticle) -> dict[str, Any]:
        """The text fields of `content` and the tags."""
        values = {name: value for name, value in self.content(item).items() if name in Text.NAMES}
        return {**values, "tags": {self.tags[name] for name in item.tags}}

    def replaced(self, change: ImportedChange) -> Text:
        """The new text of a changed article."""
        return Text.of(change.article).changed(self.text(change.item))

    def is_unchanged(self, change: ImportedChange) -> bool:
        """Whether the article has the text and author of the file already."""
        author = self.content(change.item)["author"]
        return author == change.article.author and Text.of(change.article) == self.replaced(change)

    def is_visible_change(self, change: ImportedChange) -> bool:
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


def _new_article(item: ImportedArticle, number: int | None, context: Context) -> Article:
    origin: dict[str, Any] = {
        "pk": number,
        "external_id": item.external_id,
        "external_digest": str(Fingerprint.of(item)),
    }
    owned = {"owner": context.users.get(item.owner), "due_at": item.due_at, "revision": 1 + len(item.former_slugs)}
    cover = {"cover": CoverMode.AUTO.cover([], references(item.body))}
    visible_since = item.published_at or database_now() if item.status in Status.visible() else None
    changed = {"text_changed_at": item.text_changed_at or visible_since}
    return Article(**origin, **owned, **cover | context.content(item), **_state(item), **changed)


def _new_values(change: ImportedChange, context: Context) -> dict[str, Any]:
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
