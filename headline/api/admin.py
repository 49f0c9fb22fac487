"""Admin of API tokens: users see their own, users with the permission see all."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext, gettext_lazy as _, pgettext_lazy
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanSwitchWidget,
)

from articles.desk.autocomplete import ChoosingScreens
from articles.desk.bounded import RetriedScreens
from articles.desk.opened_form import OpenedForm
from articles.limits import LABEL_LENGTH, USERNAME_LENGTH
from articles.models import named
from articles.text import format_time_briefly
from headline.accounts.staff import givable, may_administer, role_described
from headline.api.models import ApiToken, Scope, ServiceAccount
from headline.api.service_accounts import (
    ADD_USER,
    CHANGE_USER,
    NameTaken,
    change_service_account,
    create_service_account,
)
from headline.api.tokens import issue, revoke
from scheduling.database import lock_by_ids, read_database_clock

DAYS = ((7, _("a week")), (30, _("30 days")), (90, _("90 days")), (365, _("a year")))


class TokenForm(forms.ModelForm[ApiToken]):
    """Form of a new token."""

    name = forms.CharField(label=_("Name"), max_length=LABEL_LENGTH, widget=UnfoldAdminTextInputWidget)
    scopes = forms.MultipleChoiceField(
        label=_("May"), choices=Scope.choices, widget=UnfoldAdminCheckboxSelectMultipleWidget
    )
    days = forms.TypedChoiceField(
        label=_("Ends after"), choices=DAYS, coerce=int, initial=90, widget=UnfoldAdminSelectWidget
    )

    class Meta:
        model = ApiToken
        fields = ["name", "scopes", "user"]


@admin.register(ApiToken)
class ApiTokenAdmin(ChoosingScreens):
    """Issues, lists and revokes tokens; the secret is shown once."""

    form = TokenForm
    keeps_history = False  # the audit log has it
    nothing_yet = _("A program signs in with such a token instead of a name and a password.")
    list_display = ["name", "owner", "may", "created", "used", "ends"]
    autocomplete_fields = ["user"]
    readonly_fields = ["owner", "may", "created", "used", "ends"]
    search_fields = ["name", "user__username"]

    def get_fields(self, request: HttpRequest, obj: ApiToken | None = None) -> Any:
        """Superusers may choose the owner; other users own the tokens that they issue."""
        if obj is not None:
            return ["name", "owner", "may", "created", "used", "ends"]
        return ["name", "scopes", "days", *(["user"] if _may_choose_owner(request) else [])]

    def get_readonly_fields(self, request: HttpRequest, obj: ApiToken | None = None) -> list[str]:
        """All fields: a token cannot be changed, only revoked."""
        return self.get_fields(request, obj) if obj is not None else []

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **options: Any) -> Any:
        """The form, with the current user as the default owner."""
        form: Any = super().get_form(request, obj, change=change, **options)
        if owner := form.base_fields.get("user"):
            owner.initial, owner.widget.can_add_related = request.user.pk, False
            owner.widget.can_change_related = owner.widget.can_view_related = False
        return form

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        """With one save button, which leads to the page with the secret."""
        buttons = {"show_save_and_continue": False, "show_save_and_add_another": False}
        page: HttpResponse = super().add_view(request, form_url, {**(extra_context or {}), **buttons})
        return page

    def get_queryset(self, request: HttpRequest) -> QuerySet[ApiToken]:
        """The user's own tokens, or all."""
        tokens: QuerySet[ApiToken] = super().get_queryset(request).select_related("user")
        return tokens if request.user.has_perm("headline_api.view_apitoken") else tokens.filter(user=request.user.pk)

    def has_module_permission(self, request: HttpRequest) -> bool:
        """In the sidebar for users who may see all tokens; others find theirs in the account menu."""
        return request.user.has_perm("headline_api.view_apitoken")

    def has_view_permission(self, request: HttpRequest, obj: ApiToken | None = None) -> bool:
        """Users see their own tokens."""
        return self._is_own(request, obj) or request.user.has_perm("headline_api.view_apitoken")

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Staff may issue tokens for themselves."""
        return self._is_own(request, None)

    def has_change_permission(self, request: HttpRequest, obj: ApiToken | None = None) -> bool:
        """Tokens cannot be changed."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: ApiToken | None = None) -> bool:
        """Users may revoke their own tokens."""
        return self._is_own(request, obj) or request.user.has_perm("headline_api.delete_apitoken")

    def _is_own(self, request: HttpRequest, obj: ApiToken | None) -> bool:
        is_staff = request.user.is_active and request.user.is_staff
        return is_staff and (obj is None or obj.user_id == request.user.pk)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Issue the token; the next page shows its secret."""
        values = form.cleaned_data
        owner: Any = values.get("user") or request.user
        ends = read_database_clock() + timedelta(days=values["days"])
        token, secret = issue(owner, by=request.user, name=values["name"], scopes=values["scopes"], expires_at=ends)
        obj.pk, obj.user, obj.expires_at = token.pk, token.user, token.expires_at
        obj.secret = secret

    def response_add(self, request: HttpRequest, obj: ApiToken, post_url_continue: str | None = None) -> HttpResponse:
        """The page that shows the secret, once."""
        context = {
            **self.admin_site.each_context(request),
            "title": gettext("The token “%s”") % obj.name,
            "opts": self.model._meta,
            "secret": obj.secret,  # type: ignore[attr-defined]
            "until": format_time_briefly(obj.expires_at),
        }
        return TemplateResponse(request, "headline/token.html", context)

    def delete_model(self, request: HttpRequest, obj: ApiToken) -> None:
        """Revoke the token."""
        revoke(obj, by=request.user)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[ApiToken]) -> None:
        """Revoke the tokens."""
        for token in queryset:
            revoke(token, by=request.user)

    @admin.display(description=_("acts as"), ordering="user__username")
    def owner(self, token: ApiToken) -> str:
        """The user as whom a program acts."""
        return named(token.user)

    @admin.display(description=_("may"))
    def may(self, token: ApiToken) -> str:
        """The labels of its scopes."""
        labels = dict(Scope.choices)
        return gettext(", ").join(str(labels.get(scope, scope)) for scope in token.scopes)

    @admin.display(description=pgettext_lazy("of a token", "created"), ordering="created_at")
    def created(self, token: ApiToken) -> str:
        """When it was issued."""
        return format_time_briefly(token.created_at)

    @admin.display(description=_("last used"), ordering="last_used_at")
    def used(self, token: ApiToken) -> str | None:
        """The last use, to within minutes."""
        return format_time_briefly(token.last_used_at) if token.last_used_at else None

    @admin.display(description=_("expires"), ordering="expires_at")
    def ends(self, token: ApiToken) -> str:
        """When it expires."""
        return format_time_briefly(token.expires_at)


def _may_choose_owner(request: HttpRequest) -> bool:
    return isinstance(request.user, User) and request.user.is_superuser


class ServiceAccountForm(OpenedForm):
    """A service account: name, purpose and roles; later also whether it is active."""

    name = forms.CharField(
        label=_("Name"),
        max_length=USERNAME_LENGTH,
        validators=[UnicodeUsernameValidator()],
        widget=UnfoldAdminTextInputWidget,
    )
    roles = forms.ModelMultipleChoiceField(
        label=_("Roles"), queryset=Group.objects.all(), widget=UnfoldAdminCheckboxSelectMultipleWidget
    )

    is_active = forms.BooleanField(
        label=_("Active"),
        required=False,
        help_text=_("Clear this to end its tokens."),
        widget=UnfoldBooleanSwitchWidget,
    )

    class Meta:
        model = ServiceAccount
        fields = ["purpose"]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if self.instance.pk:
            user = self.instance.user
            self.fields["name"].disabled = True
            self.initial.update(name=user.username, roles=user.groups.all(), is_active=user.is_active)

    def clean_name(self) -> str:
        """A name that no other user has."""
        name: str = self.cleaned_data["name"]
        if self.instance.pk is None and User.objects.filter(username=name).exists():
            raise forms.ValidationError(NameTaken.message, code=NameTaken.code)
        return name


@admin.register(ServiceAccount)
class ServiceAccountAdmin(RetriedScreens):
    """Programs that act by tokens."""

    form = ServiceAccountForm
    keeps_history = False  # the audit log has it
    nothing_yet = _("A program that acts by tokens, with roles but without a password.")
    list_display = ["name", "purpose", "active", "created_by", "created"]
    list_select_related = ["user", "created_by"]
    search_fields = ["user__username", "purpose"]

    def get_fields(self, request: HttpRequest, obj: ServiceAccount | None = None) -> Any:
        """A new one is active."""
        return ["name", "purpose", "roles", *(["is_active"] if obj else [])]

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **options: Any) -> Any:
        """The form, with the roles that the user may give."""
        form: Any = super().get_form(request, obj, change=change, **{**options, "fields": ["purpose"]})
        form.base_fields["roles"].queryset = givable(Group, request.user)
        form.base_fields["roles"].label_from_instance = role_described
        return form

    def lock_row(self, pk: Any) -> ServiceAccount | None:
        """With its user, who has the roles."""
        found: ServiceAccount | None = super().lock_row(pk)
        if found is not None:
            found.user = lock_by_ids(User, [found.user_id]).get()
        return found

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Through the service, which checks permissions again."""
        names = form.changed_data if change else ("name", "purpose", "roles")
        values = {name: form.cleaned_data[name] for name in names}
        if change:
            change_service_account(obj, by=request.user, **values)
        else:
            made = create_service_account(by=request.user, **values)
            obj.pk, obj.user = made.pk, made.user

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """As for users."""
        return request.user.has_perm("auth.view_user")

    def has_add_permission(self, request: HttpRequest) -> bool:
        """As for users."""
        return request.user.has_perm(ADD_USER)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """As for users."""
        return request.user.has_perm(CHANGE_USER) and (obj is None or may_administer(request.user, obj.user))

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """The user is deleted instead."""
        return False

    def has_module_permission(self, request: HttpRequest) -> bool:
        """As for users."""
        return self.has_view_permission(request)

    @admin.display(description=_("Name"), ordering="user__username")
    def name(self, account: ServiceAccount) -> str:
        """That of its user."""
        return account.user.username

    @admin.display(description=_("Active"), boolean=True, ordering="user__is_active")
    def active(self, account: ServiceAccount) -> bool:
        """Whether its tokens work."""
        return account.user.is_active

    @admin.display(description=pgettext_lazy("of a token", "created"), ordering="created_at")
    def created(self, account: ServiceAccount) -> str:
        """When it was created."""
        return format_time_briefly(account.created_at)
