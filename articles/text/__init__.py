"""Text operations: sanitise, normalise, diff, three-way merge, anchors of quotes, embeds and times."""

from articles.text.anchor import SearchedText, Selector
from articles.text.article_links import article_ids, linked_article, with_live_links, without_addresses
from articles.text.blocks import Block, join, split
from articles.text.comparison import (
    FORMAT,
    Cell,
    Row,
    RowChange,
    Shape,
    TableRow,
    compare_bodies,
    unchanged,
)
from articles.text.diff import Change, Piece, joined, words
from articles.text.embeds import with_players
from articles.text.image_refs import ATTRIBUTE, MEDIA_PATH, reference, references
from articles.text.inline import FORMATS, MEDIA, Look, Media, spans, text_of
from articles.text.lines import one_line
from articles.text.media_sources import foreign_images, foreign_media, in_full
from articles.text.merge import BOTH, MINE, THEIRS, Conflict, MergedBody, merge_bodies
from articles.text.normalize import NUMERALS, SYMBOLS, Normalised, is_narrow, normalise, plain_form, visible
from articles.text.sanitize import (
    add_paragraphs,
    clean_html,
    complete,
    foreign_tags,
    is_harmless,
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
    "BOTH",
    "Block",
    "Budget",
    "Cell",
    "Change",
    "Conflict",
    "FORMAT",
    "FORMATS",
    "Look",
    "MEDIA",
    "MEDIA_PATH",
    "MINE",
    "Media",
    "MergedBody",
    "NUMERALS",
    "NonexistentTime",
    "Normalised",
    "Piece",
    "Row",
    "RowChange",
    "SYMBOLS",
    "SearchedText",
    "Selector",
    "Shape",
    "THEIRS",
    "TableRow",
    "add_paragraphs",
    "article_ids",
    "clean_html",
    "compare_bodies",
    "complete",
    "foreign_images",
    "foreign_media",
    "in_full",
    "foreign_tags",
    "lost_tags",
    "format_time",
    "format_time_briefly",
    "format_time_exactly",
    "happens_twice",
    "is_harmless",
    "is_narrow",
    "join",
    "join_blocks",
    "joined",
    "linked_article",
    "merge_bodies",
    "normalise",
    "offset_name",
    "one_line",
    "plain_form",
    "plain_text",
    "reference",
    "references",
    "resolve",
    "spans",
    "split",
    "text_of",
    "unchanged",
    "visible",
    "wall_clock",
    "whole_second",
    "with_live_links",
    "with_players",
    "without_addresses",
    "words",
    "zone_label",
]
