"""The search index of approved texts."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import Lookup
from django.utils.translation import gettext_lazy as _

from articles.models.article import Article


class TermsField(models.TextField):  # type: ignore[type-arg]
    """The terms of a text, separated by spaces, with a full-text index; see `articles.search.terms`."""


@TermsField.register_lookup
class HasAll(Lookup[Any]):
    """Whether a `TermsField` contains all terms, by its index; a term that ends in * matches a prefix.

    Terms are lower-case ASCII letters and digits, so they cannot contain any database's query syntax.
    """

    lookup_name = "has_all"
    prepare_rhs = False

    def as_mysql(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:
        """By the FULLTEXT index of the column, in boolean mode."""
        column, parameters = self.process_lhs(compiler, connection)
        wanted = " ".join(f"+{term}" for term in self.rhs)
        return f"MATCH ({column}) AGAINST (%s IN BOOLEAN MODE)", [*parameters, wanted]

    def as_sqlite(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:
        """By the FTS5 table that triggers maintain."""
        column = self.lhs.target.column
        row = f'{compiler.quote_name_unless_alias(self.lhs.alias)}."article_id"'
        found = "SELECT rowid FROM articles_searchterms WHERE articles_searchterms MATCH %s"
        return f"{row} IN ({found})", [f"{column} : ({' AND '.join(self.rhs)})"]


class ReadTermsLookup(Lookup[Any]):
    """Compares a `TermsField` with some terms by reading it, without the index."""

    prepare_rhs = False
    between = ""

    def as_mysql(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:
        """With spaces around, so that every term has one on each side; byte by byte, which is far quicker."""
        return self._read("LOCATE(CAST(%s AS BINARY), CONCAT(' ', {}, ' ')) > 0", compiler, connection)

    def as_sqlite(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:
        """The same for SQLite."""
        return self._read("INSTR(' ' || {} || ' ', %s) > 0", compiler, connection)

    def _read(self, condition: str, compiler: Any, connection: Any) -> tuple[str, list[Any]]:
        column, _none = self.process_lhs(compiler, connection)
        conditions = self.between.join([condition.format(column)] * len(self.rhs))
        return f"({conditions})", [f" {term} ".replace("* ", "") for term in self.rhs]


@TermsField.register_lookup
class ReadsAll(ReadTermsLookup):
    """Whether all terms are in the column."""

    lookup_name = "reads_all"
    between = " AND "


@TermsField.register_lookup
class ReadsAny(ReadTermsLookup):
    """Whether any term is in the column."""

    lookup_name = "reads_any"
    between = " OR "


class SearchEntry(models.Model):
    """The terms of one article whose text was approved, whether or not it is live.

    Written in the transaction that changes the text, by `articles.search.index`. It never stands in the way of who
    deletes an article by a way around Django.
    """

    article = models.OneToOneField(
        Article, on_delete=models.CASCADE, primary_key=True, related_name="search", db_constraint=False
    )
    heading = TermsField(help_text=_("Terms of the headline."))
    whole = TermsField(help_text=_("Terms of the whole text, including the headline."))
    digest = models.CharField(max_length=32, help_text=_("Of the text that was indexed."))
    seen = models.DateTimeField(help_text=_("`updated_at` of the article at the last comparison."))

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.article_id}"
