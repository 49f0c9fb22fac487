"""Channels: the sections of the site."""

from __future__ import annotations

from typing import Any, Self

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from articles.addresses import page_address
from articles.limits import DESCRIPTION_LENGTH, LABEL_LENGTH
from articles.models.base.bulk_signals import SignallingQuerySet
from articles.models.names import NameField
from articles.models.slugs import slug_of
from articles.models.update import Update
from articles.text import one_line


class ChannelQuerySet(SignallingQuerySet["Channel"]):
    """Queries for channels."""

    def enabled(self) -> Self:
        """Channels that are offered to readers and editors, in the site's order."""
        return self.filter(enabled=True)


class Channel(models.Model):
    """A section of the site, such as Politics or 财经. A disabled channel is not offered to readers or editors."""

    name = NameField(_("name"), max_length=LABEL_LENGTH, unique=True)
    slug = models.SlugField(
        _("slug"),
        max_length=LABEL_LENGTH,
        unique=True,
        allow_unicode=True,
        blank=True,
        help_text=_("The last part of the URL. Leave empty to create it from the name."),
    )
    description = models.CharField(_("description"), max_length=DESCRIPTION_LENGTH, blank=True)
    position = models.PositiveSmallIntegerField(_("position"), default=0, help_text=_("Lower comes first."))
    enabled = models.BooleanField(_("enabled"), default=True)

    objects = ChannelQuerySet.as_manager()

    class Meta:
        verbose_name = _("channel")
        verbose_name_plural = _("channels")
        ordering = ["position", "name"]

    def __str__(self) -> str:
        return str(self.name)

    def save(self, *args: Any, **options: Any) -> None:
        """Save, with a slug made from the name when there is none."""
        self.slug = self.slug or slug_of(self.name)
        super().save(*args, **options)

    def get_absolute_url(self) -> str:
        """The channel's page on the site."""
        return page_address("channel", slug=self.slug)

    def clean_fields(self, exclude: Any = None) -> None:
        """The name is one line, with something to see."""
        self.name = one_line(self.name)
        super().clean_fields(exclude=exclude)

    def clean(self) -> None:
        """Make the slug, so that a taken one is refused too, and refuse to disable a channel that has articles."""
        self.slug = self.slug or slug_of(self.name)
        if not self.enabled and self.is_used():
            raise ValidationError({"enabled": _("This channel has articles. Move them to another channel first.")})

    def is_used(self) -> bool:
        """Whether any article is in this channel, or will be with its update."""
        pending_update = Update.objects.filter(Q(draft__channel=self.pk) | Q(approved__channel=self.pk))
        return self.pk is not None and (self.articles.exists() or pending_update.exists())
