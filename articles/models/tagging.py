"""The tags of articles, indexed by the time from which readers see the article."""

from __future__ import annotations

from django.db import models

from articles.models.article import Article
from articles.models.tag import Tag


class Tagging(models.Model):
    """A row of the table behind `Article.tags`, with a copy of the article's `goes_live_at`.

    By it a page of a tag is a short walk along an index, even of a tag that a hundred thousand articles have. Triggers
    keep the copy in sync, whatever writes either table; Django writes the table as that of the many-to-many field.
    """

    article = models.ForeignKey(Article, on_delete=models.DO_NOTHING, related_name="taggings")
    tag = models.ForeignKey(Tag, on_delete=models.DO_NOTHING, related_name="+")
    # The column keeps its first name: processes of the version before read it while an installation is upgraded.
    goes_live_at = models.DateTimeField(null=True, db_column="publish_at")

    class Meta:
        managed = False
        db_table = "articles_article_tags"
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.tag_id} {self.article_id}"
