"""Composed fronts: what readers get at an instant, and how editors compose it."""

from articles.fronts.addresses import checked_address as checked_address
from articles.fronts.comparison import FrontChange as FrontChange, compare_versions as compare_versions
from articles.fronts.copies import store_blocks as store_blocks
from articles.fronts.in_releases import (
    free_versions as free_versions,
    hold_again as hold_again,
    join_release as join_release,
    leave_release as leave_release,
    lock_versions as lock_versions,
    problems_of as problems_of,
    publish_versions as publish_versions,
    purge as purge,
    roll_back_versions as roll_back_versions,
    taken_by as taken_by,
    versions_in as versions_in,
)
from articles.fronts.locks import lock_front as lock_front
from articles.fronts.manage import (
    delete_draft as delete_draft,
    find_or_create_front as find_or_create_front,
    free_number as free_number,
    newest_draft as newest_draft,
    open_front as open_front,
    publish_version as publish_version,
    repeat_version as repeat_version,
    schedule_version as schedule_version,
    start_draft as start_draft,
    start_once as start_once,
    unschedule_version as unschedule_version,
)
from articles.fronts.marks import CardMark as CardMark, preflight as preflight
from articles.fronts.operations import (
    BLOCK_VALUES as BLOCK_VALUES,
    CARD_VALUES as CARD_VALUES,
    BothSides as BothSides,
    Operation as Operation,
    OperationKind as OperationKind,
    edit_draft as edit_draft,
    place_article as place_article,
    texts_of as texts_of,
)
from articles.fronts.recurrence import (
    DAYS as DAYS,
    IfMissing as IfMissing,
    IfTwice as IfTwice,
    Recurrence as Recurrence,
)
from articles.fronts.recurring import (
    end_rule as end_rule,
    extend_rules as extend_rules,
    occurrences_of as occurrences_of,
    skip_occurrence as skip_occurrence,
    store_occurrences as store_occurrences,
    unskip_occurrence as unskip_occurrence,
)
from articles.fronts.shown import (
    ShownBlock as ShownBlock,
    ShownCard as ShownCard,
    ShownFront as ShownFront,
    ShownLink as ShownLink,
    compose as compose,
    front_at as front_at,
    front_then as front_then,
    showed_image as showed_image,
    shown_since as shown_since,
    shows_image as shows_image,
)
