"""Addresses of the desk's screens that belong to no model."""

from __future__ import annotations

from django.contrib import admin
from django.urls import path

from articles.desk.start import page

view = admin.site.admin_view

urlpatterns = [
    path("start/", view(page.inside), name="desk_start"),
    path("start/retry/<int:task_id>/", view(page.retry), name="desk_retry"),
]
