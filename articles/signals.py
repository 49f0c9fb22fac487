"""Signal receivers: any save or deletion updates tasks, search index, audit log and caches in its transaction."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import Exists, OuterRef
from django.db.models.signals import m2m_changed, post_delete, post_save, pre_delete, pre_save
from django.dispatch import receiver
from django.utils import timezone

from articles.audit import (
    Action,
    StateSnapshot,
    is_recording,
    record,
)
from articles.cache import SITE, purge_articles, purge_at_once, purge_tags, schedule_purge, topic_tag
from articles.distribution import note_renamed, ping_of_vanishing
from articles.images import update_uses
from articles.models import (
    Article,
    Channel,
    Image,
    ImageUse,
    Levels,
    Release,
    Tag,
    Update,
    rows_changed,
    words_changed,
)
from articles.publishing import (
    TIMES,
    cancel_all_tasks,
    checked_time,
    follow_clock,
    keep_bylines,
    refuse_held,
    review_again_soon,
    sync_tasks_of,
)
from articles.releases import sync_release_tasks
from articles.review import discard_changes, record_words
from articles.search import index_stored
from articles.task_types import RELEASE
from articles.workflow import Transition
from scheduling.database import clock, database_clock_set, database_now, read_database_clock
from scheduling.services import cancel_keys

_UPDATE: Any = Article._meta.get_field("update")


@receiver(pre_delete, sender=get_user_model())
def keep_names_of_authors(instance: Any, **kwargs: Any) -> None:
    """Keep the name of a deleted user on articles, whatever deletes the account."""
    keep_bylines(instance)


@receiver(pre_save, sender=Article)
def refuse_times_of_members(instance: Article, **kwargs: Any) -> None:
    """Refuse a time of its own for a member of a release; services have checked this already."""
    gets_a_time = instance.publish_at is not None and "publish_at" in instance.changed_fields()
    if instance.pk and gets_a_time and not is_recording():
        refuse_held(Transition.SCHEDULE, [instance.pk])


@receiver(pre_save, sender=Article)
def refuse_times_out_of_range(instance: Article, **kwargs: Any) -> None:
    """Refuse times that other rows, pages or databases cannot represent."""
    for name in TIMES:
        value = getattr(instance, name)
        if isinstance(value, datetime) and timezone.is_aware(value):
            checked_time(value)


@receiver(post_save, sender=Article)
def sync_with_stored_row(instance: Article, created: bool, **kwargs: Any) -> None:
    """Bring tasks, search entry and image uses in line with the stored row, which is read once.

    Other processes may have written columns that this save did not.
    """
    rows = Article.objects.select_related("update", "search").defer("search__heading", "search__whole")
    uses = Exists(ImageUse.objects.filter(article=OuterRef("pk")))
    stored: Any = rows.annotate(now=database_now(), uses_images=uses).get(pk=instance.pk)
    if not _UPDATE.is_cached(instance):
        _UPDATE.set_cached_value(instance, stored.pending_update)
        if stored.pending_update is not None:
            stored.pending_update.article = instance
    sync_tasks_of(stored, now=stored.now.replace(tzinfo=UTC))
    index_stored(stored)
    has_other_images = created or {"body", "cover"} & instance.changed_fields()
    if has_other_images and (stored.uses_images or stored.cover or stored.images):
        update_uses([instance.pk])


@receiver(post_save, sender=Article)
def record_save(instance: Article, created: bool, **kwargs: Any) -> None:
    """Record saves that no service records, such as those of other code."""
    changed = sorted(instance.changed_fields() - {"updated_at", "text_changed_at", "cleared_at"})
    if is_recording() or not (created or changed):
        return
    if created:
        record(Action.CREATE, article=instance, before=StateSnapshot())
    else:
        details: dict[str, Any] = {"changed": changed}
        if "author" in changed:
            details["author"] = [instance.as_loaded("author_id"), instance.author_id]
        record(Action.SAVE, article=instance, before=StateSnapshot.before(instance), **details)


@receiver(post_save, sender=Update)
def note_images_of_update(instance: Update, **kwargs: Any) -> None:
    """Record the use of the images in the update."""
    update_uses([instance.article_id])


@receiver(post_delete, sender=Update)
def drop_images_of_update(instance: Update, origin: object, **kwargs: Any) -> None:
    """Drop the use of images that only the update showed; with a deleted article its uses are deleted anyway."""
    if origin is instance:
        update_uses([instance.article_id])


@receiver(pre_delete, sender=Article)
def record_what_readers_saw(instance: Article, **kwargs: Any) -> None:
    """Record that it went live, or left the site, if only the clock has done that; the row is locked."""
    if instance.is_waiting and instance.seen_since(clock.now()):
        follow_clock(instance, read_database_clock())


@receiver(post_delete, sender=Article)
def record_deletion(instance: Article, **kwargs: Any) -> None:
    """Record the deletion with the article's times; audit entries outlive the article."""
    times: Any = StateSnapshot().other_times_since(StateSnapshot.of(instance))
    record(Action.DELETE, article=instance, **times)


@receiver(post_delete, sender=Article)
def cancel_tasks_of_article(instance: Article, **kwargs: Any) -> None:
    """Cancel all tasks of the deleted article."""
    cancel_all_tasks([instance.pk])


@receiver(post_delete, sender=Article)
@receiver(post_delete, sender=Channel)
@receiver(post_delete, sender=Tag)
@receiver(post_delete, sender=Image)
@receiver(post_delete, sender=get_user_model())
def discard_proposed_changes(instance: Any, **kwargs: Any) -> None:
    """Drop what is proposed for an object that is deleted."""
    discard_changes(instance)


