"""Audit entries for changes of users, groups and permissions, in the same transaction."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from allauth.core import context
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.contrib.auth.models import Group, Permission, User
from django.db.models.signals import m2m_changed, post_delete, post_save, pre_save
from django.dispatch import Signal, receiver

from articles.audit import (
    Action,
    record_beside,
)
from articles.models import CalendarFeed
from headline.accounts.second_factor import FACTORS
from headline.accounts.sessions import end_sessions, end_unfinished_sign_ins

locked_out = Signal()
"""Sent with `user` after a new password, a deactivation or the first second factor: tokens and calendar feed end."""

_RECORDED = ("username", "first_name", "last_name", "email", "is_active", "is_staff", "is_superuser")


@receiver(pre_save, sender=User)
def collect_changes(instance: User, raw: bool, update_fields: Collection[str] | None, **kwargs: Any) -> None:
    """Before a save: store the changes on the instance."""
    instance._changes, instance._has_new_password = {}, False  # type: ignore[attr-defined]
    if raw or not instance.pk or (update_fields is not None and set(update_fields) == {"last_login"}):
        return
    old = User.objects.filter(pk=instance.pk).values("password", *_RECORDED).first()
    if old is None:
        return
    names = [name for name in _RECORDED if update_fields is None or name in update_fields]
    instance._changes = {  # type: ignore[attr-defined]
        name: [old[name], getattr(instance, name)] for name in names if old[name] != getattr(instance, name)
    }
    # Django rehashes an unchanged password when the hashing settings have changed.
    is_rehashed = update_fields is not None and set(update_fields) == {"password"} and instance._password is None  # type: ignore[attr-defined]
    instance._has_new_password = old["password"] != instance.password and not is_rehashed  # type: ignore[attr-defined]


@receiver(post_save, sender=User)
def record_user(instance: User, created: bool, raw: bool, **kwargs: Any) -> None:
    """After a save: record the changes; a new password or a deactivation revokes the user's tokens."""
    if raw:
        return
    changes: dict[str, Any] = instance._changes  # type: ignore[attr-defined]
    has_new_password: bool = instance._has_new_password  # type: ignore[attr-defined]
    if created:
        record_beside(Action.ADD_USER, title=instance.username, is_superuser=instance.is_superuser)
    elif changes:
        record_beside(Action.CHANGE_USER, title=instance.username, changes=changes)
    if has_new_password:
        record_beside(Action.CHANGE_PASSWORD, title=instance.username)
        end_unfinished_sign_ins(instance)
    is_deactivated = changes.get("is_active") == [True, False]
    if has_new_password or is_deactivated:
        locked_out.send(User, user=instance)
    if is_deactivated:
        end_sessions(instance)


@receiver(post_delete, sender=User)
def record_deleted_user(instance: User, **kwargs: Any) -> None:
    """Record a deletion."""
    record_beside(Action.DELETE_USER, title=instance.username)


@receiver(post_save, sender=Group)
def record_group(instance: Group, created: bool, raw: bool, **kwargs: Any) -> None:
    """Record a save."""
    if not raw:
        record_beside(Action.ADD_GROUP if created else Action.CHANGE_GROUP, title=instance.name)


@receiver(post_delete, sender=Group)
def record_deleted_group(instance: Group, **kwargs: Any) -> None:
    """Record a deletion."""
    record_beside(Action.DELETE_GROUP, title=instance.name)


@receiver(m2m_changed, sender=User.groups.through)
@receiver(m2m_changed, sender=User.user_permissions.through)
@receiver(m2m_changed, sender=Group.permissions.through)
def record_rights(
    instance: User | Group, action: str, reverse: bool, model: Any, pk_set: set[int] | None, **kwargs: Any
) -> None:
    """Record permissions and groups that are added, removed or cleared, from either side of the relation."""
    verb = {"post_add": "given", "post_remove": "taken", "pre_clear": "taken"}.get(action)
    if verb is None or pk_set == set():
        return
    others = list(model.objects.filter(pk__in=pk_set)) if pk_set is not None else _all_others(instance, model, reverse)
    pairs = [(other, [instance]) for other in others] if reverse else [(instance, others)]
    for owner, rights in pairs:
        if rights:
            _record_right(owner, verb, rights)


def _all_others(instance: Any, model: Any, is_reverse: bool) -> list[Any]:
    """All related objects, before they are cleared."""
    if is_reverse:
        return list(getattr(instance, f"{model._meta.model_name}_set").all())
    names = ("groups",) if model is Group else ("permissions", "user_permissions")
    return list(next(getattr(instance, name) for name in names if hasattr(instance, name)).all())


def _record_right(owner: User | Group, verb: str, rights: Collection[Any]) -> None:
    action, title = (
        (Action.CHANGE_USER, owner.username) if isinstance(owner, User) else (Action.CHANGE_GROUP, owner.name)
    )
    details: dict[str, Any] = {verb: sorted(map(_name, rights))}
    record_beside(action, title=title, **details)


def _name(right: Any) -> str:
    return f"{right.content_type.app_label}.{right.codename}" if isinstance(right, Permission) else str(right)


@receiver(post_save, sender=Authenticator)
def record_added_factor(instance: Authenticator, created: bool, raw: bool, **kwargs: Any) -> None:
    """Record a new second factor or new recovery codes."""
    if created and not raw:
        is_codes = instance.type == Authenticator.Type.RECOVERY_CODES
        action = Action.NEW_RECOVERY_CODES if is_codes else Action.ADD_SECOND_FACTOR
        record_beside(action, title=instance.user.get_username(), kind=instance.type)


@receiver(post_save, sender=Authenticator)
def end_sessions_without_factor(instance: Authenticator, created: bool, raw: bool, **kwargs: Any) -> None:
    """End the user's other sessions and tokens with the first second factor: they began with a password alone."""
    factors = Authenticator.objects.filter(user=instance.user_id, type__in=FACTORS)
    if created and not raw and instance.type in FACTORS and factors.count() == 1:
        request = context.request
        end_sessions(instance.user, except_key=request.session.session_key if request else None)
        locked_out.send(User, user=instance.user)


@receiver(locked_out, sender=User)
def revoke_calendar_feed(user: User, **kwargs: Any) -> None:
    """Revoke the calendar feed, whose address may have been made or read in a session that ends now."""
    CalendarFeed.objects.revoke(user)


@receiver(post_delete, sender=Authenticator)
def record_removed_factor(instance: Authenticator, **kwargs: Any) -> None:
    """Record a removed second factor; recovery codes are removed with the last one, and replaced by new ones."""
    if instance.type != Authenticator.Type.RECOVERY_CODES:
        record_beside(Action.REMOVE_SECOND_FACTOR, title=instance.user.get_username(), kind=instance.type)


@receiver(post_save, sender=SocialAccount)
def record_linked_identity(instance: SocialAccount, created: bool, raw: bool, **kwargs: Any) -> None:
    """Record that an account is linked to an identity of the provider."""
    if created and not raw:
        record_beside(Action.LINK_IDENTITY, title=instance.user.get_username())


@receiver(post_delete, sender=SocialAccount)
def record_unlinked_identity(instance: SocialAccount, **kwargs: Any) -> None:
    """Record that it no longer is."""
    record_beside(Action.UNLINK_IDENTITY, title=instance.user.get_username())
