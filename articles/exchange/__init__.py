"""Import and export of articles, one module per format."""

from articles.exchange.atomic_file import replacing, replacing_binary
from articles.exchange.export import Export, Writer, with_statuses
from articles.exchange.formats import READERS, WRITERS, WRITTEN, guess_format
from articles.exchange.importer import Importer
from articles.exchange.records import Kind, Record, Remark, Unreadable
from articles.exchange.statuses import PastDue, Timetable
from articles.exchange.validate import CHANNEL, MOST_NUMBER, Checker, is_of_site, shows_unknown

__all__ = [
    "CHANNEL",
    "Checker",
    "Export",
    "Importer",
    "Kind",
    "MOST_NUMBER",
    "PastDue",
    "READERS",
    "Record",
    "Remark",
    "Timetable",
    "Unreadable",
    "WRITERS",
    "WRITTEN",
    "Writer",
    "guess_format",
    "is_of_site",
    "replacing",
    "replacing_binary",
    "shows_unknown",
    "with_statuses",
]
