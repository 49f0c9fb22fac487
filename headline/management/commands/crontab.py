"""django-crontab's command, extended so that its jobs get the environment in which they were installed.

Cron starts jobs with an empty environment, and passwords must not be on a command line, which `ps` shows to all users.
So the jobs read the file that `ENV_FILE` names. Without one, `crontab add` stores the variables in a file that only its
owner can read; `check` warns when they have changed since, and `crontab add` writes it again.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django_crontab.management.commands import crontab

from headline import env
from headline.checks import differing


class Command(crontab.Command):  # type: ignore[misc]  # django-crontab has no types
    """Add, show, run or remove the jobs of the CRONJOBS setting."""

    help = "Install the jobs of CRONJOBS in the user's crontab (add), list them (show), or remove them."

    def handle(self, *args: Any, **options: Any) -> None:
        """Store the environment while the jobs are installed."""
        if options["subcommand"] == "add":
            _store_environment()
        super().handle(*args, **options)
        if options["subcommand"] == "remove":
            settings.CRON_COPY.unlink(missing_ok=True)


def _store_environment() -> None:
    file = settings.CRON_ENVIRONMENT
    if file != settings.CRON_COPY:
        if names := differing(file):
            fault = f"{file} differs from the environment of this process: {', '.join(names)}."
            raise CommandError(f"{fault} Correct that file, which the jobs read too, and try again.")
        settings.CRON_COPY.unlink(missing_ok=True)
        return
    file.touch(mode=0o600)
    file.chmod(0o600)
    file.write_text("".join(f"{name}={value}\n" for name, value in sorted(env.given().items())), encoding="utf-8")