@receiver(post_save, sender=Release)
def sync_task_of_release(instance: Release, **kwargs: Any) -> None:
    """Bring the release's task in line with the stored row."""
    sync_release_tasks([instance.pk])


@receiver(post_delete, sender=Release)
def cancel_task_of_release(instance: Release, **kwargs: Any) -> None:
    """Cancel the task of the deleted release."""
    cancel_keys(RELEASE, [str(instance.pk)])


@receiver(words_changed)
def apply_words(**kwargs: Any) -> None:
    """Review again what was approved with other sensitive words."""
    review_again_soon()


@receiver(words_changed)
def record_word_change(old: Levels, new: Levels, **kwargs: Any) -> None:
    """Record which words were changed."""
    record_words(old, new)


_SHOWN = frozenset({*Article.Status.visible(), Article.Status.RETRACTED})  # now, or once they are due
_LIST_FIELDS = frozenset(
    {"channel", "channel_id", "author", "author_id", "byline"}
)  # decide which lists show the article
_HIDING = frozenset({"status", "publish_at", "embargo_until", "unpublish_at"})  # may remove it, at once or later
_INTERNAL = frozenset({"revision", "external_digest"})  # not shown to readers
_NAMES = frozenset({"first_name", "last_name"})


@receiver(post_save, sender=Article)
def purge_saved(instance: Article, created: bool, **kwargs: Any) -> None:
    """Invalidate the pages that show the article; all pages, if it was in other lists before."""
    if _SHOWN & {instance.status, instance.as_loaded("status")}:
        moved = not created and _LIST_FIELDS & instance.changed_fields()
        purge_tags(SITE) if moved else purge_articles([instance.pk])
    if not created and _HIDING & instance.changed_fields() and _was_live(instance):
        schedule_purge(articles=[instance.pk])


def _was_live(instance: Article) -> bool:
    """Whether readers may have seen it before it was changed: by the clock, it goes live without being recorded."""
    status, moment = instance.as_loaded("status"), instance.as_loaded("publish_at")
    is_past = moment is not None and moment <= clock.now()
    return status == Article.Status.PUBLISHED or (status in Article.Status.visible() and is_past)


@receiver(pre_delete, sender=Article)
def ping_of_deletion(instance: Article, **kwargs: Any) -> None:
    """Ping the hub about the feeds that showed the article."""
    ping_of_vanishing([instance.pk])


@receiver(pre_delete, sender=Article)
def purge_deleted(instance: Article, **kwargs: Any) -> None:
    """Invalidate the pages that showed the article."""
    if instance.status in _SHOWN:
        purge_tags(SITE)
        schedule_purge(tags=[SITE])


@receiver(rows_changed)
def purge_changed_rows(sender: Any, ids: frozenset[int] | None, fields: frozenset[str], **kwargs: Any) -> None:
    """Invalidate the pages that show these rows, changed by any statement."""
    if sender is not Article or ids is None or _LIST_FIELDS & fields:
        purge_tags(SITE)
    elif fields - _INTERNAL:
        purge_articles(ids)


@receiver(m2m_changed, sender=Article.tags.through)
def purge_retagged(instance: Article | Tag, action: str, pk_set: set[int] | None, **kwargs: Any) -> None:
    """Invalidate the lists of tags that an article got or lost."""
    if isinstance(instance, Tag) or action == "pre_clear":
        purge_tags(SITE)
    elif action in ("post_add", "post_remove") and instance.status in _SHOWN:
        purge_articles([instance.pk])
        purge_tags(*map(topic_tag, pk_set or ()))


@receiver(post_save, sender=Channel)
def purge_channels(**kwargs: Any) -> None:
    """Invalidate all pages: each lists the channels."""
    purge_tags(SITE)


@receiver(post_save, sender=Tag)
@receiver(post_save, sender=Image)
def purge_renamed(created: bool, **kwargs: Any) -> None:
    """Invalidate all pages when a tag or an image changes; no page shows a new one yet."""
    if not created:
        purge_tags(SITE)


@receiver(post_save, sender=get_user_model())
def purge_renamed_author(created: bool, update_fields: frozenset[str] | None, **kwargs: Any) -> None:
    """Invalidate all pages when a user's name changes, but not on log-in."""
    if not created and (update_fields is None or _NAMES & update_fields):
        purge_tags(SITE)


@receiver(post_save, sender=Channel)
@receiver(post_save, sender=Tag)
@receiver(post_save, sender=Image)
@receiver(post_save, sender=get_user_model())
def note_renamed_in_feed(instance: Any, created: bool, update_fields: frozenset[str] | None, **kwargs: Any) -> None:
    """Mark articles that show another name or image now as changed in the change feed."""
    if not created and (not isinstance(instance, get_user_model()) or update_fields is None or _NAMES & update_fields):
        note_renamed(instance)


@receiver(post_delete, sender=Channel)
@receiver(post_delete, sender=Tag)
@receiver(post_delete, sender=Image)
@receiver(post_delete, sender=get_user_model())
def purge_deleted_label(**kwargs: Any) -> None:
    """Invalidate all pages: any may show what was deleted."""
    purge_tags(SITE)


@receiver(database_clock_set)
def purge_all(**kwargs: Any) -> None:
    """Cached pages show what was live by the clock before, and expire when that would have shown the next change."""
    purge_at_once(SITE)
