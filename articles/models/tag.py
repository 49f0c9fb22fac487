"""Tags, which group articles across channels."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.utils.translation import gettext_lazy as _

from articles.limits import LABEL_LENGTH
from articles.models.names import NameField
from articles.models.slugs import slug_of
from articles.text import one_line


class Tag(models.Model):
    """A topic, such as elections or 高铁."""

    name = NameField(_("name"), max_length=LABEL_LENGTH, unique=True)
    slug = models.SlugField(_("slug"), max_length=LABEL_LENGTH, unique=True, allow_unicode=True, blank=True)

    class Meta:
        verbose_name = _("tag")
        verbose_name_plural = _("tags")
        ordering = ["name"]

    def __str__(self) -> str:
        return str(self.name)

    def save(self, *args: Any, **options: Any) -> None:
        """Save, with a slug made from the name when there is none."""
        self.slug = self.slug or slug_of(self.name)
        super().save(*args, **options)

    def clean_fields(self, exclude: Any = None) -> None:
        """The name is one line, with something to see."""
        self.name = one_line(self.name)
        super().clean_fields(exclude=exclude)

    def clean(self) -> None:
        """Make the slug, so that a taken one is refused too."""
        self.slug = self.slug or slug_of(self.name)
