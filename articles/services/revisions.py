"""Keeping what was said: every text a revision, and the approved one in the article's columns."""

from __future__ import annotations

from datetime import datetime

from articles.models import Article, Correction, Revision, Text, Update
from articles.services.references import tags_named


def pinned(article: Article) -> Revision:
    """The revision of the text in the columns of a locked article.

    Text that was written behind our back (`QuerySet.update`, another program) becomes a revision here.
    """
    text = Text.of(article)
    found = article.revisions.filter(number=article.revision).first()
    if found is None or found.digest != text.digest:
        found = Revision.objects.add(article, text)
        article.holds(found)
    return found


def newest(article: Article) -> Revision:
    """The text that editors go on writing: the draft of the update, its approved text, or that of the columns."""
    newer = article.newer
    return (newer and (newer.draft or newer.approved)) or pinned(article)


def under_review(article: Article) -> tuple[Article | Update, Revision]:
    """What is submitted, approved and refused, and its text: the draft of the update, or the article itself."""
    newer = article.newer
    return (newer, newer.draft) if newer and newer.draft else (article, pinned(article))


def put_into_columns(article: Article, revision: Revision) -> None:
    """Give a locked article the text of `revision`; the caller saves it."""
    text = revision.text
    for name, value in text.columns.items():
        setattr(article, name, value)
    article.revision = revision.number
    article.tags.set(tags_named(text.tags).values())


def adopt(update: Update, *, at: datetime) -> Revision:
    """The approved text of an update replaces that of its article, which the caller has locked and saves."""
    article, revision = update.article, update.approved
    assert revision is not None  # noqa: S101 (the caller chose an update that has one)
    pinned(article)
    put_into_columns(article, revision)
    if revision.correction:
        Correction.objects.create(article=article, revision=revision, note=revision.correction, published_at=at)
    update.approved = update.publish_at = None
    keep_or_drop(update)
    return revision


def keep_or_drop(update: Update) -> None:
    """Save an update, or delete it when nothing of it is left."""
    if update.draft or update.approved:
        update.save()
        return
    update.delete()
    update.article._state.fields_cache.pop("update", None)


def drop_update(article: Article) -> None:
    """Drop all newer text of a locked article; its revisions stay."""
    if (update := article.newer) is not None:
        update.draft = update.approved = None
        keep_or_drop(update)


def fold_in(article: Article) -> None:
    """The text of a locked article is not approved any more: editors go on with the newest in its own columns."""
    if article.newer is not None:
        put_into_columns(article, newest(article))
        drop_update(article)
