"""The models of the newsroom, one module each; `base` holds the mixins and query helpers they share."""

from articles.models.article import (
    AT_RISK_WITHIN,
    NEWEST_FIRST,
    Article,
    ArticleQuerySet,
    due_at,
    not_over_at,
    over_at,
)
from articles.models.article_template import ArticleTemplate
from articles.models.audit import AuditEntry, AuditQuerySet
from articles.models.base.bulk_signals import rows_changed
from articles.models.base.insert_select import NewId, insert_for_each, insert_statement
from articles.models.base.limited_union import in_any
from articles.models.base.visibility import GOES_LIVE_COLUMNS, goes_live
from articles.models.bulk_action import BulkAction, BulkActionItem
from articles.models.calendar_feed import CalendarFeed
from articles.models.change_feed import FEED_EPOCH, FeedEntry, FeedHead, PendingChange
from articles.models.channel import Channel, ChannelQuerySet
from articles.models.correction import Correction
from articles.models.cover import CoverMode
from articles.models.drafts import Autosave, Presence, SubmittedForm
from articles.models.image import MODERN, Image, ImageUse, as_id
from articles.models.note import Note
from articles.models.notification import Notification, NotificationPreference, NotificationQuerySet
from articles.models.preferences import Preferences
from articles.models.preview import PreviewLink
from articles.models.proposed_change import ProposedChange
from articles.models.release import Release, ReleaseMember
from articles.models.review import QueuedArticle, Review, ReviewPolicy, SoftLock
from articles.models.review_stage import ReviewProgress, ReviewStage, StageApproval, approved_by, stage_under_review
from articles.models.revision import CONTEXT_TIMES, Revision, context_of
from articles.models.saved_view import SavedView
from articles.models.search import SearchEntry
from articles.models.sensitive_word import Levels, SensitiveWord, WordListVersion, words_changed
from articles.models.staff import named, named_among_all, named_apart
from articles.models.state import (
    ReaderState,
    State,
    in_states,
    in_statuses,
    load_releases,
    overdue_at,
    release_of,
    scheduled_with_release,
    state_at,
    status_at,
    with_releases,
)
from articles.models.tag import Tag
from articles.models.tagging import Tagging
from articles.models.text import LINES, Text
from articles.models.translatable import BODY, Translatable, names_words, parts_of, place, stored_text
from articles.models.update import Update

__all__ = [
    "FEED_EPOCH",
    "GOES_LIVE_COLUMNS",
    "AT_RISK_WITHIN",
    "Article",
    "ArticleQuerySet",
    "ArticleTemplate",
    "AuditEntry",
    "AuditQuerySet",
    "Autosave",
    "BODY",
    "BulkAction",
    "BulkActionItem",
    "CONTEXT_TIMES",
    "CalendarFeed",
    "Channel",
    "ChannelQuerySet",
    "Correction",
    "CoverMode",
    "FeedEntry",
    "FeedHead",
    "Image",
    "ImageUse",
    "LINES",
    "Levels",
    "MODERN",
    "NEWEST_FIRST",
    "NewId",
    "Note",
    "Notification",
    "NotificationPreference",
    "NotificationQuerySet",
    "PendingChange",
    "Preferences",
    "Presence",
    "PreviewLink",
    "QueuedArticle",
    "ProposedChange",
    "Release",
    "ReleaseMember",
    "Review",
    "ReviewPolicy",
    "ReviewProgress",
    "ReviewStage",
    "Revision",
    "SavedView",
    "SearchEntry",
    "SensitiveWord",
    "SoftLock",
    "ReaderState",
    "State",
    "StageApproval",
    "SubmittedForm",
    "Tag",
    "Tagging",
    "Text",
    "Translatable",
    "Update",
    "WordListVersion",
    "approved_by",
    "as_id",
    "context_of",
    "due_at",
    "goes_live",
    "in_any",
    "insert_for_each",
    "insert_statement",
    "named",
    "named_among_all",
    "named_apart",
    "names_words",
    "not_over_at",
    "over_at",
    "parts_of",
    "place",
    "rows_changed",
    "stage_under_review",
    "stored_text",
    "words_changed",
    "in_states",
    "in_statuses",
    "load_releases",
    "overdue_at",
    "release_of",
    "scheduled_with_release",
    "state_at",
    "status_at",
    "with_releases",
]
