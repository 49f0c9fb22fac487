"""Django's `createsuperuser`, which also validates the password without a terminal."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.management.commands import createsuperuser
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError

from articles.audit import Source, source
from headline import env


class Command(createsuperuser.Command):
    """Creates a superuser."""

    def handle(self, *args: Any, **options: Any) -> Any:
        """Refuse a weak password from the environment; at a terminal Django validates it."""
        password = env.text("DJANGO_SUPERUSER_PASSWORD")
        if password and not options["interactive"]:
            user: Any = self.UserModel(
                **{name: options[name] or "" for name in ("username", "email") if name in options}
            )
            try:
                validate_password(password, user)
            except ValidationError as refusal:
                raise CommandError(" ".join(refusal.messages)) from refusal
        with source(Source.COMMAND):
            return super().handle(*args, **options)
