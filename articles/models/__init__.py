"""The nouns of the newsroom, one a file."""

from articles.models.article import Article
from articles.models.audit import AuditEntry
from articles.models.batch import Batch, BatchItem
from articles.models.calendar_feed import CalendarFeed
from articles.models.change_feed import FeedEntry, FeedHead, PendingChange
from articles.models.channel import Channel
from articles.models.correction import Correction
from articles.models.cover import CoverMode
from articles.models.material import Material, MaterialUse
from articles.models.notice import Notice, NoticeChoice
from articles.models.preferences import Preferences
from articles.models.preview import PreviewLink
from articles.models.release import Release, ReleaseMember
from articles.models.reviewing import Claim, QueuedArticle, Review, ReviewPolicy
from articles.models.revision import Revision, Text
from articles.models.saved_view import SavedView
from articles.models.search import SearchEntry
from articles.models.tag import Tag
from articles.models.tagging import Tagging
from articles.models.update import Update
from articles.models.word import Word, WordList
from articles.models.writing import Presence, WorkingCopy

__all__ = [
    "Article",
    "AuditEntry",
    "Batch",
    "BatchItem",
    "CalendarFeed",
    "Channel",
    "Claim",
    "Correction",
    "CoverMode",
    "FeedEntry",
    "FeedHead",
    "Material",
    "MaterialUse",
    "Notice",
    "NoticeChoice",
    "PendingChange",
    "Preferences",
    "Presence",
    "PreviewLink",
    "QueuedArticle",
    "Release",
    "ReleaseMember",
    "Review",
    "ReviewPolicy",
    "Revision",
    "SavedView",
    "SearchEntry",
    "Tag",
    "Tagging",
    "Text",
    "Update",
    "Word",
    "WordList",
    "WorkingCopy",
]
