"""Personal settings: time zone and language."""

from __future__ import annotations

from itertools import groupby
from zoneinfo import available_timezones

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.translation import check_for_language, gettext, gettext_lazy as _
from django.views.decorators.http import require_POST
from django.views.i18n import set_language
from unfold.admin import ModelAdmin
from unfold.widgets import UnfoldAdminSelectWidget

from articles.desk.bounded import one_at_a_time
from articles.desk.opened_form import OpenedForm
from articles.models import Preferences
from articles.notifications import choose_language
from articles.text import format_time_exactly
from scheduling.database import read_database_clock

_NO_PLACES = ("Etc/", "SystemV/", "US/", "posix/", "right/")


class PreferencesForm(OpenedForm):
    """Time zone and language of the user."""

    time_zone = forms.ChoiceField(
        label=_("Time zone"),
        required=False,
        choices=lambda: [("", gettext("Newsroom time zone: %s") % timezone.get_default_timezone()), *_zones()],
        widget=UnfoldAdminSelectWidget,
        help_text=_("Times are shown and entered in this time zone."),
    )

    language = forms.ChoiceField(
        label=_("Language"),
        required=False,
        choices=lambda: [("", gettext("Browser language")), *settings.LANGUAGES],
        widget=UnfoldAdminSelectWidget,
    )

    class Meta:
        model = Preferences
        fields = ["time_zone", "language"]


@admin.register(Preferences)
class PreferencesAdmin(ModelAdmin):
    """One form instead of a list: each user has one row."""

    def get_urls(self) -> list[URLPattern]:
        """The form, and the language switch."""
        view = self.admin_site.admin_view
        return [
            path("", view(self.mine), name="articles_preferences_changelist"),
            path("language/", view(require_POST(self.speak)), name="articles_preferences_language"),
        ]

    @one_at_a_time
    def mine(self, request: HttpRequest) -> HttpResponse:
        """Show and save the user's settings."""
        preferences = Preferences.objects.filter(pk=request.user.pk).first() or Preferences(pk=request.user.pk)
        form = PreferencesForm(request.POST or None, instance=preferences)
        if request.method == "POST" and form.is_valid():
            form.save()
            self.message_user(request, gettext("Your settings are saved."), messages.SUCCESS)
            return redirect("admin:articles_preferences_changelist")
        context = {
            **self.admin_site.each_context(request),
            "title": gettext("My settings"),
            "form": form,
            "opts": self.model._meta,
            "now": format_time_exactly(read_database_clock()),
        }
        return TemplateResponse(request, "articles/desk/preferences.html", context)

    def speak(self, request: HttpRequest) -> HttpResponse:
        """Store the language chosen in the menu, and go back."""
        language = request.POST.get("language", "")
        if check_for_language(language):
            choose_language(request.user, language)
        return set_language(request)

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Linked in the account menu instead of the sidebar."""
        return False


def _zones() -> list[tuple[str, list[tuple[str, str]]]]:
    """Time zones by continent, without those not named after a place."""
    names = sorted(name for name in available_timezones() if "/" in name and not name.startswith(_NO_PLACES))
    by_continent = groupby(names, key=lambda name: name.partition("/")[0])
    continents = [(gettext(group), [(name, name) for name in found]) for group, found in by_continent]
    return [("UTC", [("UTC", "UTC")]), *continents]
