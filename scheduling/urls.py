"""Addresses of the REST API; include them where it shall live."""

from __future__ import annotations

from scheduling.api import router

urlpatterns = router.urls
