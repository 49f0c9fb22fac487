"""The audit log: entries, who acts from which source, and who contributed to a text."""

from articles.audit.actions import (
    ACTION_LABELS as ACTION_LABELS,
    ANNOTATING as ANNOTATING,
    Action as Action,
    label_of as label_of,
)
from articles.audit.contributors import (
    APPROVED as APPROVED,
    contributor_ids as contributor_ids,
    has_writer as has_writer,
    people_behind as people_behind,
    writers as writers,
)
from articles.audit.log import (
    FIRST_STAGE_AGAIN as FIRST_STAGE_AGAIN,
    WENT_LIVE_OVER as WENT_LIVE_OVER,
    Actor as Actor,
    Notes as Notes,
    Source as Source,
    StateSnapshot as StateSnapshot,
    present_source as present_source,
    record as record,
    record_annotation as record_annotation,
    record_beside as record_beside,
    record_bylines as record_bylines,
    record_due as record_due,
    record_in_release as record_in_release,
    record_many as record_many,
    record_release as record_release,
    record_times as record_times,
    recorded as recorded,
    set_actor as set_actor,
    source as source,
    stamped as stamped,
)
from articles.audit.outbox import NewEvent as NewEvent, write_events as write_events
