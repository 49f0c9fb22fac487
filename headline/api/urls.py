"""URLs of the token endpoint, the OpenAPI schema and its documentation page."""

from __future__ import annotations

from django.urls import path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from headline.api.token import TokenView

urlpatterns = [
    path("v1/token/", TokenView.as_view(), name="api-token"),
    path("schema/", SpectacularAPIView.as_view(), name="api-schema"),
    path("docs/", SpectacularSwaggerSplitView.as_view(url_name="api-schema", metadata_class=None), name="api-docs"),
]
