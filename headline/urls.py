"""All addresses of the project."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("api/", include("headline.api.urls")),
    path("api/v1/tasks/", include("scheduling.urls")),
]
