"""The save hook: whatever saves or deletes an article, tasks, search index and record follow in that transaction."""

from __future__ import annotations

from typing import Any

from django.db.models.signals import post_delete, post_save, pre_save
from django.dispatch import receiver

from articles.models import Article, Release, Update
from articles.models.word import Levels, words_changed
from articles.search import index
from articles.services import recording
from articles.services.membership import refuse_held
from articles.services.release_tasks import RELEASE, sync_release_tasks
from articles.services.reviewing import review_again_soon
from articles.services.tasks import cancel_all_tasks, sync_tasks
from articles.services.uses import note_uses
from articles.services.words import record_words
from articles.workflow import Step
from scheduling.services import cancel_keys


@receiver(pre_save, sender=Article)
def refuse_times_of_members(instance: Article, **kwargs: Any) -> None:
    """Before a save by other code than the services, which have asked: a member of a release has no time of its own."""
    gets_a_time = instance.publish_at is not None and "publish_at" in instance.changed_fields()
    if instance.pk and gets_a_time and not recording.is_recording():
        refuse_held(Step.SCHEDULE, [instance.pk])


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
    changed = sorted(instance.changed_fields() - {"updated_at"})
    if recording.is_recording() or not (created or changed):
        return
    if created:
        recording.record(recording.CREATE, article=instance, before=recording.Standing())
    else:
        recording.record(recording.SAVE, article=instance, before=recording.Standing.before(instance), changed=changed)


@receiver(post_save, sender=Article)
def note_pictures(instance: Article, created: bool, **kwargs: Any) -> None:
    """What the columns show is in use."""
    if (instance.cover or instance.pictures) if created else {"body", "cover"} & instance.changed_fields():
        note_uses([instance.pk])


@receiver(post_save, sender=Update)
def note_pictures_of_update(instance: Update, **kwargs: Any) -> None:
    """What the newer text shows is in use, too."""
    note_uses([instance.article_id])


@receiver(post_delete, sender=Update)
def forget_pictures_of_update(instance: Update, origin: object, **kwargs: Any) -> None:
    """What the newer text alone showed is in use no longer; an article that is deleted takes its uses along."""
    if origin is instance:
        note_uses([instance.article_id])


@receiver(post_delete, sender=Article)
def record_deletion(instance: Article, **kwargs: Any) -> None:
    """The record outlives the article."""
    recording.record(recording.DELETE, article=instance)


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
