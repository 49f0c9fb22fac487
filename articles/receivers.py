"""The save hook: whatever saves or deletes an article, tasks and audit record follow in the same transaction."""

from __future__ import annotations

from typing import Any

from django.db.models.signals import post_delete, post_save
from django.dispatch import receiver

from articles.models import Article
from articles.models.word import Levels, words_changed
from articles.services import recording
from articles.services.reviewing import review_again_soon
from articles.services.tasks import cancel_all_tasks, sync_tasks
from articles.services.words import record_words


@receiver(post_save, sender=Article)
def keep_tasks_true(instance: Article, **kwargs: Any) -> None:
    """After a save: the tasks are what the stored row asks for."""
    sync_tasks([instance.pk])


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


@receiver(post_delete, sender=Article)
def record_deletion(instance: Article, **kwargs: Any) -> None:
    """The record outlives the article."""
    recording.record(recording.DELETE, article=instance)


@receiver(post_delete, sender=Article)
def take_tasks_back(instance: Article, **kwargs: Any) -> None:
    """After a deletion: no task is left."""
    cancel_all_tasks([instance.pk])


@receiver(words_changed)
def apply_words(**kwargs: Any) -> None:
    """What was approved by other words is reviewed again."""
    review_again_soon()


@receiver(words_changed)
def record_word_change(old: Levels, new: Levels, **kwargs: Any) -> None:
    """The record shows who changed which words, whichever way that was."""
    record_words(old, new)
