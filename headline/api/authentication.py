"""Token authentication: `Authorization: Bearer …` or, as before, `Token …`."""

from __future__ import annotations

from datetime import UTC, timedelta
from typing import Any

from django.utils.translation import gettext as _
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from headline.accounts.second_factor import may_act_without_session
from headline.api.models import ApiToken, is_service_account
from scheduling.database import database_now

KEYWORD = "Bearer"
_KEYWORDS = {KEYWORD.lower(), "token"}
_LAST_USED_PRECISION = timedelta(minutes=5)


class TokenAuthentication(BaseAuthentication):
    """Authenticates the owner of a valid token."""

    def authenticate(self, request: Request) -> tuple[Any, ApiToken] | None:
        """The owner and the token; None without the header. Raises `AuthenticationFailed`."""
        keyword, _space, secret = get_authorization_header(request).decode("latin-1").partition(" ")
        if keyword.lower() not in _KEYWORDS:
            return None
        valid = ApiToken.objects.with_secret(secret.strip()).open_at(database_now())
        found: Any = valid.select_related("user").annotate(now=database_now()).first()
        if found is None:
            raise AuthenticationFailed(_("This token is unknown, revoked or expired."))
        if not (may_act_without_session(found.user) or is_service_account(found.user)):  # programs can set up no factor
            message = _("The owner of this token must set up a second factor first, in the newsroom.")
            raise AuthenticationFailed(message, code="second_factor")
        now = found.now.replace(tzinfo=UTC)
        if found.last_used_at is None or now - found.last_used_at > _LAST_USED_PRECISION:
            ApiToken.objects.filter(pk=found.pk).update(last_used_at=now)
        return found.user, found

    def authenticate_header(self, request: Request) -> str:
        """The scheme of the `WWW-Authenticate` header."""
        return KEYWORD


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """The token scheme in the OpenAPI document."""

    target_class = TokenAuthentication
    name = "tokenAuth"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """A bearer token, which is what clients send unless they are told otherwise."""
        description = _("A token, in a header that begins with “%s”; “Token” is taken, too.")
        return {"type": "http", "scheme": "bearer", "description": description % KEYWORD}
