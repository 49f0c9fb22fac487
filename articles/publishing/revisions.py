"""Revisions: storing every text, and copying the approved one to the article's columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.db.models import F, Max, Q, prefetch_related_objects
from django.utils.translation import gettext as _

from articles.audit import (
    APPROVED,
    Action,
)
from articles.models import (
    Article,
    AuditEntry,
    Correction,
    Image,
    Review,
    Revision,
    Tag,
    Text,
    Update,
    as_id,
    context_of,
)
from articles.publishing.resolve import tags_named
from articles.publishing.store import store_update
from articles.publishing.transitions import lock
from scheduling.database import lock_by_ids, retried


def pinned(article: Article) -> Revision:
    """The revision of the text in the columns of a locked article.

    Text that was written without a revision (`QuerySet.update`, another program) becomes one here. It has no author,
        unless only names of tags differ: then the author of the text stays.
    """
    text = Text.of(article)
    found = article.revisions.filter(number=article.revision).first()
    if found is not None and found.digest == text.digest:
        return found
    author = found.author if found and replace(found.text, tags=text.tags) == text else None
    found = Revision.objects.add(article, text, author=author)
    article.holds(found)
    return found


def pin_all(articles: Sequence[Article]) -> None:
    """As `pinned` for many articles: a few statements, unless texts were written without a revision."""
    prefetch_related_objects(articles, "tags")
    rows = Revision.objects.filter(article__in=articles, number=F("article__revision"))
    digests = dict(rows.values_list("article", "digest"))
    for article in articles:
        if digests.get(article.pk) != Text.of(article).digest:
            pinned(article)


def add_revisions(
    texts: Mapping[int, Text], *, note: str, contexts: Mapping[int, dict[str, Any]] | None = None
) -> dict[int, int]:
    """Store the next revisions of locked or new articles (by id) in a few statements; returns their numbers."""
    contexts = contexts or {}
    found = Revision.objects.filter(article__in=texts).order_by().values_list("article")
    last = dict(found.annotate(last=Max("number")))
    numbers = {pk: last.get(pk, 0) + 1 for pk in texts}
    Revision.objects.bulk_create(
        Revision.holding(text, article_id=pk, number=numbers[pk], note=note, context=contexts.get(pk))
        for pk, text in texts.items()
    )
    return numbers


def newest(article: Article) -> Revision:
    """The text that editors continue: the draft of the update, its approved text, or that of the columns."""
    pending_update = article.pending_update
    return (pending_update and (pending_update.draft or pending_update.approved)) or pinned(article)


def under_review(article: Article) -> tuple[Article | Update, Revision]:
    """The subject of a review and its text: the draft of the update, or the article itself.

    What readers see with the text is part of it: if that has changed, the text becomes a new revision by the same
    author. So a revision's number stands for everything that a reviewer read, and all of it stays locked until the
    caller's transaction ends.
    """
    _lock_images_and_tags(article)
    pending_update = article.pending_update
    if pending_update and pending_update.draft:
        pending_update.draft, was = _with_context(article, pending_update.draft), pending_update.draft
        if pending_update.draft != was:
            store_update(pending_update)
        return pending_update, pending_update.draft
    found = pinned(article)
    revision = _with_context(article, found)
    if revision != found:
        article.holds(revision)
    return article, revision


def _lock_images_and_tags(article: Article) -> None:
    """A change of an image or tag first checks whether the article is approved, and waits for these locks."""
    pending_update = article.pending_update
    shown = (pending_update.draft.text if pending_update and pending_update.draft else Text.of(article)).shown
    if ids := [pk for pk in map(as_id, shown) if pk]:
        # In one order each time; a change of an image or tag waits here until the text is decided.
        list(lock_by_ids(Image, ids).values_list("pk"))
    tags = article.tags.through.objects.filter(article=article).values_list("tag", flat=True)
    list(lock_by_ids(Tag, tags).values_list("pk"))


def _with_context(article: Article, revision: Revision) -> Revision:
    """The revision itself or, if its context has changed, a new one of the same text."""
    if revision.context == context_of(article, revision.text, article.pending_update):
        return revision
    note = _("The same text, with other times, author or image texts")
    text, author = revision.text, revision.author
    new = Revision.objects.add(article, text, author=author, note=note, correction=revision.correction)
    copy_findings(revision, new)
    return new


def copy_findings(revision: Revision, new: Revision) -> None:
    """Give a new revision of the same text what the automatic review found in `revision`."""
    for review in Review.objects.filter(revision=revision):
        Review.objects.create(revision=new, findings=review.findings)


def renumber(article: Article) -> None:
    """After a change of a locked article, give a text in review a new revision if its context has changed."""
    pending_update = article.pending_update
    status = pending_update.status if pending_update and pending_update.draft else article.status
    if status in Article.Status.in_review():
        under_review(article)


def for_review(article: Article) -> Revision:
    """The revision for a reviewer to read: as `under_review`, for an article that is not locked."""
    pending_update = article.pending_update
    draft = pending_update and pending_update.draft
    found = draft or article.revisions.filter(number=article.revision).first()
    text = found.text if found and draft else Text.of(article)
    if found and found.digest == text.digest and found.context == context_of(article, text, pending_update):
        return found
    # A reviewer reads far more often than something has changed: the usual case above takes no lock.
    return _found_locked(article)


@retried
def _found_locked(article: Article) -> Revision:
    lock(article)
    return under_review(article)[1]


def last_approved(article: Article) -> Revision | None:
    """The newest text that was ever approved; None without one."""
    pending_update = article.pending_update
    if pending_update and pending_update.approved:
        return pending_update.approved
    if article.status in Article.Status.passed():
        return article.revisions.filter(number=article.revision).first()
    entries = AuditEntry.objects.of(article).filter(APPROVED | Q(action=Action.PULLED_BACK), revision__isnull=False)
    number = entries.values_list("revision", flat=True).first()
    return article.revisions.filter(number=number).first() if number else None


def put_into_columns(article: Article, revision: Revision) -> None:
    """Give a locked article the text of `revision`; the caller saves it."""
    text = revision.text
    for name, value in text.columns.items():
        setattr(article, name, value)
    article.revision = revision.number
    # By name, not by id: a tag may have been deleted since the revision was stored, and is created again.
    article.tags.set(tags_named(text.tags).values())


def adopt(update: Update, *, at: datetime) -> Revision:
    """The approved text of an update replaces that of its article, which the caller has locked and saves."""
    article, revision = update.article, update.approved
    assert revision is not None  # noqa: S101 (the caller chose an update that has one)
    before = pinned(article).text
    if is_seen(article, before, revision):
        article.text_changed_at = at
    put_into_columns(article, revision)
    if revision.correction:
        Correction.objects.create(article=article, revision=revision, note=revision.correction, published_at=at)
    update.approved = update.publish_at = None
    keep_or_drop(update)
    return revision


def is_seen(article: Article, before: Text, revision: Revision) -> bool:
    """Whether readers notice, now or when the article is live, that `revision` replaces the text `before`."""
    is_other = bool(revision.correction) or not before.looks_like(revision.text)
    return is_other and article.status in Article.Status.visible()


def date_corrections(article: Article, *, at: datetime) -> None:
    """Date corrections made while a locked article was unpublished to `at`, when it is live again."""
    article.corrections.filter(published_at__gt=article.modified_at).update(published_at=at)


def keep_or_drop(update: Update) -> None:
    """Save an update, or delete it if it is empty."""
    if update.draft or update.approved:
        store_update(update)
        return
    update.delete()
    # Otherwise `pending_update` of the instance would still be the deleted row.
    update.article._state.fields_cache.pop("update", None)


def drop_update(article: Article) -> None:
    """Drop the update of a locked article; its revisions stay."""
    if (update := article.pending_update) is not None:
        update.draft = update.approved = None
        keep_or_drop(update)


def merge_update(article: Article) -> None:
    """Move the newest text of a locked article, which is no longer approved, to its columns."""
    if article.pending_update is not None:
        put_into_columns(article, newest(article))
        drop_update(article)
