"""The screens for the keys with which programs log in, in the look of the others."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from rest_framework.authtoken.admin import TokenAdmin
from rest_framework.authtoken.models import TokenProxy
from unfold.admin import ModelAdmin

from articles.desk.choosing import ChoosingScreens
from articles.models.people import named
from articles.times import spoken_briefly

admin.site.unregister(TokenProxy)


@admin.register(TokenProxy)
class ProgramKeyAdmin(ChoosingScreens, TokenAdmin, ModelAdmin):  # type: ignore[misc]
    """Who has a key; the key itself is shown on its own page alone."""

    nothing_yet = _("A program logs in with such a key instead of a name and a password.")
    list_display = ["owner", "begins", "made"]
    list_filter = []
    autocomplete_fields = ["user"]

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """There is no key yet on the page that makes one."""
        return ["user", "key"] if obj else ["user"]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        """A key is not changed: it is deleted, and another made."""
        return ["user", "key"] if obj else []

    @admin.display(description=_("acts as"), ordering="user__username")
    def owner(self, token: TokenProxy) -> str:
        """In whose name a program acts with it."""
        return named(token.user)

    @admin.display(description=_("key"))
    def begins(self, token: TokenProxy) -> str:
        """Its first letters, to tell it from others."""
        return f"{token.key[:6]}…"

    @admin.display(description=_("made"), ordering="created")
    def made(self, token: TokenProxy) -> str:
        """Since when there is one."""
        return spoken_briefly(token.created)
