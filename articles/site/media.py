"""Serving pictures, from whichever storage holds them, to whoever may see what shows them.

Readers may see a picture while an article that is live shows it; the newsroom sees all, and who opened a preview link
those of its text. That a picture is public is kept like a page, and ends with the article that proves it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from uuid import UUID

from django.conf import settings
from django.core.files.storage import default_storage
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response
from django.views.decorators.http import require_safe

from articles.cache import ADDRESSES, Answer, article_tag, kept, name_tags, set_cache_headers, tagged
from articles.models import Article, PreviewLink
from articles.pages import text_of_link
from articles.publishing import open_link
from headline.api.staff_required import requesting_user
from scheduling.services import database_now

BROWSERS = 60
"""Seconds for which a browser need not ask again; nobody can take a picture back from it."""

PREVIEW = "preview-"
"""What the names of cookies begin with that hold the tokens of preview links."""

NAME = re.compile(r"[\w-]+\.(jpeg|png|webp|avif)", re.ASCII)
_MOST_PREVIEWS = 10  # of which a browser is believed to have the tokens
_HARMLESS = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox; default-src 'none'"}


@require_safe
def media(request: HttpRequest, pk: UUID, name: str) -> HttpResponseBase:
    """One file of a picture; for everybody else it does not exist."""
    if NAME.fullmatch(name) is None:
        raise Http404
    proof, ends = kept("media", str(pk), lambda: _proof(pk), most=ADDRESSES)
    if isinstance(proof, Answer):
        return _public(request, proof, ends - time.monotonic(), pk, name)
    if not (_is_of_the_newsroom(request) or _is_previewed(request, pk)):
        raise Http404
    response = _file(pk, name)
    response.headers["Cache-Control"] = "private, no-store"
    response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
    return response


def let_see_images(response: HttpResponse, link: PreviewLink, token: str) -> HttpResponse:
    """From now on this browser is shown the pictures of the link's text, as long as the link is open."""
    response.set_cookie(
        f"{PREVIEW}{link.pk.hex}",
        token,
        path=settings.MEDIA_URL if settings.MEDIA_URL.startswith("/") else "/",
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )
    return response


def _proof(pk: UUID) -> HttpResponseBase:
    """Something to keep, tagged with a live article that shows the picture; "404" if there is none."""
    for article in Article.objects.live(database_now()).filter(image_uses__image=pk).only("body", "cover"):
        if str(pk) in [*article.cover, *article.images]:  # a use may be that of a text yet to come
            return tagged(HttpResponse(str(article.pk)), article_tag(article.pk))
    return HttpResponse(status=404)


def _is_of_the_newsroom(request: HttpRequest) -> bool:
    user = requesting_user(request)
    return bool(user.is_active and user.is_staff and user.has_perm("articles.view_image"))


def _is_previewed(request: HttpRequest, pk: UUID) -> bool:
    return any(str(pk) in text_of_link(link)[0].shown for link in _open_links(request))


def _open_links(request: HttpRequest) -> Iterator[PreviewLink]:
    tokens = [token for name, token in request.COOKIES.items() if name.startswith(PREVIEW)]
    yield from filter(None, map(open_link, tokens[-_MOST_PREVIEWS:]))


def _public(request: HttpRequest, proof: Answer, left: float, pk: UUID, name: str) -> HttpResponseBase:
    etag = f'"{pk.hex}-{name}"'  # a file's name changes with its content
    response = get_conditional_response(request, etag) or _file(pk, name)
    response.headers["ETag"] = etag
    response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    name_tags(response, proof.tags)
    set_cache_headers(response, left, browsers=BROWSERS)
    return response


def _file(pk: UUID, name: str) -> HttpResponseBase:
    kind = f"image/{name.rpartition('.')[2]}"
    if settings.MEDIA_ACCEL_REDIRECT:
        inside = f"{settings.MEDIA_ACCEL_REDIRECT}{pk}/{name}"
        return HttpResponse(content_type=kind, headers={**_HARMLESS, "X-Accel-Redirect": inside})
    try:
        file = default_storage.open(f"{pk}/{name}")
    except FileNotFoundError as error:
        raise Http404 from error
    return FileResponse(file, content_type=kind, headers=_HARMLESS)
