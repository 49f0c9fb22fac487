"""URLs of the REST APIs, below `/api/v1/`."""

from __future__ import annotations

from typing import Any

from django.urls import include, path
from rest_framework.routers import SimpleRouter

from articles.api.alerts import AlertViewSet
from articles.api.articles import DeskArticleViewSet
from articles.api.audit import AuditViewSet
from articles.api.bulk import BulkActionViewSet
from articles.api.calendar import CalendarViewSet
from articles.api.desk_fronts import DeskFrontViewSet, FrontVersionViewSet
from articles.api.fronts import FrontViewSet
from articles.api.images import ImageViewSet
from articles.api.labels import DeskChannelViewSet, DeskTagViewSet
from articles.api.notes import NoteViewSet
from articles.api.notifications import NotificationViewSet
from articles.api.people import AuthorViewSet, MeView
from articles.api.previews import PreviewLinkViewSet
from articles.api.proposed_changes import ProposedChangeViewSet
from articles.api.reader import ChannelViewSet, LiveArticleViewSet
from articles.api.releases import ReleaseViewSet
from articles.api.revisions import RevisionViewSet
from articles.api.saved_views import SavedViewSet
from articles.api.shared_pages import SharedPageViewSet
from articles.api.templates import TemplateViewSet
from articles.api.webhooks import EndpointViewSet
from articles.api.words import ReviewPolicyView, WordViewSet

router = SimpleRouter(use_regex_path=False)
router.register("articles", LiveArticleViewSet, basename="live-article")
router.register("channels", ChannelViewSet, basename="channel")
router.register("fronts", FrontViewSet, basename="front")
router.register("desk/articles", DeskArticleViewSet, basename="desk-article")
router.register("desk/fronts", DeskFrontViewSet, basename="desk-front")
router.register("desk/fronts/<int:front>/versions", FrontVersionViewSet, basename="desk-front-version")
router.register("desk/images", ImageViewSet, basename="desk-image")
router.register("desk/releases", ReleaseViewSet, basename="desk-release")
router.register("desk/articles/<int:article>/notes", NoteViewSet, basename="desk-note")
router.register("desk/articles/<int:article>/revisions", RevisionViewSet, basename="desk-revision")
router.register("desk/articles/<int:article>/preview-links", PreviewLinkViewSet, basename="desk-preview-link")
router.register("desk/alerts", AlertViewSet, basename="desk-alert")
router.register("desk/audit", AuditViewSet, basename="desk-audit")
router.register("desk/authors", AuthorViewSet, basename="desk-author")
router.register("desk/bulk-actions", BulkActionViewSet, basename="desk-bulk-action")
router.register("desk/calendar", CalendarViewSet, basename="desk-calendar")
router.register("desk/channels", DeskChannelViewSet, basename="desk-channel")
router.register("desk/notifications", NotificationViewSet, basename="desk-notification")
router.register("desk/proposed-changes", ProposedChangeViewSet, basename="desk-proposed-change")
router.register("desk/shared-pages", SharedPageViewSet, basename="desk-shared-page")
router.register("desk/tags", DeskTagViewSet, basename="desk-tag")
router.register("desk/templates", TemplateViewSet, basename="desk-template")
router.register("desk/views", SavedViewSet, basename="desk-view")
router.register("desk/webhooks", EndpointViewSet, basename="desk-webhook")
router.register("desk/words", WordViewSet, basename="desk-word")

_SINGLE: Any = {"get": "retrieve", "patch": "partial_update"}

urlpatterns = [
    path("desk/me/", MeView.as_view(_SINGLE), name="desk-me"),
    path("desk/review-policy/", ReviewPolicyView.as_view(_SINGLE), name="desk-review-policy"),
    path("", include(router.urls)),
]
