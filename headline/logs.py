"""Logging configuration, of Django and of gunicorn's processes."""

from __future__ import annotations

import logging
from typing import Any

from headline import env
from headline.log_format import JSONFormatter, TextFormatter, hide_secrets
from scheduling.log_fields import log_fields

FORMATS = {"text": TextFormatter, "json": JSONFormatter}


def formatter(form: str) -> TextFormatter:
    """Formats lines with the ids of their request or task, and without secrets."""
    return FORMATS[form](context=log_fields, redact=_redact)


def _redact(text: str) -> str:
    """Secrets of the environment last: a part of `password=` may be one."""
    return env.redact(hide_secrets(text))


class WithoutTraceback(logging.Filter):
    """Removes the traceback of a line, and makes it a warning."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Every line passes."""
        record.exc_info = record.exc_text = None
        record.levelno, record.levelname = logging.WARNING, "WARNING"
        return True


def configuration(form: str) -> dict[str, Any]:
    """Django's LOGGING for `text` or `json`: lines from INFO up to the standard error output."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"lines": {"()": "headline.logs.formatter", "form": form}},
        "handlers": {
            "stderr": {"class": "logging.StreamHandler", "formatter": "lines"},
            "brief": {"class": "logging.StreamHandler", "formatter": "lines", "filters": ["without_traceback"]},
        },
        "filters": {"without_traceback": {"()": "headline.logs.WithoutTraceback"}},
        "root": {"handlers": ["stderr"], "level": "INFO"},
        "loggers": {
            "django": {"handlers": [], "propagate": True},
            "django.server": {"handlers": [], "propagate": True},
            "django.security.DisallowedHost": {"handlers": ["brief"], "propagate": False},  # anyone may cause it
            "django_auth_ldap": {"level": "CRITICAL"},  # it logs what was typed as the name, which may be a password
        },
    }
