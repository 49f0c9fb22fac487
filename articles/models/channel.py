"""Channels: the sections of the site."""

from __future__ import annotations

from django.db import models
from django.urls import reverse
from django.utils.translation import gettext_lazy as _


class Channel(models.Model):
    """A section of the site, such as Politics or 财经. A disabled channel is not offered to readers or editors."""

    name = models.CharField(_("name"), max_length=80, unique=True)
    slug = models.SlugField(_("slug"), max_length=80, unique=True, allow_unicode=True)
    description = models.CharField(_("description"), max_length=300, blank=True)
    position = models.PositiveSmallIntegerField(_("position"), default=0, help_text=_("Lower comes first."))
    enabled = models.BooleanField(_("enabled"), default=True)

    class Meta:
        verbose_name = _("channel")
        verbose_name_plural = _("channels")
        ordering = ["position", "name"]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        """The channel's page on the site."""
        return reverse("channel", kwargs={"slug": self.slug})
