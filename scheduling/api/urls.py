"""URLs of the REST API, for `include()`."""

from __future__ import annotations

from scheduling.api.views import router

urlpatterns = router.urls
