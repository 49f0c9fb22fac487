"""Serves probes and metrics before the host check, because they use hosts outside ALLOWED_HOSTS."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from headline.accounts.address import detect_proxy
from headline.doctor.metrics import metrics
from headline.doctor.probes import healthz, readyz

PROBES = {"/healthz": healthz, "/readyz": readyz, "/metrics": metrics}


class ProbesMiddleware:
    """Responds to `PROBES` itself, and passes all other requests on."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        detect_proxy(request)
        return PROBES.get(request.path_info, self.get_response)(request)
