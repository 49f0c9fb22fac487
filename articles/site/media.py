"""Serve image files to users who may see them.

Readers may see an image while a live article shows it. Staff may see all images, and the holder of a preview link the
images of its text or page. That an image is public is stored in the response cache, tagged with what shows it.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Iterator
from http import HTTPStatus
from uuid import UUID

from django.conf import settings
from django.core.files.storage import default_storage
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from articles.cache import (
    IMAGE_AGE,
    MAX_PATHS,
    NEWS,
    CachedResponse,
    article_tag,
    front_tag,
    get_or_build,
    set_cache_headers,
    set_tag_headers,
    tagged,
)
from articles.fronts import showed_image, shows_image
from articles.models import Article, Front, PreviewLink, SharedPage
from articles.pages import text_of_link
from articles.publishing import open_link, open_shared_page
from articles.releases import as_due
from scheduling.database import database_now, read_database_clock
from scheduling.incidents import incidents

logger = logging.getLogger(__name__)

COOKIE_PREFIX = "preview-"
"""Of the cookies that hold the tokens of preview links."""

FILE_NAME = re.compile(r"[\w-]+\.(jpeg|png|webp|avif)", re.ASCII)
_RETRY_AFTER = 10  # seconds
_SOURCE = "image files"
_MAX_TOKENS = 10  # read from a request's cookies
_SECURITY_HEADERS = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox; default-src 'none'"}


@require_safe
def media(request: HttpRequest, pk: UUID, name: str) -> HttpResponseBase:
    """One file of an image; 404 for users who may not see the image."""
    if FILE_NAME.fullmatch(name) is None:
        raise Http404
    public, _expires_at = get_or_build("media", str(pk), lambda: _showing_article(pk), slots=MAX_PATHS)
    if isinstance(public, CachedResponse):
        return _public_file(request, public, pk, name)
    if not (_may_view_images(request) or _is_previewed(request, pk)):
        raise Http404
    response = _file(pk, name)
    response.headers["Cache-Control"] = "private, no-store"
    response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
    return response


def allow_images(response: HttpResponse, link: PreviewLink | SharedPage, token: str) -> HttpResponse:
    """Set the cookie that lets this browser load the images of the link's text or page while the link is valid.

    Not signed addresses, because users copy those.
    """
    response.set_cookie(
        f"{COOKIE_PREFIX}{link.pk.hex}",
        token,
        path=settings.MEDIA_URL if settings.MEDIA_URL.startswith("/") else "/",
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )
    return response


def _showing_article(pk: UUID) -> HttpResponseBase:
    """A cacheable response tagged with what shows the image, an article or a front, or a 404, which is not cached."""
    now = database_now()
    for article in Article.objects.live(now).filter(image_uses__image=pk).only("body", "cover"):
        if str(pk) in [*article.cover, *article.images]:  # an `ImageUse` may belong to a pending update
            return tagged(HttpResponse(str(article.pk)), article_tag(article.pk))
    if front := shows_image(pk, now) or (_past_front(pk) if settings.FRONT_ARCHIVE else None):
        return tagged(HttpResponse(front.slug), NEWS, front_tag(front.language, front.channel_id))
    return HttpResponse(status=404)


def _past_front(pk: UUID) -> Front | None:
    """A front that shows the image in the archive, with its articles as they are now."""
    with as_due():
        return showed_image(pk, read_database_clock())


def _may_view_images(request: HttpRequest) -> bool:
    user = request.newsroom_user()  # type: ignore[attr-defined]  # by session or token
    return bool(user.is_active and user.is_staff and user.has_perm("articles.view_image"))


def _is_previewed(request: HttpRequest, pk: UUID) -> bool:
    return any(str(pk) in shown for shown in _previewed(request))


def _previewed(request: HttpRequest) -> Iterator[Collection[str]]:
    """The ids of the images of each open link: of its text, or of its page when that was last opened."""
    tokens = [token for name, token in request.COOKIES.items() if name.startswith(COOKIE_PREFIX)]
    for token in tokens[-_MAX_TOKENS:]:
        if link := open_link(token):
            yield text_of_link(link)[0].shown
        elif shared := open_shared_page(token):
            yield shared.images


def _public_file(request: HttpRequest, public: CachedResponse, pk: UUID, name: str) -> HttpResponseBase:
    etag = f'"{pk.hex}-{name}"'  # a file's name changes with its content
    response = get_conditional_response(request, etag) or _file(pk, name)
    if response.status_code == HTTPStatus.SERVICE_UNAVAILABLE:
        return response
    response.headers["ETag"] = etag
    response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    set_tag_headers(response, public.tags)
    set_cache_headers(response, browser_age=IMAGE_AGE)
    return response


def _file(pk: UUID, name: str) -> HttpResponseBase:
    content_type = f"image/{name.rpartition('.')[2]}"
    if settings.MEDIA_ACCEL_REDIRECT:
        path = f"{settings.MEDIA_ACCEL_REDIRECT}{pk}/{name}"
        return HttpResponse(content_type=content_type, headers={**_SECURITY_HEADERS, "X-Accel-Redirect": path})
    try:
        file = default_storage.open(f"{pk}/{name}")
        file.read(0)  # a bucket is asked for the file now, not when the response has begun
    except FileNotFoundError as error:
        raise Http404 from error
    except Exception as error:  # each storage has its own exceptions
        incidents.failed(logger, _SOURCE, f"reading image files fails, such as {pk}/{name}", error)
        response = HttpResponse(
            _("The image storage does not respond: try again in a moment."),
            status=HTTPStatus.SERVICE_UNAVAILABLE,
            headers={"Retry-After": str(_RETRY_AFTER)},
            content_type="text/plain; charset=utf-8",
        )
        response._has_been_logged = True  # type: ignore[attr-defined] # or Django logs a line for each
        return response
    incidents.succeeded(_SOURCE)
    return FileResponse(file, content_type=content_type, headers=_SECURITY_HEADERS)
