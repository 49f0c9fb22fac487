"""Headline's table of articles, with the columns that a tutorial's model would have."""

from __future__ import annotations

from django.db import models


class Post(models.Model):
    """An article with a time to be published."""

    title = models.CharField(max_length=200)
    body = models.TextField()
    status = models.SmallIntegerField()
    publish_at = models.DateTimeField(null=True)
    published_at = models.DateTimeField(null=True)

    class Meta:
        managed = False
        db_table = "articles_article"

    def __str__(self) -> str:
        return self.title
