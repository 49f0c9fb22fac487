"""The nouns of the newsroom, one a file."""

from articles.models.article import Article
from articles.models.audit import AuditEntry
from articles.models.channel import Channel
from articles.models.correction import Correction
from articles.models.revision import Revision, Text
from articles.models.tag import Tag
from articles.models.update import Update

__all__ = ["Article", "AuditEntry", "Channel", "Correction", "Revision", "Tag", "Text", "Update"]
