"""System checks of the deployment: proxies and cron jobs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, register

from headline import env


@register(deploy=True)
def check_proxies(app_configs: object, **options: Any) -> list[CheckMessage]:
    """With https a proxy is in front; if it is not counted, all clients share one address in rate limits."""
    if settings.PROXY_COUNT or not settings.SITE_URL.startswith("https://"):
        return []
    hint = "Set it to the number of proxies that write X-Forwarded-For, usually 1: else all clients share one address."
    return [checks.Warning("PROXY_COUNT is 0, but https ends at a proxy.", hint=hint, id="headline.W001")]


@register
def check_cron(app_configs: object, **options: Any) -> list[CheckMessage]:
    """Cron jobs use the environment that was stored when they were installed."""
    copy: Path = settings.CRON_COPY
    if not copy.exists() or copy == env.FILE or not (names := differing(copy)):
        return []
    hint = "Run manage.py crontab add again, or keep the variables in a file that ENV_FILE names."
    message = f"Cron jobs run with other values of {', '.join(names)}."
    return [checks.Warning(message, hint=hint, id="headline.W002")]


def differing(file: Path) -> list[str]:
    """The variables of this process that `file` lacks or sets to other values."""
    stored = env.stored("ENV_FILE", file)
    return sorted(name for name, value in env.given().items() if stored.get(name, "").strip() != value)
