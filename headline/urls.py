"""URLs of the project, except the probes of `headline.doctor.middleware`."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path, re_path
from django.views.decorators.csrf import csrf_exempt
from django.views.i18n import set_language

from articles.desk.autocomplete import Lookup
from articles.desk.palette.views import search
from headline.accounts import oidc, one_time_link, reset, saml, security
from headline.accounts.views import change_password, log_in, log_out
from headline.api.not_found import unknown_url
from headline.doctor.screen import system
from headline.shortcut import view_on_site

admin.autodiscover()

handler403 = "headline.accounts.refused_forms.permission_denied"
handler404 = "headline.accounts.refused_forms.page_not_found"
handler500 = "headline.unavailable.server_error"

urlpatterns = [
    path("", include("articles.desk.calendar.urls")),
    path("admin/desk/", include("articles.desk.urls")),
    path("admin/desk/system/", admin.site.admin_view(system), name="desk_system"),
    path("admin/autocomplete/", admin.site.admin_view(Lookup.as_view(admin_site=admin.site))),
    path("admin/search/", admin.site.admin_view(search)),
    path("admin/r/<path:content_type_id>/<path:object_id>/", admin.site.admin_view(view_on_site)),
    *reset.urls(),
    path("admin/login/", log_in, name="account_login"),
    *oidc.urls(),
    *saml.urls(),
    *one_time_link.urls(),
    *security.urls(),
    path("admin/password_change/", admin.site.admin_view(change_password, cacheable=True)),
    path("admin/logout/", log_out),
    path("admin/", admin.site.urls),
    path("api/", include("headline.api.urls")),
    path("api/v1/", include("articles.api.urls")),
    path("api/v1/tasks/", include("scheduling.api.urls")),
    re_path("^api/", unknown_url),
    # Without a CSRF token, so that readers need no cookie: only a choice of language could be forged.
    path("i18n/setlang/", csrf_exempt(set_language), name="set_language"),
    path("", include("articles.site.urls")),
]
