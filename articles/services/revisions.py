"""Keeping what was said: every text a revision, and the approved one in the article's columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from django.db.models import F, Max, Q, prefetch_related_objects

from articles.models import Article, AuditEntry, Correction, Revision, Text, Update
from articles.services.recording import PULLED_BACK, REVIEWED
from articles.services.references import tags_named
from articles.services.steps import lock
from articles.workflow import WAITING, Step
from scheduling.services import retried

DECIDED = (Step.SUBMIT, Step.APPROVE, REVIEWED)
"""The actions of the audit record that may have let a text pass."""


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


def pin_all(articles: Sequence[Article]) -> None:
    """The same for many: a few statements, unless there was something behind our back."""
    prefetch_related_objects(articles, "tags")
    rows = Revision.objects.filter(article__in=articles, number=F("article__revision"))
    digests = dict(rows.values_list("article", "digest"))
    for article in articles:
        if digests.get(article.pk) != Text.of(article).digest:
            pinned(article)


def add_revisions(texts: Mapping[int, Text], *, note: str) -> dict[int, int]:
    """Store the next revisions of locked or new articles (by id) in a few statements; returns their numbers."""
    found = Revision.objects.filter(article__in=texts).order_by().values_list("article")
    last = dict(found.annotate(last=Max("number")))
    numbers = {pk: last.get(pk, 0) + 1 for pk in texts}
    Revision.objects.bulk_create(
        Revision.holding(text, article_id=pk, number=numbers[pk], note=note) for pk, text in texts.items()
    )
    return numbers


def newest(article: Article) -> Revision:
    """The text that editors go on writing: the draft of the update, its approved text, or that of the columns."""
    newer = article.newer
    return (newer and (newer.draft or newer.approved)) or pinned(article)


def under_review(article: Article) -> tuple[Article | Update, Revision]:
    """What is submitted, approved and refused, and its text: the draft of the update, or the article itself."""
    newer = article.newer
    return (newer, newer.draft) if newer and newer.draft else (article, pinned(article))


def for_review(article: Article) -> Revision:
    """What a reviewer is to read: as `under_review`, for an article that is not locked."""
    newer = article.newer
    if newer and newer.draft:
        return newer.draft
    found = article.revisions.filter(number=article.revision).first()
    if found is not None and found.digest == Text.of(article).digest:
        return found
    return _locked_and_pinned(article)


@retried
def _locked_and_pinned(article: Article) -> Revision:
    lock(article)
    return pinned(article)


def last_approved(article: Article) -> Revision | None:
    """The newest text that was ever approved; None for an article that never was."""
    newer = article.newer
    if newer and newer.approved:
        return newer.approved
    if article.status in Article.Status.passed():
        return article.revisions.filter(number=article.revision).first()
    own = Q(new_status__in=WAITING, facts__update__isnull=True)
    newer_text = Q(facts__update__in=[status.name.lower() for status in WAITING])
    passed = Q(action__in=DECIDED) & (own | newer_text)
    entries = AuditEntry.objects.of(article).filter(passed | Q(action=PULLED_BACK), revision__isnull=False)
    number = entries.values_list("revision", flat=True).first()
    return article.revisions.filter(number=number).first() if number else None


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
    """Whether readers notice, now or when the article is out, that `revision` takes the place of the text `before`."""
    is_other = bool(revision.correction) or not before.looks_like(revision.text)
    return is_other and article.status in Article.Status.visible()


def date_corrections(article: Article, *, at: datetime) -> None:
    """What was mended while a locked article was off, readers see from the instant `at` at which it is out again."""
    article.corrections.filter(published_at__gt=article.modified_at).update(published_at=at)


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
