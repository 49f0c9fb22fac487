"""The models of the newsroom, one module each; `base` holds the mixins and query helpers they share."""

from articles.models.alert import (
    DURATION as DURATION,
    MINUTES as MINUTES,
    Alert as Alert,
    AlertQuerySet as AlertQuerySet,
    minutes_of as minutes_of,
)
from articles.models.article import (
    AT_RISK_WITHIN as AT_RISK_WITHIN,
    NEWEST_FIRST as NEWEST_FIRST,
    Article as Article,
    ArticleQuerySet as ArticleQuerySet,
    Instant as Instant,
    due_at as due_at,
    not_over_at as not_over_at,
    over_at as over_at,
)
from articles.models.article_template import ArticleTemplate as ArticleTemplate
from articles.models.audit import AuditEntry as AuditEntry, AuditQuerySet as AuditQuerySet
from articles.models.autosave import Autosave as Autosave, Presence as Presence, SubmittedForm as SubmittedForm
from articles.models.base.bulk_signals import rows_changed as rows_changed
from articles.models.base.visibility import GOES_LIVE_COLUMNS as GOES_LIVE_COLUMNS, goes_live as goes_live
from articles.models.bulk_action import BulkAction as BulkAction, BulkActionItem as BulkActionItem
from articles.models.calendar_feed import CalendarFeed as CalendarFeed
from articles.models.change_feed import (
    FEED_EPOCH as FEED_EPOCH,
    FeedHead as FeedHead,
    PendingChange as PendingChange,
)
from articles.models.channel import Channel as Channel, ChannelQuerySet as ChannelQuerySet
from articles.models.coming import (
    ChangeKind as ChangeKind,
    ComingChange as ComingChange,
    Stop as Stop,
    coming_changes as coming_changes,
    is_seen_to_begin as is_seen_to_begin,
    is_seen_to_end as is_seen_to_end,
    number_at as number_at,
    stops as stops,
    timed_rows as timed_rows,
)
from articles.models.correction import Correction as Correction
from articles.models.cover import CoverMode as CoverMode
from articles.models.due import Due as Due, due_changes as due_changes, reading as reading
from articles.models.event import Event as Event, EventQuerySet as EventQuerySet
from articles.models.front import (
    Block as Block,
    Card as Card,
    Front as Front,
    FrontVersion as FrontVersion,
    FrontVersionQuerySet as FrontVersionQuerySet,
    has_readers as has_readers,
)
from articles.models.front_series import (
    MICROSECOND as MICROSECOND,
    WEEK as WEEK,
    FrontSeries as FrontSeries,
    FrontSeriesQuerySet as FrontSeriesQuerySet,
    Occurrence as Occurrence,
    contains as contains,
    instant_of_microseconds as instant_of_microseconds,
)
from articles.models.image import MODERN as MODERN, Image as Image, ImageUse as ImageUse, as_id as as_id
from articles.models.note import Note as Note, NoteQuerySet as NoteQuerySet
from articles.models.notification import (
    Notification as Notification,
    NotificationPreference as NotificationPreference,
    NotificationQuerySet as NotificationQuerySet,
)
from articles.models.preferences import Preferences as Preferences
from articles.models.preview import PreviewLink as PreviewLink
from articles.models.proposed_change import ProposedChange as ProposedChange
from articles.models.push import (
    Push as Push,
    PushMessage as PushMessage,
    PushSubscription as PushSubscription,
    PushSubscriptionQuerySet as PushSubscriptionQuerySet,
)
from articles.models.release import Release as Release, ReleaseMember as ReleaseMember
from articles.models.review import (
    QueuedArticle as QueuedArticle,
    Review as Review,
    ReviewPolicy as ReviewPolicy,
    SoftLock as SoftLock,
)
from articles.models.review_stage import (
    ReviewProgress as ReviewProgress,
    ReviewStage as ReviewStage,
    StageApproval as StageApproval,
    approved_by as approved_by,
    stage_under_review as stage_under_review,
)
from articles.models.revision import CONTEXT_TIMES as CONTEXT_TIMES, Revision as Revision, context_of as context_of
from articles.models.saved_view import SavedView as SavedView
from articles.models.search import SearchEntry as SearchEntry
from articles.models.sensitive_word import (
    Levels as Levels,
    SensitiveWord as SensitiveWord,
    WordListVersion as WordListVersion,
    words_changed as words_changed,
)
from articles.models.shared_page import (
    MOST_VISITS as MOST_VISITS,
    SharedPage as SharedPage,
    SharedPageVisit as SharedPageVisit,
)
from articles.models.staff import named as named, named_among_all as named_among_all, named_apart as named_apart
from articles.models.state import (
    ReaderState as ReaderState,
    State as State,
    in_states as in_states,
    in_statuses as in_statuses,
    load_releases as load_releases,
    overdue_at as overdue_at,
    release_of as release_of,
    scheduled_with_release as scheduled_with_release,
    state_at as state_at,
    status_at as status_at,
    with_releases as with_releases,
)
from articles.models.tag import Tag as Tag
from articles.models.tagging import Tagging as Tagging
from articles.models.text import LINES as LINES, Text as Text
from articles.models.translatable import (
    BODY as BODY,
    Translatable as Translatable,
    names_words as names_words,
    parts_of as parts_of,
    place as place,
    stored_text as stored_text,
)
from articles.models.update import Update as Update
from articles.models.webhook import (
    NEWSROOM_KINDS as NEWSROOM_KINDS,
    PUBLIC_KINDS as PUBLIC_KINDS,
    ROTATION as ROTATION,
    Delivery as Delivery,
    DeliveryQuerySet as DeliveryQuerySet,
    Endpoint as Endpoint,
    EventSink as EventSink,
)
