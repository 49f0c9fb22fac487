"""Users' preferences: time zone and language of the admin."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from articles.limits import TIME_LENGTH


class Preferences(models.Model):
    """A user's preferences. The defaults are `TIME_ZONE` and the browser's language."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="preferences"
    )
    time_zone = models.CharField(_("time zone"), max_length=TIME_LENGTH, blank=True)
    language = models.CharField(_("language"), max_length=16, blank=True)

    class Meta:
        default_permissions = ()
        verbose_name = _("my settings")
        verbose_name_plural = _("my settings")

    def __str__(self) -> str:
        return str(self.user)
