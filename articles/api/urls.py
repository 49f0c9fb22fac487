"""URLs of the REST APIs, below `/api/v1/`."""

from __future__ import annotations

from django.urls import include, path
from rest_framework.routers import SimpleRouter

from articles.api.articles import DeskArticleViewSet
from articles.api.images import ImageViewSet
from articles.api.notes import NoteViewSet
from articles.api.reader import ChannelViewSet, LiveArticleViewSet
from articles.api.releases import ReleaseViewSet
from articles.api.revisions import RevisionViewSet

router = SimpleRouter(use_regex_path=False)
router.register("articles", LiveArticleViewSet, basename="live-article")
router.register("channels", ChannelViewSet, basename="channel")
router.register("desk/articles", DeskArticleViewSet, basename="desk-article")
router.register("desk/images", ImageViewSet, basename="desk-image")
router.register("desk/releases", ReleaseViewSet, basename="desk-release")
router.register("desk/articles/<int:article>/notes", NoteViewSet, basename="desk-note")
router.register("desk/articles/<int:article>/revisions", RevisionViewSet, basename="desk-revision")

urlpatterns = [path("", include(router.urls))]
