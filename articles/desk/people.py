"""The screens for the people of the newsroom and their groups, in the look of the others."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from articles.services.rights import EDIT_ANY
from articles.times import spoken_briefly

admin.site.unregister(User)
admin.site.unregister(Group)


@admin.register(User)
class PersonAdmin(UserAdmin, ModelAdmin):  # type: ignore[type-arg,misc]
    """Who may log in, and what they may do."""

    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    list_display = ["username", "full_name", "roles", "email", "is_active", "last_seen"]
    list_filter = ["groups", "is_active", "is_superuser"]
    search_help_text = _("Name or e-mail address")

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        """With the groups."""
        people: QuerySet[User] = super().get_queryset(request)
        return people.prefetch_related("groups")

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whoever may choose an article's author may also look for people while doing so."""
        is_choosing = request.path == reverse("admin:autocomplete") and request.user.has_perm(EDIT_ANY)
        return is_choosing or super().has_view_permission(request, obj)

    @admin.display(description=_("name"), ordering="first_name")
    def full_name(self, person: User) -> str:
        """What people call him or her."""
        return person.get_full_name()

    @admin.display(description=_("roles"))
    def roles(self, person: User) -> str:
        """The groups, or that he or she may do everything."""
        groups = [str(group) for group in person.groups.all()]
        return ", ".join([*([str(_("Administrator"))] if person.is_superuser else []), *groups])

    @admin.display(description=_("last log-in"), ordering="last_login")
    def last_seen(self, person: User) -> str | None:
        """When he or she last logged in."""
        return spoken_briefly(person.last_login) if person.last_login else None


@admin.register(Group)
class PeopleGroupAdmin(GroupAdmin, ModelAdmin):  # type: ignore[misc]
    """What the members of a group may do."""
