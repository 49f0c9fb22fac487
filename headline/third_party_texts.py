"""Texts of packages without Chinese, and of database rows, listed for our translation catalogue."""

from __future__ import annotations

from django.utils.translation import gettext_noop as _, ngettext_lazy

UNFOLD = [
    *(_("Add row"), _("All applications"), _("Apply Filters"), _("Choose file to upload"), _("Click to cancel")),
    *(_("Click to download"), _("Dark"), _("Date"), _("Expand row"), _("False"), _("General"), _("Go back")),
    *(_("Image preview"), _("Light"), _("Loading more results..."), _("More actions"), _("Next"), _("No data")),
    *(_("No recent searches"), _("No results found"), _("No results matching your query"), _("Previous")),
    *(_("Recent searches"), _("Record picture"), _("Reset filters"), _("Return to site"), _("Run")),
    *(_("Search apps and models..."), _("Select action"), _("Select action to run"), _("Select all rows")),
    *(_("Select record"), _("Select value"), _("Submit"), _("System"), _("This item will be deleted.")),
    *(_("Toggle password visibility"), _("True"), _("Type to search"), _("Welcome back to")),
    _("This page yielded into no results. Create a new item or reset your filters."),
    _("You have been successfully logged out from the administration"),
    _("After you've created a user, you’ll be able to edit more user options."),
    _(
        "Raw passwords are not stored, so there is no way to see this user’s password, but you can change the password"
        ' using <a href="{}" class="text-primary-600 dark:text-primary-500">this form</a>.'
    ),
    ngettext_lazy(
        "\n                Found %(counter)s result in %(time)s seconds\n            ",
        "\n                Found %(counter)s results in %(time)s seconds\n            ",
    ),
]

CONTINENTS = [
    *(_("Africa"), _("America"), _("Antarctica"), _("Arctic"), _("Asia"), _("Atlantic"), _("Australia"), _("Brazil")),
    *(_("Canada"), _("Chile"), _("Europe"), _("Indian"), _("Mexico"), _("Pacific")),
]
"""Regions of the time zone database."""

DJANGO = [
    _(":"),  # between the label of a field and the field
    _("Password reset"),
    ngettext_lazy(
        "This password is too short. It must contain at least %d character.",
        "This password is too short. It must contain at least %d characters.",
    ),
]

ROLES = [_("Author"), _("Editor"), _("Reviewer"), _("Publisher"), _("Editor-in-chief"), _("Operator")]
"""The default groups, which `articles.roles` creates."""
