"""The save hook: whatever saves or deletes an article, its tasks follow in the same transaction."""

from __future__ import annotations

from typing import Any

from django.db.models.signals import post_delete, post_save
from django.dispatch import receiver

from articles.models import Article
from articles.services.tasks import cancel_all_tasks, sync_tasks


@receiver(post_save, sender=Article)
def keep_tasks_true(instance: Article, **kwargs: Any) -> None:
    """After a save: the tasks are what the stored row asks for."""
    sync_tasks([instance.pk])


@receiver(post_delete, sender=Article)
def take_tasks_back(instance: Article, **kwargs: Any) -> None:
    """After a deletion: no task is left."""
    cancel_all_tasks([instance.pk])
