"""Sensitive words, and the stamp by which every process sees that they changed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID, uuid4

from django.db import models, transaction
from django.dispatch import Signal
from django.utils.translation import gettext_lazy as _

from articles.text import plain_form
from scheduling.fields import ExactCharField
from scheduling.services import lock_by_ids

LONGEST_WORD = 100  # characters

words_changed = Signal()
"""Sent in the transaction that changes words, after the change, with what was there (`old`) and is there now."""

Levels = dict[str, str]
"""Word to level."""


class SensitiveWordQuerySet(models.QuerySet["SensitiveWord"]):
    """Whichever way words are changed, every process hears of it."""

    def delete(self) -> tuple[int, dict[str, int]]:
        """Delete, and renew the stamp."""
        with transaction.atomic():
            old = self.levels()
            deleted = super().delete()
            WordListVersion.renew(old=old)
        return deleted

    def update(self, **values: Any) -> int:
        """Change, and renew the stamp."""
        with transaction.atomic():
            old, chosen = self.levels(), SensitiveWord.objects.filter(pk__in=list(self.values_list("pk", flat=True)))
            changed = super().update(**values)
            WordListVersion.renew(old=old, new=chosen.levels())
        return changed

    def bulk_create(self, objs: Iterable[SensitiveWord], *args: Any, **options: Any) -> list[SensitiveWord]:
        """Store many, and renew the stamp."""
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
    """A word that the review looks for, or an innocent phrase in which it is not looked for."""

    class Level(models.TextChoices):
        """What finding the word means."""

        BLOCK = "block", _("Blocks the article")
        REVIEW = "review", _("Needs human review")
        ALLOW = "allow", _("Allowed phrase")

    text = ExactCharField(_("word"), max_length=LONGEST_WORD)
    normalised = ExactCharField(max_length=LONGEST_WORD, unique=True, editable=False)
    level = models.CharField(_("level"), max_length=6, choices=Level.choices, default=Level.REVIEW)
    created_at = models.DateTimeField(_("added"), auto_now_add=True)

    objects = SensitiveWordQuerySet.as_manager()

    class Meta:
        verbose_name = _("sensitive word")
        verbose_name_plural = _("sensitive words")

    def __str__(self) -> str:
        return str(self.text)

    def save(self, *args: Any, **options: Any) -> None:
        """Save with the form that is looked for, and renew the stamp."""
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
    """One row that stands for all words. Its stamp is random, so that one that was rolled back never comes again."""

    ROW = 1

    stamp = models.UUIDField(default=uuid4)
    applied = models.UUIDField(
        null=True, help_text=_("The version of the word list that all pending texts have passed.")
    )

    class Meta:
        verbose_name = _("word list")
        default_permissions = ()

    def __str__(self) -> str:
        return str(self.stamp)

    @classmethod
    def renew(cls, *, old: Levels | None = None, new: Levels | None = None) -> None:
        """Tell every process and everything that waits that words have changed, once this transaction commits."""
        cls.objects.update_or_create(pk=cls.ROW, defaults={"stamp": uuid4()})
        words_changed.send(sender=cls, old=old or {}, new=new or {})

    @classmethod
    def current(cls) -> UUID | None:
        """The stamp of the words as they are; None before there ever was one."""
        return cls.objects.filter(pk=cls.ROW).values_list("stamp", flat=True).first()

    @classmethod
    def hold(cls) -> None:
        """Let nobody change words until the caller's transaction ends."""
        list(lock_by_ids(cls, [cls.ROW]))
