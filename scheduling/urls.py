"""Addresses of the REST API; include them where it shall live."""

from __future__ import annotations

from django.urls import include, path
from rest_framework.routers import SimpleRouter

from scheduling.api import TaskViewSet

router = SimpleRouter(use_regex_path=False)
router.register("", TaskViewSet, basename="task")

urlpatterns = [path("", include(router.urls))]
