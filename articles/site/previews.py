"""The page behind a preview link."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe
from django.views.defaults import page_not_found

from articles.pages import page_of_text, preview, text_of_link, uncached
from articles.publishing import open_link
from articles.site.media import allow_images
from articles.text import format_time


@require_safe
def by_link(request: HttpRequest, token: str) -> HttpResponse:
    """The text of a valid link; 404 for an unknown, expired or revoked one."""
    link = open_link(token)
    if link is None:
        return uncached(page_not_found(request, Http404()))
    text, correction = text_of_link(link)
    notice = _("This is a preview that has not been published. It can be read until %(time)s.")
    page = page_of_text(link.article, text, correction)
    response = preview(request, page, notice=notice % {"time": format_time(link.expires_at)})
    return allow_images(response, link, token)
