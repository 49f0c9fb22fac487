"""The admin site, unfold's, which finds out once for each request what its user may open."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin import sites
from django.http import HttpRequest
from unfold.apps import DefaultAppConfig
from unfold.sites import UnfoldAdminSite


class DeskSite(UnfoldAdminSite):
    """Each page asks twice, for Django's list and for the sidebar: for sixty addresses and permissions each time."""

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[Any]:
        """The apps and their models; those of all apps are cached in the request, for its user."""
        if app_label is not None:
            return list(super().get_app_list(request, app_label))
        lists = vars(request).setdefault("_app_lists", {})
        if request.user.pk not in lists:
            lists[request.user.pk] = super().get_app_list(request)
        return list(lists[request.user.pk])


class DeskSiteConfig(DefaultAppConfig):
    """Unfold, with this site."""

    default = False

    def ready(self) -> None:
        """As unfold's own."""
        admin.site = sites.site = DeskSite()
