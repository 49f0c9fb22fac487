"""The language of a headline: a column that the database computes as `language_of` does."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import Func

from articles.models.base.computed import ComputedField
from articles.text import HAN, language_of

_LENGTH = 10


class LanguageOf(Func):
    """`language_of` a column, in SQL."""

    arity = 1
    template = f"CASE WHEN %(expressions)s REGEXP '[{HAN}]' THEN 'zh' ELSE 'en' END"
    output_field = models.CharField(max_length=_LENGTH)

    def as_sqlite(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        """SQLite has patterns without a function of ours, which other programs would lack."""
        template = f"CASE WHEN %(expressions)s GLOB '*[{HAN}]*' THEN 'zh' ELSE 'en' END"
        return self.as_sql(compiler, connection, template=template, **extra)


class _ComputedLanguage:
    """Computes the value from the instance: the loaded one would be out of date once the headline is changed."""

    def __init__(self, field: models.Field[Any, Any]) -> None:
        self.field = field

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else language_of(instance.title)

    def __set__(self, instance: Any, value: Any) -> None:
        """Django sets the loaded value, which is not needed."""


class LanguageField(ComputedField):
    """The language of the model's `title`."""

    descriptor_class = _ComputedLanguage

    def __init__(self, **options: Any) -> None:
        super().__init__(LanguageOf("title"), models.CharField(max_length=_LENGTH), **options)
