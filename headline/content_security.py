"""Security headers: Content-Security-Policy, Permissions-Policy and Cross-Origin-Resource-Policy.

The reader site has no inline scripts or styles. The admin needs more: Alpine, which django-unfold ships in the build
that evaluates attributes of its templates, needs 'unsafe-eval'; Alpine's other build cannot read these expressions.
Nonces do not cover style attributes, which unfold's templates, Alpine and ProseMirror set, so 'unsafe-inline' stays.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import reverse

Policy = Mapping[str, str]
"""Directive to sources."""

PERMISSIONS = ", ".join(
    f"{name}=()"
    for name in (
        "accelerometer", "browsing-topics", "camera", "display-capture", "geolocation", "gyroscope", "hid",
        "identity-credentials-get", "magnetometer", "microphone", "midi", "payment", "serial", "usb",
        "xr-spatial-tracking",
    )
)  # fmt: skip
"""Browser features that neither the site nor embedded players use."""

_PASSKEYS = "publickey-credentials-create={0}, publickey-credentials-get={0}"

_NONCE = "_csp_nonce"
_NOTHING_ELSE = {"default-src": "'none'", "base-uri": "'none'", "form-action": "'self'", "object-src": "'none'"}
_SITE = {
    **_NOTHING_ELSE,
    "script-src": "'self'",
    "style-src": "'self'",
    "font-src": "'self'",
    "connect-src": "'self'",
}
_API_PAGE = {**_SITE, "style-src": "'self' 'unsafe-inline'", "img-src": "'self' data:"}
_ADMIN = {**_SITE, "script-src": "'self' 'unsafe-eval'", "style-src": "'self' 'unsafe-inline'"}
PREVIEWS = frozenset({"preview", "articles_article_preview", "articles_article_preview_new"})
"""The names of the URLs of previews."""

_FRAMES = {"DENY": "'none'", "SAMEORIGIN": "'self'"}


class BrowserPolicyMiddleware:
    """Adds the headers to every response that does not have them; `request.csp_nonce()` allows an inline script."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        request.csp_nonce = partial(_nonce_for, request)  # type: ignore[attr-defined]
        response = self.get_response(request)
        headers = response.headers
        policy = {**_policy(request), **_embedding(headers.get("X-Frame-Options", "DENY"))}
        headers.setdefault(
            "Content-Security-Policy", "; ".join(f"{name} {sources}" for name, sources in policy.items())
        )
        passkeys = _PASSKEYS.format("(self)" if _is_admin(request) else "()")
        headers.setdefault("Permissions-Policy", f"{PERMISSIONS}, {passkeys}")
        headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        return response


def _nonce_for(request: HttpRequest) -> str:
    """The nonce for inline scripts of this response; only for pages that are not cached."""
    nonce: str = request.__dict__.setdefault(_NONCE, secrets.token_urlsafe(16))
    return nonce


def _is_admin(request: HttpRequest) -> bool:
    return request.path.startswith(reverse("admin:index"))


def _policy(request: HttpRequest) -> Policy:
    if request.path == reverse("api-docs"):
        return _API_PAGE
    players = " ".join(players_hosts())
    if _is_preview(request):
        return {**_SITE, **_images(()), "frame-src": "'none'"}
    if _is_admin(request):
        images = _images(())
        nonce = f" 'nonce-{request.__dict__[_NONCE]}'" if _NONCE in request.__dict__ else ""
        return {
            **_ADMIN,
            **images,
            "script-src": _ADMIN["script-src"] + nonce,
            "img-src": f"{images['img-src']} blob:",
            "frame-src": f"'self' {players}",
        }
    return {**_SITE, **_images(settings.FOREIGN_MEDIA_HOSTS), "frame-src": players or "'none'"}


def _is_preview(request: HttpRequest) -> bool:
    """Whether a text is shown that may not be published, of which no other host may hear."""
    return request.resolver_match is not None and request.resolver_match.url_name in PREVIEWS


def _embedding(frame_options: str) -> Policy:
    """The `frame-ancestors` equivalent of the older `X-Frame-Options` header."""
    return {"frame-ancestors": _FRAMES.get(frame_options, "'none'")}


def _images(hosts: Iterable[str]) -> Policy:
    """Images and media of the site, its storage and these hosts; over http only if the site itself uses http."""
    storage = urlsplit(settings.MEDIA_URL)
    scheme = "https:" if settings.SITE_URL.startswith("https://") else "https: http:"
    allowed = [scheme if host == "*" else host for host in hosts]
    own = [f"{storage.scheme}://{storage.netloc}"] if storage.netloc else []
    elsewhere = " ".join(["'self'", *own, *allowed])
    return {"img-src": f"{elsewhere} data:", "media-src": elsewhere}


def players_hosts() -> Iterable[str]:
    """The origins of the players in `EMBEDS`."""
    players = (urlsplit(player) for _name, _pattern, player in settings.EMBEDS)
    return sorted({f"{url.scheme}://{url.netloc}" for url in players})
