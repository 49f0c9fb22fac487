"""Signal receivers: saves by code that is not ours, deletions, and rows that pages name.

Tasks, search index, audit log and caches change in the same transaction. Services call `publishing.store_article`
instead.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import Model
from django.db.models.signals import m2m_changed, post_delete, post_save, pre_delete, pre_save
from django.dispatch import receiver

from articles.audit import (
    Action,
    StateSnapshot,
    record,
)
from articles.cache import SITE, purge_articles, purge_at_once, purge_before, purge_tags, schedule_purge, topic_tag
from articles.distribution import note_renamed
from articles.events import ArticlesVanishing, emit
from articles.images import update_uses
from articles.models import (
    Alert,
    Article,
    Channel,
    FrontVersion,
    Image,
    Levels,
    Push,
    PushSubscription,
    Release,
    Tag,
    Update,
    rows_changed,
    words_changed,
)
from articles.publishing import (
    LIST_FIELDS,
    SHOWN_STATUSES,
    StoredChange,
    cancel_all_tasks,
    end_before_next_change,
    follow,
    follow_clock,
    keep_bylines,
    of_other_code,
    refuse_held,
    refuse_unstorable_times,
    review_again_soon,
    settle,
)
from articles.releases import sync_release_tasks
from articles.review import discard_changes, record_words
from articles.task_types import RELEASE
from articles.webhooks import pause_without
from articles.workflow import Transition
from scheduling.database import database_clock_set, lock_by_ids
from scheduling.services import cancel_keys


@receiver(pre_delete, sender=get_user_model())
def keep_names_of_authors(instance: Any, **kwargs: Any) -> None:
    """Keep the name of a deleted user on articles, whatever deletes the account."""
    keep_bylines(instance)


@receiver(pre_save, sender=Article)
@of_other_code
def refuse_times(instance: Article, **kwargs: Any) -> None:
    """Refuse times that cannot be stored, and a time of its own for a member of a release."""
    changed = instance.changed_fields()
    refuse_unstorable_times(instance, changed)
    if instance.pk and instance.publish_at is not None and "publish_at" in changed:
        refuse_held(Transition.SCHEDULE, [instance.pk])


@receiver(post_save, sender=Article)
@of_other_code
def follow_save(instance: Article, created: bool, **kwargs: Any) -> None:
    """What `publishing.store_article` does after the row is saved."""
    follow(instance, StoredChange.of(instance, created=created, loaded=instance.loaded_values()))


@receiver(post_save, sender=Article)
@of_other_code
def record_save(instance: Article, created: bool, **kwargs: Any) -> None:
    """Write the audit entry of the save."""
    changed = sorted(instance.changed_fields() - {"updated_at", "text_changed_at", "cleared_at"})
    if not (created or changed):
        return
    if created:
        record(Action.CREATE, article=instance, before=StateSnapshot())
    else:
        details: dict[str, Any] = {"changed": changed}
        if "author" in changed:
            details["author"] = [instance.as_loaded("author_id"), instance.author_id]
        record(Action.SAVE, article=instance, before=StateSnapshot.before(instance), **details)


@receiver(post_save, sender=Update)
@of_other_code
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
    """Record that it went live, or left the site, if only the clock has done that; the row is locked.

    With the other members of its release, which would fail without it, although readers see them.
    """
    now = settle(instance).now
    end_before_next_change(instance, now)
    if instance.is_waiting and instance.seen_since(now):
        follow_clock(instance, now)


@receiver(pre_delete, sender=Channel)
def pause_webhooks(instance: Channel, origin: Any, **kwargs: Any) -> None:
    """Pause the webhooks that hear of the channels alone that are deleted with this one."""
    is_query = getattr(origin, "model", None) is Channel
    pause_without({*origin.values_list("pk", flat=True)} if is_query else {instance.pk})


@receiver(pre_delete, sender=Push)
@receiver(pre_delete, sender=PushSubscription)
def let_no_message_follow(sender: type[Model], instance: Model, **kwargs: Any) -> None:
    """Lock it before its messages are deleted: one that is written then would refuse its deletion."""
    lock_by_ids(sender, [instance.pk]).exists()


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
@receiver(post_delete, sender=FrontVersion)
@receiver(post_delete, sender=get_user_model())
@receiver(post_delete, sender=Alert)
def discard_proposed_changes(instance: Any, **kwargs: Any) -> None:
    """Drop what is proposed for an object that is deleted."""
    discard_changes(instance)


@receiver(post_save, sender=Release)
def sync_task_of_release(instance: Release, **kwargs: Any) -> None:
    """Bring the release's task in line with the stored row, and let cached pages expire at its time."""
    sync_release_tasks([instance.pk])
    if instance.status == Release.Status.SCHEDULED:
        purge_before(instance.publish_at)


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


_INTERNAL = frozenset({"revision", "external_digest"})  # not shown to readers
_NAMES = frozenset({"first_name", "last_name"})


@receiver(pre_delete, sender=Article)
def emit_vanishing(instance: Article, **kwargs: Any) -> None:
    """Let the subscribers hear of it while the article is there."""
    emit(ArticlesVanishing([instance.pk]))


@receiver(pre_delete, sender=Article)
def purge_deleted(instance: Article, **kwargs: Any) -> None:
    """Invalidate the pages that showed the article."""
    if instance.status in SHOWN_STATUSES:
        purge_tags(SITE)
        schedule_purge(tags=[SITE])


@receiver(rows_changed)
def purge_changed_rows(sender: Any, ids: frozenset[int] | None, fields: frozenset[str], **kwargs: Any) -> None:
    """Invalidate the pages that show these rows, changed by any statement."""
    if sender is not Article or ids is None or LIST_FIELDS & fields:
        purge_tags(SITE)
    elif fields - _INTERNAL:
        purge_articles(ids)


@receiver(m2m_changed, sender=Article.tags.through)
def purge_retagged(instance: Article | Tag, action: str, pk_set: set[int] | None, **kwargs: Any) -> None:
    """Invalidate the lists of tags that an article got or lost."""
    if isinstance(instance, Tag) or action == "pre_clear":
        purge_tags(SITE)
    elif action in ("post_add", "post_remove") and instance.status in SHOWN_STATUSES:
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


@receiver(post_delete, sender=Alert)
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
