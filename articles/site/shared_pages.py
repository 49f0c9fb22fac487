"""The page behind the link to a shared page."""

from __future__ import annotations

import re

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from django.views.defaults import page_not_found

from articles.pages import uncached
from articles.publishing import note_use, open_shared_page
from articles.site.media import allow_images
from articles.site.reading import show_shared

_IMAGE = re.compile(r"/media/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/")


@require_safe
def by_link(request: HttpRequest, token: str) -> HttpResponse:
    """The page of a valid link as of its instant; 404 for an unknown, expired or revoked one."""
    shared = open_shared_page(token)
    if shared is None:
        return uncached(page_not_found(request, Http404()))
    response = show_shared(request, shared)
    address = request.client_address()  # type: ignore[attr-defined]  # past the proxies
    note_use(shared, images={*_IMAGE.findall(response.text)}, address=address)
    return allow_images(response, shared, token)
