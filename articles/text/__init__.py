"""Text operations: sanitise, normalise, diff, three-way merge, anchors of quotes, embeds and times."""

from articles.text.anchor import SearchedText, Selector
from articles.text.article_links import article_ids, linked_article, with_live_links, without_addresses
from articles.text.diff import Change, Passage, Piece, joined, passages, readable
from articles.text.embeds import with_players
from articles.text.image_refs import ATTRIBUTE, MEDIA_PATH, reference, references
from articles.text.lines import one_line
from articles.text.media_sources import foreign_media
from articles.text.merge import merged
from articles.text.normalize import NUMERALS, SYMBOLS, Normalised, is_narrow, normalise, plain_form, visible
from articles.text.sanitize import (
    add_paragraphs,
    clean_html,
    complete,
    foreign_tags,
    join_blocks,
    lost_tags,
    plain_text,
)
from articles.text.sequences import Budget
from articles.text.times import (
    AmbiguousTime,
    NonexistentTime,
    format_time,
    format_time_briefly,
    format_time_exactly,
    happens_twice,
    offset_name,
    resolve,
    wall_clock,
    whole_second,
    zone_label,
)

__all__ = [
    "ATTRIBUTE",
    "AmbiguousTime",
    "Budget",
    "Change",
    "MEDIA_PATH",
    "NUMERALS",
    "NonexistentTime",
    "Normalised",
    "Passage",
    "Piece",
    "SYMBOLS",
    "SearchedText",
    "Selector",
    "add_paragraphs",
    "article_ids",
    "clean_html",
    "complete",
    "foreign_media",
    "foreign_tags",
    "happens_twice",
    "is_narrow",
    "join_blocks",
    "joined",
    "linked_article",
    "lost_tags",
    "merged",
    "normalise",
    "offset_name",
    "one_line",
    "passages",
    "plain_form",
    "plain_text",
    "readable",
    "reference",
    "references",
    "resolve",
    "format_time",
    "format_time_briefly",
    "format_time_exactly",
    "whole_second",
    "with_live_links",
    "wall_clock",
    "visible",
    "with_players",
    "without_addresses",
    "zone_label",
]
