"""Run an import: validate records, store them in chunks, and report the result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from django.db import Error as DatabaseError  # with InterfaceError, which DatabaseError leaves out
from django.utils.translation import gettext as _

from articles.exchange.digest import ImportedArticle
from articles.exchange.records import Kind, Record, Refused, Remark
from articles.exchange.shapes import unknown_fields
from articles.exchange.site_store import store_rows
from articles.exchange.store import Tally, store
from articles.exchange.validate import Checker

CHUNK = 500
"""Articles in one transaction at most."""

CHUNK_TEXT = 2_000_000
"""Characters of body in one transaction at most; MariaDB takes 16 MB in one statement."""

Report = Callable[[Remark], None]


@dataclass
class Chunk:
    """Validated articles, or other records of one `kind`, that are stored together, and their places in the file."""

    kind: str = ""
    articles: list[ImportedArticle] = field(default_factory=list)
    rows: list[Record] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    size: int = 0

    def add(self, article: ImportedArticle, place: str) -> None:
        """Add an article."""
        self.articles.append(article)
        self.places.append(place)
        self.size += len(article.body)

    @property
    def is_full(self) -> bool:
        """Whether it must be stored now."""
        return len(self.articles) + len(self.rows) >= CHUNK or self.size >= CHUNK_TEXT


class Importer:
    """Imports records and calls `show` for each remark; `tally` counts the articles so far, `new_rows` other new rows.

    `highest` are the highest numbers in the file, by kind of record.
    """

    def __init__(
        self, checker: Checker, *, show: Report, highest: Mapping[str, int] | None = None, dry_run: bool = False
    ) -> None:
        self.tally = Tally()
        self.new_rows: Counter[str] = Counter()
        self.left_out: Counter[str] = Counter()
        self.misspelt: Counter[str] = Counter()
        self.notes: Counter[str] = Counter()
        self._checker = checker
        self._report = show
        self._dry_run = dry_run
        self._highest = highest or {}
        self._seen: set[int] = set()

    def run(self, records: Iterable[Record | Remark]) -> Iterator[int]:
        """Import all records; yields the number of records read after each chunk."""
        chunk, number = Chunk(), 0
        for number, record in enumerate(records, start=1):
            if isinstance(record, Record) and record.kind != chunk.kind:
                self._store(chunk)
                chunk = Chunk(record.kind)
            self._add(record, chunk)
            if chunk.is_full:
                self._store(chunk)
                chunk = Chunk()
                yield number
        self._store(chunk)
        yield number

    def _add(self, record: Record | Remark, chunk: Chunk) -> None:
        if isinstance(record, Remark):
            self._count(record)
            return
        if record.kind:
            self.misspelt.update(unknown_fields(record))
            chunk.rows.append(record)
            return
        try:
            article, note = self._checker.check(record)
            is_new = self._is_first(record, article)
        except Refused as error:
            self._fail(record.place, str(error), 1)
            return
        self.misspelt.update(unknown_fields(record))
        self.notes.update(record.notes)
        if note:
            self._report(Remark(Kind.NOTED, record.place, note))
        if is_new:
            chunk.add(article, record.place)
        else:
            self.tally.skipped += 1

    def _is_first(self, record: Record, article: ImportedArticle) -> bool:
        """False for a duplicate without an id; a duplicate id is an error. Uses 60 bytes of memory per record."""
        identity = hash(article.external_id)
        if identity not in self._seen:
            self._seen.add(identity)
            return True
        if record.fields.get("external_id"):
            raise Refused(
                "external_id",
                _('"%(id)s" is in the file already; give each article its own')
                % {
                    "id": article.external_id,
                },
            )
        return False

    def _count(self, remark: Remark) -> None:
        if remark.kind is Kind.NOTED:
            self._report(remark)
        elif remark.kind is Kind.FOREIGN:
            self.left_out[remark.message] += 1
            self.tally.skipped += 1
        else:
            self._fail(remark.place, remark.message, 1)

    def _store(self, chunk: Chunk) -> None:
        try:
            if chunk.articles:
                highest = self._highest.get("", 0)
                self.tally.add(store(chunk.articles, highest=highest, dry_run=self._dry_run))
            if chunk.rows:
                self._store_rows(chunk)
        except DatabaseError as error:
            places = chunk.places or [record.place for record in chunk.rows]
            place = _("%(first)s to %(last)s") % {"first": places[0], "last": places[-1]}
            message = _("none of these %(count)d articles was imported because of a database error: %(error)s") % {
                "count": len(places),
                "error": error,
            }
            self._fail(place, message, len(places))

    def _store_rows(self, chunk: Chunk) -> None:
        highest = self._highest.get(chunk.kind, 0)
        results = store_rows(chunk.rows, self._checker, highest=highest, dry_run=self._dry_run)
        for record, result in zip(chunk.rows, results, strict=True):
            if result.problem:
                self._fail(record.place, result.problem, 1)
            elif result.note:
                self._report(Remark(Kind.NOTED, record.place, result.note))
            self.new_rows[chunk.kind] += result.is_new

    def _fail(self, place: str, message: str, count: int) -> None:
        self.tally.failed += count
        self._report(Remark(Kind.FAILED, place, message))
