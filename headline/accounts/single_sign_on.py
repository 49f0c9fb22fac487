"""Single sign-on: which account an identity of the provider gets, and with which roles."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialAccount, SocialLogin
from allauth.socialaccount.providers.base.constants import AuthError
from django.conf import settings
from django.contrib.auth.models import Group, User
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse

from headline.accounts.refusal import recorded_refusal

logger = logging.getLogger(__name__)

DIRECTORY = "ldap"
"""The issuer of identities in the LDAP directory."""

_NAME_LENGTH = 150


class Refused(Exception):
    """The identity gets no session; the argument is a key of `headline.accounts.refusal.TEXTS`."""


@dataclass(frozen=True)
class Identity:
    """What the identity provider says about a user."""

    email: str
    is_confirmed: bool  #: whether the provider has checked that the address is the user's
    name: str
    groups: frozenset[str]

    @classmethod
    def of(cls, claims: Mapping[str, Any]) -> Self:
        """The identity in the claims of OpenID Connect."""
        return cls(
            email=line_of(claims.get("email")),
            is_confirmed=claims.get("email_verified") is True,
            name=line_of(claims.get("name")) or line_of(claims.get("preferred_username")),
            groups=_groups(claims, settings.OIDC_GROUPS_CLAIM),
        )

    def roles(self) -> list[Group]:
        """The roles to which `SSO_ROLES` maps the groups."""
        names = {settings.SSO_ROLES[group] for group in self.groups & settings.SSO_ROLES.keys()}
        found = list(Group.objects.filter(name__in=names))
        if missing := names - {role.name for role in found}:
            logger.warning("SSO_ROLES names roles that do not exist: %s", ", ".join(sorted(missing)))
        return found


def line_of(claim: object) -> str:
    """The claim if it is a line of text, shortened to what fits; else an empty one."""
    return claim.strip()[:_NAME_LENGTH] if isinstance(claim, str) and claim.isprintable() else ""


def _groups(claims: Mapping[str, Any], name: str) -> frozenset[str]:
    """The groups in a claim, or in one inside another, as in `realm_access.roles`."""
    found: Any = claims.get(name)
    if found is None:
        found = claims
        for part in name.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
    values = [found] if isinstance(found, str) else found
    return frozenset(value for value in values if isinstance(value, str)) if isinstance(values, list) else frozenset()


def admit(identity: Identity, *, linked: User | None) -> User:
    """The account of the identity, with its roles of today; created if there is none. Raises `Refused`."""
    roles = identity.roles()
    if not roles:
        raise Refused("no_role")
    user = linked or _account_with_address(identity) or _new_account(identity)
    if not user.is_active:
        raise Refused("deactivated")
    give_roles(user, roles)
    return user


def sign_in(identity: Identity, account: SocialAccount, *, linked: User | None) -> User:
    """The user whom `admit` gives, linked to the identity. Raises `Refused`; without a role mapped ones are taken."""
    try:
        with transaction.atomic():
            account.user = admit(identity, linked=linked)
            account.save()
    except Refused as reason:
        if linked is not None and reason.args == ("no_role",):
            give_roles(linked, [])
        raise
    user: User = account.user
    return user


def give_roles(user: User, roles: list[Group]) -> None:
    """Give these roles, and take the other roles that the provider manages; administrators stay as they are."""
    if user.is_superuser:
        return
    managed = set(user.groups.filter(name__in=settings.SSO_ROLES.values()))
    user.groups.remove(*managed - set(roles))
    user.groups.add(*set(roles) - managed)
    if roles and not user.is_staff:
        user.is_staff = True
        user.save(update_fields=["is_staff"])


def _account_with_address(identity: Identity) -> User | None:
    """The account with the confirmed address. Raises `Refused`."""
    if not identity.email:
        raise Refused("no_email")
    if not identity.is_confirmed and not settings.SSO_TRUST_EMAIL:
        raise Refused("email_unconfirmed")
    users = User.objects.filter(email__iexact=identity.email)
    found = [user for user in users if user.email.casefold() == identity.email.casefold()]
    if len(found) > 1 or (found and found[0].is_superuser and not identity.is_confirmed):
        raise Refused("email_taken")
    if found and is_linked(found[0]):
        raise Refused("email_reused")
    return found[0] if found else None


def is_linked(user: User) -> bool:
    """Whether the account has an identity of the present provider or directory."""
    accounts = SocialAccount.objects.filter(user=user)
    present = {_issuer()} if settings.OIDC else set()
    present |= {DIRECTORY} if settings.LDAP else set()
    return any(account.extra_data.get("issuer") in present for account in accounts)


def unlink(user: User) -> None:
    """Let another identity be linked, such as that of a user who was created again at the provider."""
    for account in SocialAccount.objects.filter(user=user):
        account.delete()


def _issuer() -> str:
    return str(settings.OIDC["settings"]["server_url"]).rstrip("/")


def _new_account(identity: Identity) -> User:
    name = re.sub(r"[^\w.@+-]", "-", identity.email)[: _NAME_LENGTH - 4]
    names = (name, *(f"{name}{number}" for number in range(2, 1000)))
    username = next(name for name in names if not User.objects.filter(username=name).exists())
    return User.objects.create_user(username, identity.email, first_name=identity.name, is_staff=True)


class SingleSignOnAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]
    """Admits identities, and says why others are refused."""

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Link the identity to its account. Raises `ImmediateHttpResponse` with the refusal."""
        linked = sociallogin.user if sociallogin.is_existing else None
        identity = Identity.of(sociallogin.account.extra_data["id_token"])
        sociallogin.account.extra_data, sociallogin.token = {"issuer": _issuer()}, None  # no claims, no tokens
        try:
            sociallogin.user = sign_in(identity, sociallogin.account, linked=linked)
        except Refused as reason:
            name = linked.get_username() if linked else identity.email
            raise ImmediateHttpResponse(recorded_refusal(request, str(reason), title=name)) from reason
        except IntegrityError as error:  # the same identity signs in twice at once for the first time
            raise ImmediateHttpResponse(recorded_refusal(request, "expired")) from error

    def on_authentication_error(
        self,
        request: HttpRequest,
        provider: Any,
        error: str = "",
        exception: Exception | None = None,
        extra_context: Mapping[str, Any] | None = None,
    ) -> None:
        """Raise `ImmediateHttpResponse` with the refusal."""
        raise ImmediateHttpResponse(self.failed(request, exception, error=error))

    def failed(self, request: HttpRequest, exception: Exception | None, *, error: str = "") -> HttpResponse:
        """The refusal after a fault of the provider, or without the state of this session."""
        if exception is not None:
            logger.warning("Single sign-on failed: %s", exception)
            return recorded_refusal(request, "provider")
        if error == AuthError.CANCELLED:
            return recorded_refusal(request, "cancelled")
        return recorded_refusal(request, "provider" if "error" in request.GET else "expired")
