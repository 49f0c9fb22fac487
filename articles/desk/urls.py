"""Admin URLs that belong to no model."""

from __future__ import annotations

from django.contrib import admin
from django.urls import path

from articles.desk import shared_pages, upcoming
from articles.desk.articles import saved_views
from articles.desk.bulk import screens
from articles.desk.dashboard import page
from articles.desk.monitoring import views as monitoring
from articles.desk.review import proposed_changes

view = admin.site.admin_view

urlpatterns = [
    path("start/", view(page.inside), name="desk_dashboard"),
    path("start/retry/<int:task_id>/", view(page.retry), name="desk_retry"),
    path("next/", view(upcoming.show), name="desk_upcoming"),
    path("shared-pages/", view(shared_pages.show), name="desk_shared_pages"),
    path("shared-pages/<uuid:pk>/revoke/", view(shared_pages.revoke), name="desk_unshare_page"),
    path("monitoring/", view(monitoring.board), name="desk_monitoring"),
    path("monitoring/content/", view(monitoring.content), name="desk_monitoring_content"),
    path("monitoring/<str:key>/later/", view(monitoring.later), name="desk_monitoring_later"),
    path("monitoring/<int:pk>/<str:name>/", view(monitoring.transition), name="desk_monitoring_transition"),
    path("proposed-changes/", view(proposed_changes.show), name="desk_proposed_changes"),
    path("proposed-changes/<int:pk>/approve/", view(proposed_changes.approve), name="desk_approve_change"),
    path("proposed-changes/<int:pk>/reject/", view(proposed_changes.reject), name="desk_reject_change"),
    path("views/", view(saved_views.manage), name="desk_views"),
    path("views/save/", view(saved_views.save), name="desk_save_view"),
    path("views/<int:pk>/", view(saved_views.change), name="desk_change_view"),
    path("views/<int:pk>/delete/", view(saved_views.delete), name="desk_delete_view"),
    path("views/<int:pk>/move/", view(saved_views.move), name="desk_move_view"),
    path("bulk-actions/", view(screens.mine), name="desk_bulk_actions"),
    path("bulk-actions/<int:pk>/", view(screens.show), name="desk_bulk_action"),
    path("bulk-actions/<int:pk>/advance/", view(screens.advance), name="desk_advance_bulk_action"),
    path("bulk-actions/<int:pk>/undo/", view(screens.undo), name="desk_undo_bulk_action"),
]
