"""Service accounts: users that are programs, which act by tokens alone."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.contrib.auth.models import Group, User
from django.utils.translation import gettext_lazy as _

from articles.audit import Actor
from articles.exceptions import ArticleError, Gone, NotAllowed
from articles.permissions import require
from headline.accounts.staff import givable, may_administer
from headline.api.models import ServiceAccount, is_service_account
from scheduling.database import duplicates_collide, lock_by_ids, retried

ADD_USER, CHANGE_USER = "auth.add_user", "auth.change_user"


class NameTaken(ArticleError):
    """Another user has this name."""

    code = "taken"
    message = _("Another user has this log-in name.")


@retried
def create_service_account(*, name: str, purpose: str, roles: Collection[Group], by: Actor) -> ServiceAccount:
    """A user without password and address, with roles that `by` has. Raises `NotAllowed` and `NameTaken`."""
    require(ADD_USER, by)
    _require_roles(roles, by)
    if User.objects.filter(username=name).exists():
        raise NameTaken
    user = User(username=name, is_staff=True)
    user.set_unusable_password()
    with duplicates_collide():
        user.save()
    user.groups.set(roles)
    return ServiceAccount.objects.create(user=user, purpose=purpose, created_by_id=by.pk)


@retried
def change_service_account(
    account: ServiceAccount,
    *,
    by: Actor,
    purpose: str | None = None,
    roles: Collection[Group] | None = None,
    is_active: bool | None = None,
) -> None:
    """Change what is given; a deactivated account loses its tokens. Raises `NotAllowed` and `Gone`."""
    user = lock_by_ids(User, [account.user_id]).first()
    if user is None:
        raise Gone
    account.user = user
    require_administration(user, by)
    if roles is not None:
        _require_roles(roles, by)
        account.user.groups.set(roles)
    if is_active is not None and account.user.is_active != is_active:
        account.user.is_active = is_active
        account.user.save(update_fields=["is_active"])
    if purpose is not None:
        account.purpose = purpose
        account.save(update_fields=["purpose"])


def require_administration(user: User, by: Actor) -> None:
    """Raise `NotAllowed` unless `by` may change this user."""
    require(CHANGE_USER, by)
    if not may_administer(by, user):
        raise NotAllowed


def may_issue_for(user: Any, by: Any) -> bool:
    """Whether `by` may issue tokens for this user: for oneself, and for programs that one may change."""
    if user.pk == by.pk or by.is_superuser:
        return True
    return is_service_account(user) and bool(by.has_perm(CHANGE_USER)) and may_administer(by, user)


def operators_of(user_ids: Collection[int]) -> set[int]:
    """The ids of those who answer for the programs among these users: who created them or has issued their tokens."""
    accounts = ServiceAccount.objects.filter(pk__in=user_ids).values_list("created_by", "operators")
    return {pk for creator, issuers in accounts for pk in (creator, *issuers) if pk is not None}


def note_operator(user: User, by: Actor) -> None:
    """Note that `by` issues a token for this user, if it is a program."""
    account = ServiceAccount.objects.select_for_update().filter(pk=user.pk).first()
    if account is not None and by.pk not in account.operators:
        account.operators.append(by.pk)
        account.save(update_fields=["operators"])


def _require_roles(roles: Collection[Group], by: Actor) -> None:
    allowed = set(givable(Group, by).values_list("pk", flat=True))
    if not {role.pk for role in roles} <= allowed:
        raise NotAllowed
