"""Issue and revoke API tokens, with audit entries."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User

from articles.audit import Action, Actor, record_beside
from articles.limits import MOST_TOKENS
from articles.permissions import require_unchanged
from headline.api.models import ApiToken, Scope
from headline.api.service_accounts import note_operator
from scheduling.database import read_database_clock, retried


@retried
def issue(
    user: User, *, by: Actor, name: str, scopes: Collection[str] = tuple(Scope), expires_at: datetime | None = None
) -> tuple[ApiToken, str]:
    """A token with which programs act as `user`, and its secret, which is not stored. Raises `NotAllowed`."""
    require_unchanged(user, by)
    expires_at = expires_at or read_database_clock() + settings.API_TOKEN_LIFETIME
    note_operator(user, by)
    token, secret = ApiToken.objects.issue(user, name=name, scopes=scopes, expires_at=expires_at)
    _record(Action.ADD_TOKEN, token, by=by, scopes=token.scopes, until=expires_at.isoformat())
    others = ApiToken.objects.filter(user=user).exclude(pk=token.pk).select_related("user")
    for old in sorted(others, key=_last_activity, reverse=True)[MOST_TOKENS - 1 :]:
        revoke(old, by=by)
    return token, secret


@retried
def revoke(token: ApiToken, *, by: Actor | None = None) -> None:
    """Revoke a token; `by` None means because of a change of its owner's account."""
    _record(Action.REVOKE_TOKEN, token, by=by)
    token.delete()


def _record(action: str, token: ApiToken, *, by: Actor | None, **details: Any) -> None:
    record_beside(action, title=token.name, by=by, owner=token.user.get_username(), **details)


def _last_activity(token: ApiToken) -> datetime:
    return token.last_used_at or token.created_at
