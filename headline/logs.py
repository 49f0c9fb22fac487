"""Logging configuration."""

from __future__ import annotations

import logging
import time
from typing import Any

LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "plain": {"()": "headline.logs.UTCFormatter", "format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "plain"}},
    "root": {"handlers": ["stderr"], "level": "INFO"},
    "loggers": {"django": {"handlers": [], "propagate": True}},
}


class UTCFormatter(logging.Formatter):
    """`2030-01-31T12:00:00.123Z WARNING scheduling.worker: …`: UTC, whatever the machine's time zone is."""

    converter = staticmethod(time.gmtime)
    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"
