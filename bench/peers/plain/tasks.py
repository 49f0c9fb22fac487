"""The task of django-tasks-db."""

from __future__ import annotations

from django_tasks import task

from bench.peers.rows import publish_article


@task()
def publish(article_id: int) -> None:
    """Publish one article."""
    publish_article(article_id)
