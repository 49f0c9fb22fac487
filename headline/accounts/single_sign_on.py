"""Single sign-on: which account an identity of the provider gets, and with which roles."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from http import HTTPStatus
from math import ceil
from typing import Any, Self

from allauth.account.utils import get_next_redirect_url
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialAccount, SocialLogin
from allauth.socialaccount.providers.base.constants import AuthError, AuthProcess
from django.conf import settings
from django.contrib.auth.models import Group, User
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import resolve_url

from articles.exceptions import SensitiveText
from articles.permissions import lock_account
from articles.review import refuse_sensitive
from headline.accounts.address import address_of
from headline.accounts.rate_limits import Limit
from headline.accounts.refusal import recorded_refusal, refusal
from headline.api.models import is_service_account
from scheduling.database import lock_by_ids, retried

logger = logging.getLogger(__name__)

DIRECTORY = "ldap"
"""The issuer of identities in the LDAP directory."""

STARTS = Limit("single sign-on of address", burst=50, every=timedelta(seconds=6))

_NAME_LENGTH = 150


class SignInRefused(Exception):
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
            # Not the text "true": an address decides whose account this is.
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
    """The account of the identity, with its roles of today; created if there is none. Raises `SignInRefused`."""
    roles = identity.roles()
    if not roles:
        raise SignInRefused("no_role")
    user = linked or _account_with_address(identity) or _new_account(identity)
    if not user.is_active:
        raise SignInRefused("deactivated")
    if is_service_account(user):
        raise SignInRefused("program")
    give_roles(user, roles)
    return user


def sign_in(identity: Identity, account: SocialAccount, *, linked: User | None) -> User:
    """The user whom `admit` gives, linked to the identity. Raises `SignInRefused`; no role: mapped ones are taken."""
    try:
        with transaction.atomic():
            account.user = admit(identity, linked=linked)
            if account.pk and not lock_by_ids(SocialAccount, [account.pk]).exists():
                raise SignInRefused("expired")  # an administrator has just unlinked it
            account.save()
    except SignInRefused as reason:
        if linked is not None and reason.args == ("no_role",):
            # Outside of the transaction, which the refusal rolls back: who lost the group loses the roles at once.
            give_roles(linked, [])
        raise
    user: User = account.user
    return user


@retried
def give_roles(user: User, roles: list[Group]) -> None:
    """Give these roles, and take the other roles that the provider manages; administrators stay as they are.

    No group makes one: who controls the provider's groups would otherwise control everything.
    """
    lock_account(user)  # as others do who change the roles
    if user.is_superuser:
        return
    managed = set(user.groups.filter(name__in=settings.SSO_ROLES.values()))
    user.groups.remove(*managed - set(roles))
    user.groups.add(*set(roles) - managed)
    if roles and not user.is_staff:
        user.is_staff = True
        user.save(update_fields=["is_staff"])


def _account_with_address(identity: Identity) -> User | None:
    """The account with the confirmed address. Raises `SignInRefused`."""
    if not identity.email:
        raise SignInRefused("no_email")
    if not identity.is_confirmed and not settings.SSO_TRUST_EMAIL:
        raise SignInRefused("email_unconfirmed")
    users = User.objects.filter(email__iexact=identity.email)
    found = [user for user in users if _folded(user.email) == _folded(identity.email)]
    if len(found) > 1 or (found and found[0].is_superuser and not identity.is_confirmed):
        raise SignInRefused("email_taken")
    if found and is_linked(found[0]):
        raise SignInRefused("email_reused")
    return found[0] if found else None


def _folded(email: str) -> bytes:
    """The address with its ASCII letters in lower case: other letters that databases equate are other mailboxes."""
    return email.encode().lower()


def is_linked(user: User) -> bool:
    """Whether the account has an identity of the present provider or directory."""
    present = {("oidc", issuer_of_open_id())} if settings.OIDC else set()
    present |= {("saml", settings.SAML["idp_entity_id"])} if settings.SAML else set()
    present |= {(DIRECTORY, DIRECTORY)} if settings.LDAP else set()
    accounts = SocialAccount.objects.filter(user=user)
    return any((account.provider, account.extra_data.get("issuer")) in present for account in accounts)


def unlink(user: User) -> None:
    """Let another identity be linked, such as that of a user who was created again at the provider."""
    for account in SocialAccount.objects.filter(user=user):
        account.delete()


def issuer_of_open_id() -> str:
    """As tokens name it, without a slash at the end."""
    return str(settings.OIDC["settings"]["server_url"]).rstrip("/")


def _new_account(identity: Identity) -> User:
    name = re.sub(r"[^\w.@+-]", "-", identity.email)[: _NAME_LENGTH - 4]
    names = (name, *(f"{name}{number}" for number in range(2, 1000)))
    username = next(name for name in names if not User.objects.filter(username=name).exists())
    return User.objects.create_user(username, identity.email, first_name=_name_for_readers(identity), is_staff=True)


def _name_for_readers(identity: Identity) -> str:
    """The name, which readers see with what the user writes; none with a sensitive word, as in every other way."""
    try:
        refuse_sensitive(identity.name)
    except SensitiveText:
        logger.warning("The name of %s has a sensitive word; the account is created without it", identity.email)
        return ""
    return identity.name


def redirect_to_provider(request: HttpRequest, provider: Any) -> HttpResponse:
    """To the identity provider; signed-in users are redirected to where they were going."""
    next_url = get_next_redirect_url(request)
    if request.user.is_authenticated:
        return HttpResponseRedirect(next_url or resolve_url(settings.LOGIN_REDIRECT_URL))
    if too_many := refuse_many(request, STARTS):  # each start may store a session
        return too_many
    response: HttpResponse = provider.redirect(request, process=AuthProcess.LOGIN, next_url=next_url)
    return response


def refuse_many(request: HttpRequest, limit: Limit) -> HttpResponse | None:
    """A response with status 429 if the address has reached the limit."""
    wait = limit.take(address_of(request))
    if not wait:
        return None
    response = refusal(request, "too_many", status=HTTPStatus.TOO_MANY_REQUESTS)
    response.headers["Retry-After"] = str(ceil(wait.total_seconds()))
    return response


class SingleSignOnAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]
    """Admits identities, and says why others are refused."""

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Link the identity to its account. Raises `ImmediateHttpResponse` with the refusal."""
        linked = sociallogin.user if sociallogin.is_existing else None
        provider = sociallogin.provider
        identity = provider.identity(sociallogin.account.extra_data)
        sociallogin.account.extra_data, sociallogin.token = {"issuer": provider.issuer}, None  # no claims, no tokens
        try:
            sociallogin.user = sign_in(identity, sociallogin.account, linked=linked)
        except SignInRefused as reason:
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
