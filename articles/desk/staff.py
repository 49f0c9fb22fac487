"""The screens for the people of the newsroom and their groups, in the look of the others."""

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

from articles.audit import EDIT_ANY
from articles.desk.retry import RetriedScreens
from articles.models import Notification, named
from articles.text import spoken_briefly

admin.site.unregister(User)
admin.site.unregister(Group)


ON_ANY_MODEL = {
    "add": _("Can add: %s"),
    "change": _("Can change: %s"),
    "delete": _("Can delete: %s"),
    "view": _("Can view: %s"),
}
"""What Django's own permissions allow, which are stored in English."""


def right_named(right: Model) -> str:
    """What people call a group, or what a permission allows."""
    if not isinstance(right, Permission):
        return gettext(str(right))
    verb, _underscore, model = right.codename.partition("_")
    is_plain = verb in ON_ANY_MODEL and model == right.content_type.model
    name = str(ON_ANY_MODEL[verb]) % right.content_type.name if is_plain else gettext(right.name)
    return f"{right.content_type.app_labeled_name.partition(' | ')[0]} | {name}"


class GroupFilter(admin.RelatedFieldListFilter):
    """The groups, as people call them."""

    def field_choices(self, *args: Any, **kwargs: Any) -> list[Any]:
        """Pairs of the group's id and name."""
        return [(pk, gettext(str(name))) for pk, name in super().field_choices(*args, **kwargs)]


def may_administer(actor: Any, subject: Model) -> bool:
    """Whether `actor` may change or delete this person or group: only who can do all that its members can.

    Otherwise who may change people could take a password, an address or a group, and with it rights.
    """
    if actor.is_superuser:
        return True
    if isinstance(subject, User) and subject.is_superuser:
        return False
    return not rights_of(subject).exclude(pk__in=rights_of(actor)).exists()


def rights_of(subject: Model) -> QuerySet[Permission]:
    """The permissions of a person, also of one who is not active now, or of a group."""
    if isinstance(subject, Group):
        return subject.permissions.order_by()
    return Permission.objects.filter(Q(user=subject.pk) | Q(group__user=subject.pk)).order_by().distinct()


def givable(model: type[Model], actor: Any) -> QuerySet[Any]:
    """The permissions, or groups, that `actor` may give to others: those that he or she has."""
    rows: QuerySet[Any] = model._default_manager.all()
    if actor.is_superuser:
        return rows
    own = rights_of(actor)
    if model is Permission:
        return rows.filter(pk__in=own)
    return rows.exclude(pk__in=Group.permissions.through.objects.exclude(permission__in=own).values("group"))


class RightsAdmin(RetriedScreens):
    """Nobody gives or takes rights that he or she does not have; only administrators make administrators."""

    def formfield_for_manytomany(
        self, db_field: ManyToManyField[Any, Any], request: HttpRequest, **kwargs: Any
    ) -> ModelMultipleChoiceField[Any]:
        """A choice of groups or permissions, by their names in the person's language."""
        field: ModelMultipleChoiceField[Any] = super().formfield_for_manytomany(db_field, request, **kwargs)
        field.label_from_instance = right_named  # type: ignore[method-assign,assignment]
        rows: Any = field.queryset
        if rows.model in (Group, Permission):
            field.queryset = rows.filter(pk__in=givable(rows.model, request.user).values("pk"))
        return field

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Not of who can do more than oneself; setting a password asks here, too."""
        return super().has_change_permission(request, obj) and (obj is None or may_administer(request.user, obj))

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Likewise."""
        return super().has_delete_permission(request, obj) and (obj is None or may_administer(request.user, obj))


class NewUserForm(UserCreationForm):
    """Somebody new: of the newsroom, unless told otherwise."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if "is_staff" in self.fields:
            self.fields["is_staff"].initial = True


@admin.register(User)
class StaffAdmin(UserAdmin, RightsAdmin):  # type: ignore[type-arg,misc]
    """Who may log in, and what they may do."""

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
        """Groups are few, and ticked; they are made on their own screen."""
        if db_field.name != "groups":
            return super().formfield_for_dbfield(db_field, request, **options)
        field: Any = super().formfield_for_dbfield(
            db_field, request, **options, widget=UnfoldAdminCheckboxSelectMultipleWidget()
        )
        field.widget.can_add_related = False
        return field

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Only administrators make administrators."""
        fields = super().get_readonly_fields(request, obj)
        return fields if request.user.is_superuser else [*fields, "is_superuser"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        """With the groups."""
        users: QuerySet[User] = super().get_queryset(request)
        return users.prefetch_related("groups")

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whoever may choose an article's author may also look for people while doing so."""
        is_choosing = request.path == reverse("admin:autocomplete") and request.user.has_perm(EDIT_ANY)
        return is_choosing or super().has_view_permission(request, obj)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Who goes, by name; that settings and the like go along needs no saying, and articles stay."""
        _all, _counts, permissions, protected = super().get_deleted_objects(objs, request)
        users = [named(user) for user in objs]
        asked = permissions - {Notification._meta.verbose_name}  # which nobody may delete by itself
        return users, {User._meta.verbose_name_plural: len(users)}, asked, protected

    @admin.display(description=pgettext_lazy("of a person", "name"), ordering="first_name")
    def full_name(self, user: User) -> str:
        """What people call him or her."""
        return user.get_full_name()

    @admin.display(description=_("roles"))
    def roles(self, user: User) -> str:
        """The groups, or that he or she may do everything."""
        groups = [right_named(group) for group in user.groups.all()]
        return gettext(", ").join([*([str(_("Administrator"))] if user.is_superuser else []), *groups])

    @admin.display(description=_("last log-in"), ordering="last_login")
    def last_seen(self, user: User) -> str | None:
        """When he or she last logged in."""
        return spoken_briefly(user.last_login) if user.last_login else None


@admin.register(Group)
class StaffGroupAdmin(GroupAdmin, RightsAdmin):  # type: ignore[misc]
    """What the members of a group may do."""

    list_display = ["title"]

    @admin.display(description=_("name"), ordering="name")
    def title(self, group: Group) -> str:
        """What people call it."""
        return right_named(group)
