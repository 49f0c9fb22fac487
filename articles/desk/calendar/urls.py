"""The calendar's addresses."""

from __future__ import annotations

from django.contrib import admin
from django.urls import path

from articles.desk.calendar import views

urlpatterns = [
    path("admin/calendar/", admin.site.admin_view(views.calendar), name="calendar"),
    path("admin/calendar/move/", admin.site.admin_view(views.move), name="calendar-move"),
    path("admin/calendar/undo/", admin.site.admin_view(views.undo_move), name="calendar-undo"),
]
