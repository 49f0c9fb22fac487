"""The screens for the people of the newsroom and their groups, in the look of the others."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from unfold.admin import ModelAdmin
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

admin.site.unregister(User)
admin.site.unregister(Group)


@admin.register(User)
class PersonAdmin(UserAdmin, ModelAdmin):  # type: ignore[type-arg,misc]
    """Who may log in, and what they may do."""

    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm


@admin.register(Group)
class PeopleGroupAdmin(GroupAdmin, ModelAdmin):  # type: ignore[misc]
    """What the members of a group may do."""
