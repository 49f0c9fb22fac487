"""Admin of users and groups."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.actions import delete_selected
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, Permission, User
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.db.models import ManyToManyField, Model, Q, QuerySet
from django.forms import ModelMultipleChoiceField
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.functional import Promise
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language, gettext, gettext_lazy as _, pgettext_lazy
from unfold.decorators import action
from unfold.forms import AdminPasswordChangeForm
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget, UnfoldAdminTextInputWidget

from articles.desk.opened_form import OpenedForm
from articles.desk.review.proposed_changes import SecondPersonScreens
from articles.exceptions import SensitiveText
from articles.limits import USERNAME_LENGTH
from articles.models import named
from articles.notifications import choose_language
from articles.permissions import EDIT_ANY
from articles.publishing import count_signed, propose_name
from articles.review import refuse_sensitive
from articles.roles import Role
from articles.text import format_time_briefly, one_line
from headline.accounts.links import invite, is_invited
from headline.accounts.password_forms import StoresPassword, with_short_passwords
from headline.accounts.second_factor import has_second_factor, is_required, remove_second_factors
from headline.accounts.sessions import end_sessions, sessions_of
from headline.accounts.single_sign_on import is_linked, unlink
from headline.api.models import is_service_account
from scheduling.database import lock_by_ids, retried

admin.site.unregister(User)
admin.site.unregister(Group)


ON_ANY_MODEL = {
    "add": _("Can add: %s"),
    "change": _("Can change: %s"),
    "delete": _("Can delete: %s"),
    "view": _("Can view: %s"),
}
"""Django's default permissions, stored in English."""


def right_named(right: Model) -> str:
    """Translated name of a group or permission."""
    if not isinstance(right, Permission):
        return gettext(str(right))
    verb, _underscore, model = right.codename.partition("_")
    is_plain = verb in ON_ANY_MODEL and model == right.content_type.model
    name = str(ON_ANY_MODEL[verb]) % right.content_type.name if is_plain else gettext(right.name)
    return f"{right.content_type.app_labeled_name.partition(' | ')[0]} | {name}"


class GroupFilter(admin.RelatedFieldListFilter):
    """Groups by translated name."""

    def field_choices(self, *args: Any, **kwargs: Any) -> list[Any]:
        """Pairs of group ID and name."""
        return [(pk, gettext(str(name))) for pk, name in super().field_choices(*args, **kwargs)]


def may_administer(actor: Any, subject: Model) -> bool:
    """Whether `actor` may change or delete this user or group: only with all of its permissions.

    Otherwise a user administrator could gain rights through another user's password, address or groups.
    """
    if actor.is_superuser:
        return True
    if isinstance(subject, User) and subject.is_superuser:
        return False
    return not rights_of(subject).exclude(pk__in=rights_of(actor)).exists()


def rights_of(subject: Model) -> QuerySet[Permission]:
    """The permissions of a user (also an inactive one) or group."""
    if isinstance(subject, Group):
        return subject.permissions.order_by()
    return Permission.objects.filter(Q(user=subject.pk) | Q(group__user=subject.pk)).order_by().distinct()


DEACTIVATE = "deactivate"
"""The name of the button that deactivates users in place of deleting them."""

WITHOUT_SCREENS = ("account", "mfa", "socialaccount", "usersessions")
"""Apps of allauth, which ask for no permissions."""


def givable(model: type[Model], actor: Any) -> QuerySet[Any]:
    """The permissions or groups that `actor` has and may therefore grant."""
    rows: QuerySet[Any] = model._default_manager.all()
    if actor.is_superuser:
        return rows
    own = rights_of(actor)
    if model is Permission:
        return rows.filter(pk__in=own)
    return rows.exclude(pk__in=Group.permissions.through.objects.exclude(permission__in=own).values("group"))


ADMINISTRATOR = ("is_superuser", "is_active", "is_staff")
LAST_ADMINISTRATOR = _("This is the last administrator. Make another user an administrator first.")


