"""The page that says why a sign-in failed."""

from __future__ import annotations

from datetime import timedelta
from http import HTTPStatus

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _

from articles.audit import (
    Action,
    record_beside,
)
from headline.accounts.address import address_of
from headline.accounts.rate_limits import Limit

REFUSALS = Limit("recorded refusals of address", burst=20, every=timedelta(minutes=1))

TEXTS = {
    "cancelled": _("The sign-in was cancelled."),
    "deactivated": _("This account is deactivated. Ask an administrator of the newsroom to activate it."),
    "email_taken": _(
        "An account of the newsroom has your email address and cannot be linked. Log in with your password, or ask an "
        "administrator."
    ),
    "email_reused": _(
        "The account with your email address is linked to another identity of single sign-on or of the directory. Sign "
        "in as before, or ask an administrator to unlink it."
    ),
    "email_unconfirmed": _(
        "The identity provider does not confirm that the email address is yours. Confirm it there, or ask an "
        "administrator of the newsroom."
    ),
    "expired": _("This sign-in has ended or was used before. Start again."),
    "link": _("This link was used before or has ended. Create a new one with “manage.py sign_in_link”."),
    "no_email": _(
        "Your account at the identity provider has no email address, or the provider does not send it as the claim "
        "“email”. Ask its administrator."
    ),
    "no_role": _("None of your groups has a role in the newsroom. Ask an administrator to add you to a group."),
    "passkey": _("This passkey is unknown here, or the log-in took too long. Try again, or log in with your password."),
    "program": _("This account is a program’s. It acts by tokens and cannot log in."),
    "too_many": _("Too many sign-ins begin at your address. Try again in a minute."),
    "provider": _("The identity provider could not be reached, or its answer was invalid. Try again later."),
}
"""Reason to text."""


def refusal(request: HttpRequest, reason: str, *, status: int = HTTPStatus.FORBIDDEN) -> HttpResponse:
    """The page, with a link to the log-in."""
    context = {
        **admin.site.each_context(request),
        "title": _("Sign-in failed"),
        "reason": TEXTS[reason],
    }
    return render(request, "headline/refusal.html", context, status=status)


def recorded_refusal(request: HttpRequest, reason: str, *, title: str = "") -> HttpResponse:
    """The page; the audit log records it, a limited number of times for each address."""
    address = address_of(request)
    if not REFUSALS.take(address):
        record_beside(Action.LOG_IN_FAILED, title=title, address=address, reason=reason)
    return refusal(request, reason)
