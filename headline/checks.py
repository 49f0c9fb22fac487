"""System checks of the deployment: proxies, cron jobs and the roles in settings."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import Group
from django.core import checks
from django.core.checks import CheckMessage, register
from django.db import connection
from django.utils.translation import gettext as _

from headline import env
from headline.tables import find_differences

_NAMED = 5  # columns in a sentence


@register(deploy=True)
def check_proxies(app_configs: object, **options: Any) -> list[CheckMessage]:
    """With https a proxy is in front; if it is not counted, all clients share one address in rate limits."""
    if settings.PROXY_COUNT or not settings.SITE_URL.startswith("https://"):
        return []
    hint = _(
        "Set it to the number of proxies that write X-Forwarded-For, usually 1: else all clients share one address."
    )
    return [checks.Warning(_("PROXY_COUNT is 0, but https ends at a proxy."), hint=hint, id="headline.W001")]


@register
def check_cron(app_configs: object, **options: Any) -> list[CheckMessage]:
    """Cron jobs use the environment that was stored when they were installed."""
    copy: Path = settings.CRON_COPY
    if not copy.exists() or copy == env.FILE or not (names := differing(copy)):
        return []
    hint = _("Run manage.py crontab add again, or keep the variables in a file that ENV_FILE names.")
    message = _("Cron jobs run with other values of %(names)s.") % {"names": ", ".join(names)}
    return [checks.Warning(message, hint=hint, id="headline.W002")]


@register(checks.Tags.database)
def check_roles(app_configs: object, databases: Iterable[str] | None = None, **options: Any) -> list[CheckMessage]:
    """A misspelt role has no effect, neither for single sign-on nor for second factors."""
    named = {*settings.SSO_ROLES.values(), *settings.SECOND_FACTOR_ROLES} - {"all", "Administrator"}
    if not named or not databases or Group._meta.db_table not in connection.introspection.table_names():
        return []
    if not (missing := sorted(named - set(Group.objects.values_list("name", flat=True)))):
        return []
    message = _("SSO_ROLES or SECOND_FACTOR_ROLES names roles that do not exist: %(names)s.")
    hint = _("Write the English name of a group, such as Editor-in-chief.")
    return [checks.Warning(message % {"names": ", ".join(missing)}, hint=hint, id="headline.W003")]


@register(checks.Tags.database)
def check_tables(app_configs: object, databases: Iterable[str] | None = None, **options: Any) -> list[CheckMessage]:
    """Columns, collations and triggers are as this version creates them on this server."""
    if not databases or not (names := find_differences().names):
        return []
    shown = ", ".join(names[:_NAMED]) + (", …" if len(names) > _NAMED else "")
    message = _("Columns, collations or triggers are not as this version creates them on this server: %(names)s.")
    hint = _("Stop workers and web servers, then run manage.py upgrade --repair, which makes a backup first.")
    return [checks.Error(message % {"names": shown}, hint=hint, id="headline.E004")]


def differing(file: Path) -> list[str]:
    """The variables of this process that `file` lacks or sets to other values."""
    stored = env.stored("ENV_FILE", file)
    return sorted(name for name, value in env.given().items() if stored.get(name, "").strip() != value)
