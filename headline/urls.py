"""All addresses of the project."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path

from headline.health import healthz, readyz
from headline.metrics import metrics

urlpatterns = [
    path("", include("articles.desk.calendar.urls")),
    path("admin/desk/", include("articles.desk.urls")),
    path("admin/", admin.site.urls),
    path("api/", include("headline.api.urls")),
    path("api/v1/", include("articles.api.urls")),
    path("api/v1/tasks/", include("scheduling.urls")),
    path("i18n/", include("django.conf.urls.i18n")),
    path("healthz", healthz),
    path("readyz", readyz),
    path("metrics", metrics),
    path("", include("articles.site.urls")),
]
