"""One-time links by mail with which a user sets the password: for an invitation, or to reset it.

A link is generated when it is sent, and never stored. It ends when it is used, at the next log-in, and after a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.core.mail import EmailMessage
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django.utils.translation import gettext as _, gettext_lazy, override

from articles.audit import (
    Action,
    Actor,
    record_beside,
)
from articles.notifications import speaking_to
from headline.api.models import is_service_account
from scheduling.database import read_database_clock
from scheduling.registry import handler
from scheduling.services import add_task

if TYPE_CHECKING:
    from scheduling.models import TaskInfo

MAIL = "accounts.mail_reset"


def is_invited(user: User) -> bool:
    """Whether the user, no program, has not set a first password yet, and has none of a directory."""
    is_new = user.is_active and user.is_staff and user.last_login is None and not user.has_usable_password()
    has_account = is_new and SocialAccount.objects.filter(user=user).exists()  # with a token, but no session yet
    return is_new and not has_account and not is_service_account(user)


def may_have_link(user: User) -> bool:
    """Whether the user may set a password by link."""
    may = user.is_active and bool(user.email) and (user.has_usable_password() or is_invited(user))
    return may and not is_service_account(user)


class LinkTokens(PasswordResetTokenGenerator):
    """Django's tokens; those of invitations are valid for longer."""

    def make_token(self, user: User) -> str:
        """A token; that of an invitation is stamped in the future, because its age is compared with one setting."""
        more = settings.INVITATION_TIMEOUT - settings.PASSWORD_RESET_TIMEOUT if is_invited(user) else 0
        stamp = self._num_seconds(self._now()) + more
        token: str = self._make_token_with_timestamp(user, stamp, self.secret)
        return token


tokens = LinkTokens()


def link_of(user: User) -> str:
    """A new link."""
    parts = [urlsafe_base64_encode(force_bytes(user.pk)), tokens.make_token(user)]
    return settings.SITE_URL + reverse("password_reset_confirm", args=parts)


def can_mail() -> bool:
    """Whether a mail server is configured."""
    return not settings.EMAIL_BACKEND.endswith("dummy.EmailBackend")


def send_link(user: User) -> None:
    """Mail a link soon."""
    add_task(MAIL, execute_time=read_database_clock(), parameters={"user": user.pk}, key=str(user.pk))


def invite(user: User, *, by: Actor) -> str:
    """Mail an invitation. Without a mail server: the link, to be handed over by the caller; else empty."""
    record_beside(Action.INVITE_USER, title=user.get_username(), by=by)
    if not can_mail():
        return link_of(user)
    send_link(user)
    return ""


@handler(MAIL, max_attempts=8, at_least_once=True, label=gettext_lazy("Password mail"))
def mail_links(tasks: Sequence[TaskInfo]) -> None:
    """Send the mails with the links."""
    for task in tasks:
        user = User.objects.filter(pk=dict(task.parameters or {})["user"]).first()
        if user is not None and may_have_link(user):
            with override(settings.LANGUAGE_CODE), speaking_to(user):
                subject, text = _invitation(user) if is_invited(user) else _reset(user)
                EmailMessage(subject, text, to=[user.email]).send()


def _invitation(user: User) -> tuple[str, str]:
    text = _(
        "Hello %(name)s,\n\nyou are invited to the newsroom of %(site)s. Set your password here within %(days)d "
        "days:\n\n"
        "%(address)s\n\nThen log in as “%(login)s”. If the link has ended, enter your email address here to get a new "
        "one:\n\n%(ask)s"
    )
    values = {
        "name": user.get_full_name() or user.get_username(),
        "site": settings.SITE_URL,
        "days": settings.INVITATION_TIMEOUT // (24 * 3600),
        "address": link_of(user),
        "login": user.get_username(),
        "ask": settings.SITE_URL + reverse("admin_password_reset"),
    }
    return _("Invitation to the newsroom"), text % values


def _reset(user: User) -> tuple[str, str]:
    text = _(
        "A new password was requested for “%(name)s”. If it was you, choose one here within an hour:\n\n"
        "%(address)s\n\nIf it was not you, do nothing: the password stays as it is."
    )
    return _("A new password"), text % {"name": user.get_username(), "address": link_of(user)}