def are_last_administrators(*users: User) -> bool:
    """Whether no one else could administer users without these; locks the administrators' rows until the commit."""
    with transaction.atomic():
        rows = User.objects.select_for_update().filter(**dict.fromkeys(ADMINISTRATOR, True)).order_by("pk")
        able = {one.pk for one in rows if one.has_usable_password()}
    return bool(able) and able <= {user.pk for user in users}


ROLE_DESCRIPTIONS: Mapping[str, str | Promise] = {
    Role.AUTHOR: _("Writes articles, adds images and submits for review."),
    Role.EDITOR: _("Also edits articles and images of others, and adds tags."),
    Role.REVIEWER: _("Reads what is submitted, and approves or rejects it."),
    Role.PUBLISHER: _("Schedules and publishes what is approved, and releases."),
    Role.CHIEF: _("May do everything with articles, channels, words and the review."),
    Role.OPERATOR: _("Watches the publishing service and its tasks."),
}

LABELS = {
    "email": (_("Email address"), ""),
    "is_superuser": (_("Administrator"), _("May do everything, and manages users.")),
    "is_active": (_("Active"), _("Clear this instead of deleting: it ends the user’s sessions and API tokens.")),
    "is_staff": (_("Member of staff"), _("May open the newsroom.")),
    "username": (_("Log-in name"), ""),
}
"""Label and help text of fields."""


def role_described(group: Group) -> SafeString:
    """Name and description of a role."""
    description = ROLE_DESCRIPTIONS.get(group.name, "")
    return format_html("<strong>{}</strong> <span class='desk-hint'>{}</span>", right_named(group), description)


class RightsAdmin(SecondPersonScreens):
    """Users can grant or revoke only rights they have; only administrators create administrators."""

    def formfield_for_manytomany(
        self, db_field: ManyToManyField[Any, Any], request: HttpRequest, **kwargs: Any
    ) -> ModelMultipleChoiceField[Any]:
        """Groups or permissions by translated name."""
        field: ModelMultipleChoiceField[Any] = super().formfield_for_manytomany(db_field, request, **kwargs)
        field.label_from_instance = right_named  # type: ignore[method-assign,assignment]
        rows: Any = field.queryset
        if rows.model is Permission:
            rows = rows.exclude(content_type__app_label__in=WITHOUT_SCREENS)
        if rows.model in (Group, Permission):
            field.queryset = rows.filter(pk__in=givable(rows.model, request.user).values("pk"))
        return field

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Not for users with more rights; password changes check this, too."""
        return super().has_change_permission(request, obj) and (obj is None or may_administer(request.user, obj))

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """As for changing."""
        return super().has_delete_permission(request, obj) and (obj is None or may_administer(request.user, obj))


class UserForm(OpenedForm):
    """A user: name, address and roles."""

    name = forms.CharField(
        label=_("Name"),
        max_length=USERNAME_LENGTH,
        required=False,
        widget=UnfoldAdminTextInputWidget,
        help_text=_("Readers see it under articles."),
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["name"].initial = self.instance.get_full_name()

    def clean_name(self) -> str:
        """A line without sensitive words."""
        name = one_line(self.cleaned_data["name"])
        if "name" in self.changed_data:
            try:
                refuse_sensitive(name)
            except SensitiveText as refusal:
                raise ValidationError(str(refusal), code=refusal.code) from refusal
        return name

    def clean_email(self) -> str:
        """An address that no other account has, because links to set a password are sent to it."""
        email: str = self.cleaned_data["email"]
        other = User.objects.filter(email__iexact=email).exclude(pk=self.instance.pk).first() if email else None
        if other is not None and "email" in self.changed_data:
            raise ValidationError(gettext("%(name)s has this address already.") % {"name": named(other)}, code="taken")
        return email

    def clean(self) -> dict[str, Any]:
        """Refuse to take the last administrator's rights away."""
        cleaned: dict[str, Any] = {**self.cleaned_data, **(super().clean() or {})}
        stays = all(cleaned.get(name, getattr(self.instance, name)) for name in ADMINISTRATOR)
        if not stays and are_last_administrators(self.instance):
            raise ValidationError(LAST_ADMINISTRATOR, code="last_administrator")
        return cleaned

    def save(self, commit: bool = True) -> Any:
        """Store a changed name as the first name, because names have no such parts everywhere."""
        if "name" in self.changed_data:
            self.instance.first_name, self.instance.last_name = self.cleaned_data["name"], ""
        return super().save(commit)


