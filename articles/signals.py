"""The save hook: whatever saves or deletes an article, tasks, search index and record follow in that transaction."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib.auth import get_user_model
from django.db.models.signals import m2m_changed, post_delete, post_save, pre_delete, pre_save
from django.dispatch import receiver
from django.utils import timezone

from articles.audit import CREATE, DELETE, SAVE, StateSnapshot, is_recording, record
from articles.cache import SITE, purge_again, purge_articles, purge_tags, topic_tag
from articles.distribution import note_renamed, ping_of_vanishing
from articles.images import note_uses
from articles.models import Article, Channel, Image, Levels, Release, Tag, Update, rows_changed, words_changed
from articles.publishing import TIMES, cancel_all_tasks, checked_time, refuse_held, review_again_soon, sync_tasks
from articles.releases import sync_release_tasks
from articles.review import record_words
from articles.search import index
from articles.task_types import RELEASE
from articles.workflow import Transition
from scheduling.services import cancel_keys


@receiver(pre_save, sender=Article)
def refuse_times_of_members(instance: Article, **kwargs: Any) -> None:
    """Before a save by other code than the services, which have asked: a member of a release has no time of its own."""
    gets_a_time = instance.publish_at is not None and "publish_at" in instance.changed_fields()
    if instance.pk and gets_a_time and not is_recording():
        refuse_held(Transition.SCHEDULE, [instance.pk])


@receiver(pre_save, sender=Article)
def refuse_times_out_of_range(instance: Article, **kwargs: Any) -> None:
    """Before a save: one article of the year 10000 would break every list that it stands in."""
    for name in TIMES:
        value = getattr(instance, name)
        if isinstance(value, datetime) and timezone.is_aware(value):
            checked_time(value)


@receiver(post_save, sender=Article)
def keep_tasks_true(instance: Article, **kwargs: Any) -> None:
    """After a save: the tasks are what the stored row asks for."""
    sync_tasks([instance.pk])


@receiver(post_save, sender=Article)
def keep_index_true(instance: Article, **kwargs: Any) -> None:
    """After a save: search finds the stored text if it was approved, and no other."""
    index([instance.pk])


@receiver(post_save, sender=Article)
def record_save(instance: Article, created: bool, **kwargs: Any) -> None:
    """What no service records was saved by code or a screen of its own: it is recorded all the same."""
    changed = sorted(instance.changed_fields() - {"updated_at", "text_changed_at"})
    if is_recording() or not (created or changed):
        return
    if created:
        record(CREATE, article=instance, before=StateSnapshot())
    else:
        details: dict[str, Any] = {"changed": changed}
        if "author" in changed:
            details["author"] = [instance.as_loaded("author_id"), instance.author_id]
        record(SAVE, article=instance, before=StateSnapshot.before(instance), **details)


@receiver(post_save, sender=Article)
def note_images(instance: Article, created: bool, **kwargs: Any) -> None:
    """What the columns show is in use."""
    if (instance.cover or instance.images) if created else {"body", "cover"} & instance.changed_fields():
        note_uses([instance.pk])


@receiver(post_save, sender=Update)
def note_images_of_update(instance: Update, **kwargs: Any) -> None:
    """What the newer text shows is in use, too."""
    note_uses([instance.article_id])


@receiver(post_delete, sender=Update)
def forget_images_of_update(instance: Update, origin: object, **kwargs: Any) -> None:
    """What the newer text alone showed is in use no longer; an article that is deleted takes its uses along."""
    if origin is instance:
        note_uses([instance.article_id])


@receiver(post_delete, sender=Article)
def record_deletion(instance: Article, **kwargs: Any) -> None:
    """The record outlives the article, with the times that it had."""
    times: Any = StateSnapshot().other_times_since(StateSnapshot.of(instance))
    record(DELETE, article=instance, **times)


@receiver(post_delete, sender=Article)
def take_tasks_back(instance: Article, **kwargs: Any) -> None:
    """After a deletion: no task is left."""
    cancel_all_tasks([instance.pk])


@receiver(post_save, sender=Release)
def keep_release_task_true(instance: Release, **kwargs: Any) -> None:
    """After a save: a scheduled release has its task, and no other."""
    sync_release_tasks([instance.pk])


@receiver(post_delete, sender=Release)
def take_release_task_back(instance: Release, **kwargs: Any) -> None:
    """With a release its task goes."""
    cancel_keys(RELEASE, [str(instance.pk)])


@receiver(words_changed)
def apply_words(**kwargs: Any) -> None:
    """What was approved by other words is reviewed again."""
    review_again_soon()


@receiver(words_changed)
def record_word_change(old: Levels, new: Levels, **kwargs: Any) -> None:
    """The record shows who changed which words, whichever way that was."""
    record_words(old, new)


_SHOWN = frozenset({*Article.Status.visible(), Article.Status.RETRACTED})  # now, or when the clock says so
_PLACES = frozenset({"channel", "channel_id", "author", "author_id", "byline"})  # in whose lists an article is
_UNSEEN = frozenset({"revision", "external_digest"})  # by readers
_NAMES = frozenset({"first_name", "last_name"})


@receiver(post_save, sender=Article)
def purge_saved(instance: Article, created: bool, **kwargs: Any) -> None:
    """What shows the article is made anew; everything, if it was in other lists before."""
    if _SHOWN & {instance.status, instance.as_loaded("status")}:
        moved = not created and _PLACES & instance.changed_fields()
        purge_tags(SITE) if moved else purge_articles([instance.pk])


@receiver(pre_delete, sender=Article)
def ping_of_deletion(instance: Article, **kwargs: Any) -> None:
    """Who follows the feeds hears that something is gone."""
    ping_of_vanishing([instance.pk])


@receiver(pre_delete, sender=Article)
def purge_deleted(instance: Article, **kwargs: Any) -> None:
    """What showed the article is made anew."""
    if instance.status in _SHOWN:
        purge_tags(SITE)
        purge_again(tags=[SITE])


@receiver(rows_changed)
def purge_changed_rows(sender: Any, ids: frozenset[int] | None, fields: frozenset[str], **kwargs: Any) -> None:
    """The same for many, by whatever statement."""
    if sender is not Article or ids is None or _PLACES & fields:
        purge_tags(SITE)
    elif fields - _UNSEEN:
        purge_articles(ids)


@receiver(m2m_changed, sender=Article.tags.through)
def purge_retagged(instance: Article | Tag, action: str, pk_set: set[int] | None, **kwargs: Any) -> None:
    """The lists of the tags that an article got or lost are made anew."""
    if isinstance(instance, Tag) or action == "pre_clear":
        purge_tags(SITE)
    elif action in ("post_add", "post_remove") and instance.status in _SHOWN:
        purge_articles([instance.pk])
        purge_tags(*map(topic_tag, pk_set or ()))


@receiver(post_save, sender=Channel)
def purge_channels(**kwargs: Any) -> None:
    """The list of channels stands on every page."""
    purge_tags(SITE)


@receiver(post_save, sender=Tag)
@receiver(post_save, sender=Image)
def purge_renamed(created: bool, **kwargs: Any) -> None:
    """What any page may show is made anew wherever it stands; nothing shows yet what is new."""
    if not created:
        purge_tags(SITE)


@receiver(post_save, sender=get_user_model())
def purge_signed(created: bool, update_fields: frozenset[str] | None, **kwargs: Any) -> None:
    """The same for a person's name. That somebody logged in is no news."""
    if not created and (update_fields is None or _NAMES & update_fields):
        purge_tags(SITE)


@receiver(post_save, sender=Channel)
@receiver(post_save, sender=Tag)
@receiver(post_save, sender=Image)
@receiver(post_save, sender=get_user_model())
def follow_renamed(instance: Any, created: bool, update_fields: frozenset[str] | None, **kwargs: Any) -> None:
    """Who follows the articles hears that they show another name or picture now."""
    if not created and (not isinstance(instance, get_user_model()) or update_fields is None or _NAMES & update_fields):
        note_renamed(instance)


@receiver(post_delete, sender=Channel)
@receiver(post_delete, sender=Tag)
@receiver(post_delete, sender=Image)
@receiver(post_delete, sender=get_user_model())
def purge_nameless(**kwargs: Any) -> None:
    """What is deleted stands nowhere."""
    purge_tags(SITE)
