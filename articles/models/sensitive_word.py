"""Sensitive words, and the stamp by which processes detect changes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID, uuid4

from django.db import models, transaction
from django.dispatch import Signal
from django.utils.translation import gettext_lazy as _

from articles.limits import WORD_LENGTH
from articles.models.base.timestamps import CreatedAtField
from articles.text import plain_form
from scheduling.database import lock_by_ids
from scheduling.fields import ExactCharField

words_changed = Signal()
"""Sent in the transaction that changes words, after the change, with what was there (`old`) and is there now."""

Levels = dict[str, str]
"""Word to level."""


class SensitiveWordQuerySet(models.QuerySet["SensitiveWord"]):
    """Queries for sensitive words; every change renews the stamp."""

    def delete(self) -> tuple[int, dict[str, int]]:
        """Delete, and renew the stamp."""
        with transaction.atomic():
            old = self.levels()
            deleted = super().delete()
            WordListVersion.renew(old=old)
        return deleted

    def update(self, **values: Any) -> int:
        """Update, and renew the stamp."""
        with transaction.atomic():
            old, chosen = self.levels(), SensitiveWord.objects.filter(pk__in=list(self.values_list("pk", flat=True)))
            changed = super().update(**values)
            WordListVersion.renew(old=old, new=chosen.levels())
        return changed

    def bulk_create(self, objs: Iterable[SensitiveWord], *args: Any, **options: Any) -> list[SensitiveWord]:
        """Insert many, and renew the stamp."""
        with transaction.atomic():
            created = super().bulk_create(objs, *args, **options)
            WordListVersion.renew(new={word.text: word.level for word in created})
        return created

    def levels(self) -> Levels:
        """These words with their levels."""
        return dict(self.values_list("text", "level"))

    def as_lines(self) -> str:
        """These words as a file has them: one a line, in a stable order."""
        return "".join(f"{text}\n" for text in self.order_by("normalised").values_list("text", flat=True))


class SensitiveWord(models.Model):
    """A word that the review finds, or an allowed phrase in which words are ignored."""

    class Level(models.TextChoices):
        """The effect of a match."""

        BLOCK = "block", _("Blocks the article")
        REVIEW = "review", _("Needs human review")
        ALLOW = "allow", _("Allowed phrase")

    text = ExactCharField(_("word"), max_length=WORD_LENGTH)
    normalised = ExactCharField(max_length=WORD_LENGTH, unique=True, editable=False)
    level = models.CharField(_("level"), max_length=6, choices=Level.choices, default=Level.REVIEW)
    created_at = CreatedAtField(_("added"))

    objects = SensitiveWordQuerySet.as_manager()

    class Meta:
        verbose_name = _("sensitive word")
        verbose_name_plural = _("sensitive words")

    def __str__(self) -> str:
        return str(self.text)

    def save(self, *args: Any, **options: Any) -> None:
        """Save with the normalised form, and renew the stamp."""
        self.normalised = plain_form(self.text)
        with transaction.atomic():
            old = SensitiveWord.objects.filter(pk=self.pk).levels()
            super().save(*args, **options)
            WordListVersion.renew(old=old, new={self.text: self.level})

    def delete(self, *args: Any, **options: Any) -> tuple[int, dict[str, int]]:
        """Delete, and renew the stamp."""
        with transaction.atomic():
            deleted = super().delete(*args, **options)
            WordListVersion.renew(old={self.text: self.level})
        return deleted


class WordListVersion(models.Model):
    """One row for the whole list. Its stamp is random, so that a rolled back one is never used again."""

    ROW = 1

    stamp = models.UUIDField(default=uuid4)
    applied = models.UUIDField(
        null=True, help_text=_("The stamp of the words with which everything waiting was reviewed.")
    )

    class Meta:
        verbose_name = _("word list")
        default_permissions = ()

    def __str__(self) -> str:
        return str(self.stamp)

    @classmethod
    def renew(cls, *, old: Levels | None = None, new: Levels | None = None) -> None:
        """Renew the stamp and send `words_changed`."""
        cls.objects.update_or_create(pk=cls.ROW, defaults={"stamp": uuid4()})
        words_changed.send(sender=cls, old=old or {}, new=new or {})

    @classmethod
    def current(cls) -> UUID | None:
        """The present stamp; None before the first."""
        return cls.objects.filter(pk=cls.ROW).values_list("stamp", flat=True).first()

    @classmethod
    def hold(cls) -> None:
        """Lock the word list until the caller's transaction ends."""
        list(lock_by_ids(cls, [cls.ROW]))
