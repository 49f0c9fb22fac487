"""URLs of the calendar."""

from __future__ import annotations

from django.contrib import admin
from django.urls import path

from articles.desk.calendar import feed_views, views

urlpatterns = [
    path("admin/calendar/", admin.site.admin_view(views.calendar), name="calendar"),
    path("admin/calendar/reschedule/", admin.site.admin_view(views.reschedule), name="calendar-reschedule"),
    path("admin/calendar/undo/", admin.site.admin_view(views.undo_reschedule), name="calendar-undo"),
    path("admin/calendar/feed/", admin.site.admin_view(feed_views.feed_screen), name="calendar-feed"),
    path("calendar/<str:secret>.ics", feed_views.calendar_file, name="calendar-file"),
]
