"""The nouns of the newsroom, one a file."""

from articles.models.article import Article
from articles.models.audit import AuditEntry
from articles.models.channel import Channel
from articles.models.tag import Tag

__all__ = ["Article", "AuditEntry", "Channel", "Tag"]
