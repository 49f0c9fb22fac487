"""Text operations: sanitise, normalise, diff, three-way merge, anchors of quotes, embeds and times."""

from articles.text.anchor import SearchedText as SearchedText, Selector as Selector
from articles.text.article_links import (
    article_ids as article_ids,
    linked_article as linked_article,
    with_live_links as with_live_links,
    without_addresses as without_addresses,
)
from articles.text.blocks import TAG as TAG, TextBlock as TextBlock, join as join, split as split
from articles.text.comparison import (
    FORMAT as FORMAT,
    Cell as Cell,
    Row as Row,
    RowChange as RowChange,
    Shape as Shape,
    TableRow as TableRow,
    compare_bodies as compare_bodies,
    unchanged as unchanged,
)
from articles.text.diff import Change as Change, Piece as Piece, joined as joined, words as words
from articles.text.embeds import with_players as with_players
from articles.text.image_refs import (
    ATTRIBUTE as ATTRIBUTE,
    MEDIA_PATH as MEDIA_PATH,
    reference as reference,
    references as references,
)
from articles.text.inline import (
    FORMATS as FORMATS,
    MEDIA as MEDIA,
    InlineMedia as InlineMedia,
    Look as Look,
    spans as spans,
    text_of as text_of,
)
from articles.text.language import HAN as HAN, base_language as base_language, language_of as language_of
from articles.text.lines import one_line as one_line
from articles.text.media_sources import (
    foreign_images as foreign_images,
    foreign_media as foreign_media,
    in_full as in_full,
)
from articles.text.memo import remembered as remembered
from articles.text.merge import (
    BOTH as BOTH,
    MINE as MINE,
    THEIRS as THEIRS,
    Conflict as Conflict,
    MergedBody as MergedBody,
    merge_bodies as merge_bodies,
)
from articles.text.normalize import (
    NUMERALS as NUMERALS,
    SYMBOLS as SYMBOLS,
    Normalised as Normalised,
    is_narrow as is_narrow,
    normalise as normalise,
    plain_form as plain_form,
    visible as visible,
)
from articles.text.sanitize import (
    add_paragraphs as add_paragraphs,
    clean_html as clean_html,
    complete as complete,
    foreign_tags as foreign_tags,
    is_harmless as is_harmless,
    join_blocks as join_blocks,
    lost_tags as lost_tags,
    plain_text as plain_text,
)
from articles.text.sequences import Budget as Budget, matching_ranges as matching_ranges
from articles.text.size import is_kept_if_refused as is_kept_if_refused, oversize as oversize
from articles.text.times import (
    AmbiguousTime as AmbiguousTime,
    NonexistentTime as NonexistentTime,
    format_time as format_time,
    format_time_briefly as format_time_briefly,
    format_time_exactly as format_time_exactly,
    happens_twice as happens_twice,
    local_time as local_time,
    offset_name as offset_name,
    resolve as resolve,
    wall_clock as wall_clock,
    whole_second as whole_second,
    zone_label as zone_label,
)
