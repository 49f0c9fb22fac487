"""Wagtail serves every address."""

from __future__ import annotations

from django.urls import include, path
from wagtail import urls as wagtail_urls

urlpatterns = [path("", include(wagtail_urls))]
