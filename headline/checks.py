"""System checks of the installation: what would fail silently later is named at the start."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, register

from headline import env


@register(deploy=True)
def check_proxies(app_configs: object, **options: Any) -> list[CheckMessage]:
    """TLS ends at a proxy; one that is not counted makes all visitors one address, for every limit."""
    if settings.PROXY_COUNT or not settings.SITE_URL.startswith("https://"):
        return []
    hint = "Set it to the number of proxies that write X-Forwarded-For, usually 1: else all visitors share one address."
    return [checks.Warning("PROXY_COUNT is 0, but https ends at a proxy.", hint=hint, id="headline.W001")]


@register
def check_cron(app_configs: object, **options: Any) -> list[CheckMessage]:
    """The jobs of cron have the environment of the day on which they were installed."""
    copy: Path = settings.CRON_COPY
    if not copy.exists() or copy == env.FILE or not (names := differing(copy)):
        return []
    hint = "Run manage.py crontab add again, or keep the variables in a file that ENV_FILE names."
    message = f"Cron's jobs run with other values of {', '.join(names)}."
    return [checks.Warning(message, hint=hint, id="headline.W002")]


def differing(file: Path) -> list[str]:
    """The variables that this process was started with and that `file` does not say, or says otherwise."""
    stored = env.stored("ENV_FILE", file)
    return sorted(name for name, value in env.given().items() if stored.get(name, "").strip() != value)
