"""django-crontab's command, whose jobs also find the environment in which they were installed.

Cron starts its jobs with an empty environment, and a password does not belong on a command line that `ps` shows to
everybody. `crontab add` therefore leaves the variables in a file for its owner's eyes, which `ENV_FILE` in the
installed lines names. Run it again after changing them.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django_crontab.management.commands import crontab

from headline import env


class Command(crontab.Command):  # type: ignore[misc]  # django-crontab has no types
    """Add, show, run or remove the jobs of the CRONJOBS setting."""

    def handle(self, *args: Any, **options: Any) -> None:
        """Keep the environment as long as the jobs are installed."""
        if options["subcommand"] == "add":
            _remember_environment()
        super().handle(*args, **options)
        if options["subcommand"] == "remove":
            settings.CRON_ENVIRONMENT.unlink(missing_ok=True)


def _remember_environment() -> None:
    file = settings.CRON_ENVIRONMENT
    file.touch(mode=0o600)
    file.chmod(0o600)
    file.write_text("".join(f"{name}={value}\n" for name, value in sorted(env.given().items())), encoding="utf-8")
