"""Import and export of articles, one module per format."""

from articles.exchange.atomic_file import replacing as replacing, replacing_binary as replacing_binary
from articles.exchange.export import Export as Export, Writer as Writer, with_statuses as with_statuses
from articles.exchange.formats import (
    READERS as READERS,
    WRITERS as WRITERS,
    WRITTEN as WRITTEN,
    guess_format as guess_format,
)
from articles.exchange.importer import Importer as Importer
from articles.exchange.records import Kind as Kind, Record as Record, Remark as Remark, Unreadable as Unreadable
from articles.exchange.statuses import PastDue as PastDue, Timetable as Timetable
from articles.exchange.validate import (
    CHANNEL as CHANNEL,
    MOST_NUMBER as MOST_NUMBER,
    Checker as Checker,
    is_of_site as is_of_site,
    shows_unknown as shows_unknown,
)
