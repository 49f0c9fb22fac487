"""Prints a one-time sign-in link for an administrator who is locked out."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from articles.audit import Source, source
from headline.accounts.one_time_link import LIFETIME, may_have_sign_in_link, sign_in_link
from headline.accounts.second_factor import remove_second_factors as remove_second_factors_of


class Command(BaseCommand):
    """Prints the link; the audit log records it."""

    help = "Print a one-time sign-in link for an administrator who is locked out."

    def add_arguments(self, parser: CommandParser) -> None:
        """The user, and whether second factors are removed."""
        parser.add_argument("username", help="log-in name of an administrator")
        parser.add_argument(
            "--remove-second-factors", action="store_true", help="also remove the user's second factors, which are lost"
        )

    def handle(self, *args: Any, username: str, remove_second_factors: bool, **options: Any) -> None:
        """Print the link. Raises `CommandError` for users who are no active administrators."""
        user = User.objects.filter(username=username).first()
        if user is None:
            raise CommandError(f"There is no user {username!r}. Create an administrator with createsuperuser.")
        if not may_have_sign_in_link(user):
            raise CommandError(f"{username!r} is no active administrator: an administrator can help in the newsroom.")
        with source(Source.COMMAND), transaction.atomic():
            if remove_second_factors:
                remove_second_factors_of(user)
            link = sign_in_link(user)
        self.stdout.write(link)
        self.stderr.write(f"It works once, within {LIFETIME.seconds // 60} minutes.")
