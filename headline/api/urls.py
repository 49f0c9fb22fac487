"""URLs of tokens, users and roles, the OpenAPI schema and its documentation page."""

from __future__ import annotations

from django.urls import path
from drf_spectacular.views import SpectacularSwaggerSplitView
from rest_framework.routers import SimpleRouter

from headline.accounts.api import RoleViewSet, UserViewSet
from headline.api.obtain_token import TokenView
from headline.api.schema_view import SchemaView
from headline.api.token_views import ApiTokenViewSet, ServiceAccountViewSet

router = SimpleRouter(use_regex_path=False)
router.register("v1/desk/tokens", ApiTokenViewSet, basename="desk-token")
router.register("v1/desk/roles", RoleViewSet, basename="desk-role")
router.register("v1/desk/users", UserViewSet, basename="desk-user")
router.register("v1/desk/service-accounts", ServiceAccountViewSet, basename="desk-service-account")

urlpatterns = [
    path("v1/token/", TokenView.as_view(), name="api-token"),
    path("schema/", SchemaView.as_view(), name="api-schema"),
    *router.urls,
    path("docs/", SpectacularSwaggerSplitView.as_view(url_name="api-schema", metadata_class=None), name="api-docs"),
]
