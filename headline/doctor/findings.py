"""What a check of the installation finds: an area, a level, a sentence and advice."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from django.db.models import TextChoices
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


class Level(StrEnum):
    """How serious a finding is."""

    OK = "ok"
    WARNING = "warning"
    FAILURE = "failure"


class Area(TextChoices):
    """The part of the installation that a finding is about."""

    CLOCK = "clock", _("Clock")
    DATABASE = "database", _("Database")
    REDIS = "redis", _("Redis")
    WORKERS = "workers", _("Workers")
    CRON = "cron", _("Cron")
    CDN = "cdn", _("CDN purge")
    MAIL = "mail", _("Mail")
    WEBHOOKS = "webhooks", _("Webhooks")
    KEYS = "keys", _("Keys")
    DISK = "disk", _("Disk")
    SETTINGS = "settings", _("Settings")


@dataclass(frozen=True)
class DoctorFinding:
    """A sentence about an area, and what to do."""

    area: Area
    level: Level
    text: str | Promise
    advice: str | Promise = ""
    code: str = ""
    language: str = ""  #: of the text if it is not translated


_SEVERITY = list(Level)


def worst(findings: Iterable[DoctorFinding]) -> Level:
    """The most serious level of these; OK without any."""
    return max((finding.level for finding in findings), key=_SEVERITY.index, default=Level.OK)
