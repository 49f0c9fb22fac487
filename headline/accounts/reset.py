"""Password reset: Django's views, with the mail sent by a task, so that response times reveal no accounts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib import admin
from django.contrib.auth.forms import PasswordResetForm, SetPasswordForm
from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.contrib.auth.views import (
    PasswordResetCompleteView,
    PasswordResetConfirmView,
    PasswordResetDoneView,
    PasswordResetView,
)
from django.core.mail import EmailMessage
from django.http import HttpResponse
from django.urls import URLPattern, path, reverse, reverse_lazy
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, override
from unfold.widgets import UnfoldAdminEmailInputWidget, UnfoldAdminPasswordWidget

from articles.notifications import speaking_to
from headline.accounts.address import address_of
from headline.accounts.limits import Limit
from headline.accounts.login_throttle import TooManyAttempts, remember_device
from scheduling.registry import handler
from scheduling.services import add_task, read_database_clock

if TYPE_CHECKING:
    from scheduling.models import TaskInfo

MAIL = "accounts.mail_reset"
BY_ADDRESS = Limit("reset by address", burst=10, every=timedelta(minutes=1))
BY_ACCOUNT = Limit("reset of account", burst=3, every=timedelta(minutes=10))


class ResetForm(PasswordResetForm):
    """Sends the reset mail to the accounts with the given address."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["email"].widget = UnfoldAdminEmailInputWidget(attrs={"autocomplete": "email"})

    def save(self, *args: Any, **options: Any) -> None:
        """Add a task for each mail. The link is generated when it is sent, and never stored."""
        for user in self.get_users(self.cleaned_data["email"]):
            if not BY_ACCOUNT.take(str(user.pk)):
                add_task(MAIL, execute_time=read_database_clock(), parameters={"user": user.pk}, key=str(user.pk))


class NewPasswordForm(SetPasswordForm):  # type: ignore[type-arg]
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
        return super().form_valid(form)


class AskedView(LayoutMixin, PasswordResetDoneView):
    """Says that the mail is on its way, if there is an account."""

    template_name = "headline/reset.html"


class ConfirmView(LayoutMixin, PasswordResetConfirmView):
    """The page of the link in the mail; each link works once."""

    form_class = NewPasswordForm
    template_name = "headline/reset.html"
    success_url = reverse_lazy("password_reset_complete")

    def form_valid(self, form: Any) -> HttpResponse:
        """Set the password; this browser is known to the user from now on."""
        response = super().form_valid(form)
        remember_device(response, form.user)
        return response


class CompleteView(LayoutMixin, PasswordResetCompleteView):
    """Confirms the new password."""

    template_name = "headline/reset.html"


@handler(MAIL, max_attempts=8, at_least_once=True, label=gettext_lazy("Password reset mail"))
def mail_reset(tasks: Sequence[TaskInfo]) -> None:
    """Send the mail with the link."""
    for task in tasks:
        user = User.objects.filter(pk=dict(task.parameters or {})["user"], is_active=True).first()
        if user is not None and user.email and user.has_usable_password():
            with override(settings.LANGUAGE_CODE), speaking_to(user):
                _mail(user).send()


def _mail(user: User) -> EmailMessage:
    number, proof = urlsafe_base64_encode(force_bytes(user.pk)), default_token_generator.make_token(user)
    address = settings.SITE_URL + reverse("password_reset_confirm", args=[number, proof])
    text = _(
        "A new password was requested for “%(name)s”. If it was you, choose one here within an hour:\n\n"
        "%(address)s\n\nIf it was not you, do nothing: the password stays as it is."
    )
    return EmailMessage(_("A new password"), text % {"name": user.get_username(), "address": address}, to=[user.email])


def urls() -> list[URLPattern]:
    """The URL patterns; none if no mail can be sent."""
    if settings.EMAIL_BACKEND.endswith("dummy.EmailBackend"):
        return []
    return [
        path("admin/password_reset/", AskView.as_view(), name="admin_password_reset"),
        path("admin/password_reset/done/", AskedView.as_view(), name="password_reset_done"),
        path("admin/reset/<uidb64>/<token>/", ConfirmView.as_view(), name="password_reset_confirm"),
        path("admin/reset/done/", CompleteView.as_view(), name="password_reset_complete"),
    ]
