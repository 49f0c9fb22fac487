"""What outsiders read by a preview link."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe
from django.views.defaults import page_not_found

from articles.models import PreviewLink
from articles.showing import kept_nowhere, newest_text, page_of_text, preview
from articles.times import spoken
from scheduling.services import database_now


@require_safe
def by_link(request: HttpRequest, token: str) -> HttpResponse:
    """The text of a link; wrong, expired and revoked ones look like any page that does not exist."""
    links = PreviewLink.objects.signed(token).open_at(database_now())
    link = links.select_related("article__channel", "article__author", "article__update", "revision").first()
    if link is None:
        return kept_nowhere(page_not_found(request, Http404()))
    revision = link.revision
    text, correction = (revision.text, revision.correction) if revision else newest_text(link.article)
    notice = _("This is a preview that has not been published. It can be read until %(time)s.")
    return preview(
        request, page_of_text(link.article, text, correction), notice=notice % {"time": spoken(link.expires_at)}
    )