class InvitationForm(UserForm):
    """A new member of staff, who sets the password by a link in a mail."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["name"].required = self.fields["email"].required = True
        self.fields["email"].help_text = _("The invitation is sent to it. It is also the name to log in with.")

    def clean(self) -> dict[str, Any]:
        """Ask for a role."""
        cleaned = super().clean()
        if not cleaned.get("groups") and not cleaned.get("is_superuser"):
            self.add_error("groups", gettext("Choose at least one role."))
        return cleaned

    def _post_clean(self) -> None:
        """Fill in the log-in name before it is validated as unique."""
        self.instance.username = re.sub(r"[^\w.@+-]", "-", self.cleaned_data.get("email", ""))
        self.instance.is_staff = True
        self.instance.set_unusable_password()
        super()._post_clean()


@with_short_passwords
class PasswordForm(StoresPassword, AdminPasswordChangeForm):
    """A password for another user; without it an account is deactivated."""

    def __init__(self, user: User, *args: Any, **options: Any) -> None:
        super().__init__(user, *args, **options)
        self.fields.pop("usable_password", None)
        for field in self.fields.values():
            field.required = True


@admin.register(User)
class StaffAdmin(UserAdmin, RightsAdmin):  # type: ignore[type-arg,misc]
    """Users: invited with a name, an address and roles."""

    names_related = False
    form = UserForm
    add_form = InvitationForm
    add_fieldsets = ((None, {"fields": ("name", "email", "groups", "is_superuser")}),)  # type: ignore[assignment]
    readonly_fields = ("password_state", "last_seen", "open_sessions", "second_factor")
    actions_submit_line = ("resend", "end_sessions", "remove_second_factors", "unlink")  # type: ignore[assignment]
    add_form_template = None
    change_password_form = PasswordForm
    list_display = ["name", "email", "roles", "state", "last_seen"]
    list_filter = [("groups", GroupFilter), "is_active", "is_superuser"]
    search_help_text = _("Name or e-mail address")

    actions = ("delete_selected",)
    delete_confirmation_template = delete_selected_confirmation_template = "headline/delete_users.html"

    @admin.action(permissions=["delete"], description=_("Delete selected users"))
    def delete_selected(self, request: HttpRequest, queryset: QuerySet[User]) -> HttpResponse | None:
        """Ask, then delete the users or, which is offered first, deactivate them."""
        users = list(queryset)
        if DEACTIVATE in request.POST:
            return self._deactivate(request, users)
        answer = delete_selected(self, request, queryset)
        if answer is not None:
            answer.context_data = {**(answer.context_data or {}), **self._concerned(request, users)}
        return answer

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        """The same for one user."""
        user = self.get_object(request, object_id)
        users = [user] if user else []
        if user and DEACTIVATE in request.POST:
            return self._deactivate(request, users)
        found: HttpResponse = super().delete_view(
            request, object_id, {**(extra_context or {}), **self._concerned(request, users)}
        )
        return found

    def _concerned(self, request: HttpRequest, users: Sequence[User]) -> dict[str, Any]:
        """What the question tells: who, how many articles show their names, and whether deactivating is possible."""
        may_deactivate = all(self.has_change_permission(request, user) for user in users)
        return {
            "people": users,
            "names": gettext(", ").join(named(user) for user in users),
            "signed": count_signed(users),
            "deactivate": DEACTIVATE if may_deactivate and any(user.is_active for user in users) else "",
        }

    def _deactivate(self, request: HttpRequest, users: Sequence[User]) -> HttpResponse:
        if not all(self.has_change_permission(request, user) for user in users):
            raise PermissionDenied
        if self._are_deactivated(request, users):
            names = gettext(", ").join(named(user) for user in users)
            self.message_user(request, gettext("Deactivated: %(names)s.") % {"names": names})
        else:
            self.message_user(request, LAST_ADMINISTRATOR, messages.ERROR)
        return redirect("admin:auth_user_changelist")

    @method_decorator(retried)
    def _are_deactivated(self, request: HttpRequest, users: Sequence[User]) -> bool:
        """Deactivate them, in one transaction, unless they are the last administrators."""
        if are_last_administrators(*users):
            return False
        for user in lock_by_ids(User, [user.pk for user in users]):  # none that has just been deleted
            user.is_active = False
            user.save(update_fields=["is_active"])
            self.log_change(request, user, [{"changed": {"fields": ["Active"]}}])
        return True

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """A name that readers see waits for another person under the two-person rule; the rest is stored."""
        if change and "name" in form.changed_data:
            stored = User.objects.get(pk=obj.pk)
            if propose_name(obj, first_name=obj.first_name, last_name=obj.last_name, by=request.user):
                obj.first_name, obj.last_name = stored.first_name, stored.last_name
        super().save_model(request, obj, form, change)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Name, address and roles; single permissions only for users who have some."""
        if obj is None:
            return self.add_fieldsets
        account = ("username", "is_active", "is_staff", "password_state", "second_factor", "last_seen", "open_sessions")
        single = [(_("Single permissions"), {"fields": ("user_permissions",)})] if obj.user_permissions.exists() else []
        return [*self.add_fieldsets, (_("Account"), {"fields": account}), *single]

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **options: Any) -> Any:
        """Roles as checkboxes with descriptions; groups are created on their own page."""
        if db_field.name == "groups":
            options["widget"] = UnfoldAdminCheckboxSelectMultipleWidget()
        field: Any = super().formfield_for_dbfield(db_field, request, **options)
        if db_field.name == "groups":
            field.label, field.help_text, field.widget.can_add_related = _("Roles"), "", False
            field.label_from_instance = role_described
        elif db_field.name in LABELS:
            field.label, field.help_text = LABELS[db_field.name]
        return field

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Only administrators change administrator rights."""
        fields = super().get_readonly_fields(request, obj)
        return fields if request.user.is_superuser else [*fields, "is_superuser"]

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> Any:
        """The form of an invitation."""
        return super().add_view(request, form_url, {**(extra_context or {}), "title": gettext("Invite a user")})

    def response_add(self, request: HttpRequest, obj: User, post_url_continue: str | None = None) -> HttpResponse:
        """Send the invitation, in the language of the user who invites until the invited one chooses another."""
        choose_language(obj, get_language())
        self._invite(request, obj)
        return redirect("admin:auth_user_changelist")

    def get_actions_submit_line(self, request: HttpRequest, object_id: Any) -> list[Any]:
        """Those that this user can need now."""
        user = self.get_object(request, str(object_id))
        if user is None:
            return []
        useful = {
            "resend": is_invited(user),
            "end_sessions": any(one.key != request.session.session_key for one in sessions_of(user)),
            "remove_second_factors": has_second_factor(user),
            "unlink": is_linked(user),
        }
        actions = super().get_actions_submit_line(request, object_id)
        return [action for action in actions if useful[action.action_name.removeprefix("auth_user_")]]

    @action(description=_("Send the invitation again"))  # type: ignore[arg-type,operator]
    def resend(self, request: HttpRequest, user: User) -> None:
        """Save, and send the invitation again."""
        self._invite(request, user)

    @action(description=_("End all sessions"))  # type: ignore[arg-type,operator]
    def end_sessions(self, request: HttpRequest, user: User) -> None:
        """Save, and end the user's sessions."""
        end_sessions(user, except_key=request.session.session_key)
        self.message_user(request, gettext("The sessions of %(name)s are ended.") % {"name": named(user)})

    @action(description=_("Remove second factors"))  # type: ignore[arg-type,operator]
    def remove_second_factors(self, request: HttpRequest, user: User) -> None:
        """Save, and remove what the user has lost; sessions end, because they may be those of a finder."""
        remove_second_factors(user)
        end_sessions(user, except_key=request.session.session_key)
        text = gettext("The second factors of %(name)s are removed, and the sessions ended.")
        self.message_user(request, text % {"name": named(user)})

    @action(description=_("Unlink single sign-on"))  # type: ignore[arg-type,operator]
    def unlink(self, request: HttpRequest, user: User) -> None:
        """Save, and let another identity of the provider be linked."""
        unlink(user)
        text = gettext("The next single sign-on with the address of %(name)s links the account again.")
        self.message_user(request, text % {"name": named(user)})

    def _invite(self, request: HttpRequest, user: User) -> None:
        if link := invite(user, by=request.user):
            text = gettext("No mail server is set up (EMAIL_URL). Give %(name)s this link: %(link)s")
        else:
            text = gettext("An invitation is sent to %(email)s.")
        self.message_user(request, text % {"name": named(user), "email": user.email, "link": link})

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Not for programs: they have a screen of their own, and neither password nor address."""
        return super().has_change_permission(request, obj) and (obj is None or not is_service_account(obj))

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        """With the groups."""
        users: QuerySet[User] = super().get_queryset(request)
        return users.prefetch_related("groups")

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Users who may choose authors may search users."""
        is_choosing = request.path == reverse("admin:autocomplete") and request.user.has_perm(EDIT_ANY)
        return is_choosing or super().has_view_permission(request, obj)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """The deleted users by name; what goes with them needs no right of its own, and articles stay."""
        _names, counts, missing, protected = super().get_deleted_objects(objs, request)
        if are_last_administrators(*objs):
            protected = [str(LAST_ADMINISTRATOR)]
        return [named(user) for user in objs], counts, missing, protected

    @admin.display(description=pgettext_lazy("of a person", "name"), ordering="first_name")
    def name(self, user: User) -> str:
        """The display name."""
        return named(user)

    @admin.display(description=pgettext_lazy("of a person", "status"), ordering="is_active")
    def state(self, user: User) -> str:
        """Whether the user can log in."""
        if not user.is_active:
            return gettext("Deactivated")
        return gettext("Invited") if is_invited(user) else gettext("Active")

    @admin.display(description=_("password"))
    def password_state(self, user: User) -> SafeString:
        """Whether a password is set, and where to set one."""
        if is_service_account(user):
            return format_html("{}", gettext("None."))
        is_set = gettext("Set.") if user.has_usable_password() else gettext("Not set yet.")
        address = reverse("admin:auth_user_password_change", args=[user.pk])
        return format_html('{} <a class="text-link" href="{}">{}</a>', is_set, address, gettext("Set a password"))

    @admin.display(description=_("second factor"))
    def second_factor(self, user: User) -> str:
        """Whether one is set up, and whether a role needs one."""
        if has_second_factor(user):
            return gettext("Set up.")
        return gettext("Needed, but not set up yet.") if is_required(user) else gettext("None.")

    @admin.display(description=_("open sessions"))
    def open_sessions(self, user: User) -> SafeString:
        """Browser, address and last use of each session."""
        rows = ((one.device, one.address, one.used_text) for one in sessions_of(user))
        return format_html_join(mark_safe("<br>"), "{} · {} · {}", rows) or format_html("{}", gettext("None."))

    @admin.display(description=_("roles"))
    def roles(self, user: User) -> str:
        """The groups, or "Administrator"."""
        groups = [right_named(group) for group in user.groups.all()]
        return gettext(", ").join([*([str(_("Administrator"))] if user.is_superuser else []), *groups])

    @admin.display(description=_("last sign-in"), ordering="last_login")
    def last_seen(self, user: User) -> str | None:
        """Time of the last sign-in."""
        return format_time_briefly(user.last_login) if user.last_login else None


@admin.register(Group)
class StaffGroupAdmin(GroupAdmin, RightsAdmin):  # type: ignore[misc]
    """Groups and their permissions."""

    form = OpenedForm
    list_display = ["title"]

    @admin.display(description=_("name"), ordering="name")
    def title(self, group: Group) -> str:
        """The translated name."""
        return right_named(group)
