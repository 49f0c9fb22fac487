"""What probes and Prometheus ask, answered before anything looks at the host: they use addresses that nobody lists."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from headline.accounts.address import look_for_proxies
from headline.health import healthz, readyz
from headline.metrics import metrics

PROBES = {"/healthz": healthz, "/readyz": readyz, "/metrics": metrics}


class ProbesMiddleware:
    """Answers `PROBES` itself, and passes everything else on."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        look_for_proxies(request)
        return PROBES.get(request.path_info, self.get_response)(request)
