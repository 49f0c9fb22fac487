"""Admin of users and groups."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, Permission, User
from django.db.models import ManyToManyField, Model, Q, QuerySet
from django.forms import ModelMultipleChoiceField
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from articles.desk.retry import RetriedScreens
from articles.models import Notification, named
from articles.permissions import EDIT_ANY
from articles.text import format_time_briefly

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


def givable(model: type[Model], actor: Any) -> QuerySet[Any]:
    """The permissions or groups that `actor` has and may therefore grant."""
    rows: QuerySet[Any] = model._default_manager.all()
    if actor.is_superuser:
        return rows
    own = rights_of(actor)
    if model is Permission:
        return rows.filter(pk__in=own)
    return rows.exclude(pk__in=Group.permissions.through.objects.exclude(permission__in=own).values("group"))


class RightsAdmin(RetriedScreens):
    """Users can grant or revoke only rights they have; only administrators create administrators."""

    def formfield_for_manytomany(
        self, db_field: ManyToManyField[Any, Any], request: HttpRequest, **kwargs: Any
    ) -> ModelMultipleChoiceField[Any]:
        """Groups or permissions by translated name."""
        field: ModelMultipleChoiceField[Any] = super().formfield_for_manytomany(db_field, request, **kwargs)
        field.label_from_instance = right_named  # type: ignore[method-assign,assignment]
        rows: Any = field.queryset
        if rows.model in (Group, Permission):
            field.queryset = rows.filter(pk__in=givable(rows.model, request.user).values("pk"))
        return field

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Not for users with more rights; password changes check this, too."""
        return super().has_change_permission(request, obj) and (obj is None or may_administer(request.user, obj))

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """As for changing."""
        return super().has_delete_permission(request, obj) and (obj is None or may_administer(request.user, obj))


class NewUserForm(UserCreationForm):
    """A new user; a staff member by default."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if "is_staff" in self.fields:
            self.fields["is_staff"].initial = True


@admin.register(User)
class StaffAdmin(UserAdmin, RightsAdmin):  # type: ignore[type-arg,misc]
    """Users."""

    form = UserChangeForm
    add_form = NewUserForm
    add_fieldsets = (  # type: ignore[assignment]
        (None, {"fields": ("username", "first_name", "last_name", "email")}),
        (_("Role"), {"fields": ("is_staff", "groups")}),
        (_("Password"), {"fields": ("usable_password", "password1", "password2")}),
    )
    change_password_form = AdminPasswordChangeForm
    list_display = ["username", "full_name", "roles", "email", "is_active", "last_seen"]
    list_filter = [("groups", GroupFilter), "is_active", "is_superuser"]
    search_help_text = _("Name or e-mail address")

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **options: Any) -> Any:
        """Groups as checkboxes; they are created on their own page."""
        if db_field.name != "groups":
            return super().formfield_for_dbfield(db_field, request, **options)
        field: Any = super().formfield_for_dbfield(
            db_field, request, **options, widget=UnfoldAdminCheckboxSelectMultipleWidget()
        )
        field.widget.can_add_related = False
        return field

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Only administrators change administrator rights."""
        fields = super().get_readonly_fields(request, obj)
        return fields if request.user.is_superuser else [*fields, "is_superuser"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        """With the groups."""
        users: QuerySet[User] = super().get_queryset(request)
        return users.prefetch_related("groups")

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Users who may choose authors may search users."""
        is_choosing = request.path == reverse("admin:autocomplete") and request.user.has_perm(EDIT_ANY)
        return is_choosing or super().has_view_permission(request, obj)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """The deleted users by name; related settings are not listed, and articles stay."""
        _all, _counts, permissions, protected = super().get_deleted_objects(objs, request)
        users = [named(user) for user in objs]
        asked = permissions - {Notification._meta.verbose_name}  # users cannot delete notifications by themselves
        return users, {User._meta.verbose_name_plural: len(users)}, asked, protected

    @admin.display(description=pgettext_lazy("of a person", "name"), ordering="first_name")
    def full_name(self, user: User) -> str:
        """The display name."""
        return user.get_full_name()

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

    list_display = ["title"]

    @admin.display(description=_("name"), ordering="name")
    def title(self, group: Group) -> str:
        """The translated name."""
        return right_named(group)
