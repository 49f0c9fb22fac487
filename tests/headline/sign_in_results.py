"""What a sign-in led to."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.test import Client

from articles.models import AuditEntry


def reasons() -> list[str | None]:
    """Why sign-ins were refused, in their order; None for a wrong password."""
    return [entry.details.get("reason") for entry in AuditEntry.objects.filter(action="log_in_failed").order_by("pk")]


def is_signed_in(client: Client) -> bool:
    """Whether this browser has a user's session."""
    return "_auth_user_id" in client.session


def groups_of(user: User) -> list[str]:
    """The names of the user's roles."""
    return sorted(user.groups.values_list("name", flat=True))
