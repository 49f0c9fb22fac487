"""The models of the newsroom, one module each; `base` holds the mixins and query helpers they share."""

from articles.models.article import AT_RISK_WITHIN, BODY_LENGTH, Article, ArticleQuerySet, due_at, not_over_at, over_at
from articles.models.audit import AuditEntry, AuditQuerySet
from articles.models.base.bulk_signals import rows_changed
from articles.models.base.insert_select import NewId, insert_for_each
from articles.models.base.limited_union import in_any
from articles.models.bulk_action import Batch, BatchItem
from articles.models.calendar_feed import CalendarFeed
from articles.models.change_feed import FeedEntry, FeedHead, PendingChange
from articles.models.channel import Channel, ChannelQuerySet
from articles.models.correction import Correction
from articles.models.cover import CoverMode
from articles.models.drafts import Presence, WorkingCopy
from articles.models.image import MODERN, WIDTHS, Material, MaterialUse, as_id
from articles.models.notification import Notice, NoticeChoice
from articles.models.preferences import Preferences
from articles.models.preview import PreviewLink
from articles.models.release import MAX_MEMBERS, Release, ReleaseMember
from articles.models.review import Claim, QueuedArticle, Review, ReviewPolicy
from articles.models.revision import CONTEXT_TIMES, Revision, Text, context_of
from articles.models.saved_view import SavedView
from articles.models.search import SearchEntry
from articles.models.sensitive_word import LONGEST_WORD, Levels, Word, WordList, words_changed
from articles.models.staff import named, named_among_all, named_apart
from articles.models.tag import Tag
from articles.models.tagging import Tagging
from articles.models.update import Update

__all__ = [
    "AT_RISK_WITHIN",
    "Article",
    "ArticleQuerySet",
    "AuditEntry",
    "AuditQuerySet",
    "BODY_LENGTH",
    "Batch",
    "BatchItem",
    "CONTEXT_TIMES",
    "CalendarFeed",
    "Channel",
    "ChannelQuerySet",
    "Claim",
    "Correction",
    "CoverMode",
    "FeedEntry",
    "FeedHead",
    "LONGEST_WORD",
    "Levels",
    "MAX_MEMBERS",
    "MODERN",
    "Material",
    "MaterialUse",
    "NewId",
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
    "WIDTHS",
    "Word",
    "WordList",
    "WorkingCopy",
    "as_id",
    "context_of",
    "due_at",
    "in_any",
    "insert_for_each",
    "named",
    "named_among_all",
    "named_apart",
    "not_over_at",
    "over_at",
    "rows_changed",
    "words_changed",
]
