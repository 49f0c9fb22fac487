"""Pages on which users set their password by link."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from time import monotonic, sleep
from typing import Any

from django.contrib import admin
from django.contrib.auth.forms import PasswordResetForm, SetPasswordForm
from django.contrib.auth.models import User
from django.contrib.auth.views import (
    PasswordResetCompleteView,
    PasswordResetConfirmView,
    PasswordResetDoneView,
    PasswordResetView,
)
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path, reverse_lazy
from unfold.widgets import UnfoldAdminEmailInputWidget, UnfoldAdminPasswordWidget

from headline.accounts.address import address_of
from headline.accounts.links import can_mail, may_have_link, send_link, tokens
from headline.accounts.login_throttle import TooManyAttempts, remember_device
from headline.accounts.password_forms import StoresPassword, with_short_passwords
from headline.accounts.rate_limits import Limit
from scheduling.database import lock_by_ids, retried

BY_ADDRESS = Limit("reset by address", burst=10, every=timedelta(minutes=1))
RESPONSE_TIME = 0.25  # seconds, so that it does not reveal whether there is an account, which costs 10 ms more
BY_ACCOUNT = Limit("reset of account", burst=3, every=timedelta(minutes=10))


class ResetForm(PasswordResetForm):
    """Sends the reset mail to the accounts with the given address."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["email"].widget = UnfoldAdminEmailInputWidget(attrs={"autocomplete": "email"})

    def get_users(self, email: str) -> Iterator[User]:
        """The accounts with this address, also of users who were invited."""
        named = User.objects.filter(email__iexact=email)
        # Compared again: the database may take two addresses for one that differ in an accent, and the link would go to
        # a stranger.
        return (user for user in named if user.email.casefold() == email.casefold() and may_have_link(user))

    def save(self, *args: Any, **options: Any) -> None:
        """Mail a link to each account, a limited number of times."""
        for user in self.get_users(self.cleaned_data["email"]):
            if not BY_ACCOUNT.take(str(user.pk)):
                send_link(user)


@with_short_passwords
class NewPasswordForm(StoresPassword, SetPasswordForm):  # type: ignore[type-arg]
    """The new password, entered twice."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for field in self.fields.values():
            field.widget = UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password"})


class LayoutMixin:
    """Renders the pages in the layout of the log-in page."""

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        """The context, with what unfold's layout needs."""
        found: dict[str, Any] = super().get_context_data(**context)  # type: ignore[misc]
        return {**admin.site.each_context(self.request), **found}  # type: ignore[attr-defined]


class AskView(LayoutMixin, PasswordResetView):
    """Asks for the address; the response is the same for every address."""

    form_class = ResetForm
    template_name = "headline/reset.html"
    success_url = reverse_lazy("password_reset_done")

    def form_valid(self, form: Any) -> HttpResponse:
        """Count an attempt of this client address."""
        if wait := BY_ADDRESS.take(address_of(self.request)):
            form.add_error(None, TooManyAttempts(wait))
            response: HttpResponse = self.render_to_response(self.get_context_data(form=form), status=429)
            return response
        end = monotonic() + RESPONSE_TIME
        response = super().form_valid(form)
        # The page is the same for every address, and so must be the time that it takes.
        sleep(max(end - monotonic(), 0))
        return response


class AskedView(LayoutMixin, PasswordResetDoneView):
    """Says that the mail is on its way, if there is an account."""

    template_name = "headline/reset.html"


class ConfirmView(LayoutMixin, PasswordResetConfirmView):
    """The page of the link in the mail; each link works once."""

    form_class = NewPasswordForm
    token_generator = tokens
    template_name = "headline/reset.html"
    success_url = reverse_lazy("password_reset_complete")

    def dispatch(self, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """In one transaction, so that of two requests with one link the second finds it used."""
        return retried(super().dispatch)(*args, **kwargs)

    def get_user(self, uidb64: str) -> User | None:
        """The account, locked until the end of the transaction; None for one that may have no link."""
        found = super().get_user(uidb64)
        # Of two requests with one link the second waits here, and then finds it used.
        user = lock_by_ids(User, [found.pk]).first() if found else None
        return user if user and may_have_link(user) else None

    def form_valid(self, form: Any) -> HttpResponse:
        """Set the password; this browser is known to the user from now on."""
        response = super().form_valid(form)
        remember_device(response, form.user)
        return response


class CompleteView(LayoutMixin, PasswordResetCompleteView):
    """Confirms the new password."""

    template_name = "headline/reset.html"


def urls() -> list[URLPattern]:
    """The URL patterns; without a mail server only administrators make links."""
    asking = [
        path("admin/password_reset/", AskView.as_view(), name="admin_password_reset"),
        path("admin/password_reset/done/", AskedView.as_view(), name="password_reset_done"),
    ]
    return [
        *(asking if can_mail() else []),
        path("admin/reset/<uidb64>/<token>/", ConfirmView.as_view(), name="password_reset_confirm"),
        path("admin/reset/done/", CompleteView.as_view(), name="password_reset_complete"),
    ]
