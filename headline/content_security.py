"""Security headers: Content-Security-Policy, Permissions-Policy and Cross-Origin-Resource-Policy.

The reader site has no inline scripts or styles. The admin needs more: Alpine, which django-unfold uses, evaluates
attributes of its templates, and these and the editor contain inline styles.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping
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

_NONCE = "csp_nonce"
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
_FRAMES = {"DENY": "'none'", "SAMEORIGIN": "'self'"}


class BrowserPolicyMiddleware:
    """Adds the headers to every response that does not have them."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
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


def nonce_for(request: HttpRequest) -> str:
    """The nonce for inline scripts of this response; only for pages that are not cached."""
    nonce: str = request.__dict__.setdefault(_NONCE, secrets.token_urlsafe(16))
    return nonce


def _is_admin(request: HttpRequest) -> bool:
    return request.path.startswith(reverse("admin:index"))


def _policy(request: HttpRequest) -> Policy:
    if request.path == reverse("api-docs"):
        return _API_PAGE
    images, players = _images(), " ".join(players_hosts())
    if _is_admin(request):
        nonce = f" 'nonce-{request.__dict__[_NONCE]}'" if _NONCE in request.__dict__ else ""
        return {
            **_ADMIN,
            **images,
            "script-src": _ADMIN["script-src"] + nonce,
            "img-src": f"{images['img-src']} blob:",
            "frame-src": f"'self' {players}",
        }
    return {**_SITE, **images, "frame-src": players or "'none'"}


def _embedding(frame_options: str) -> Policy:
    """The `frame-ancestors` equivalent of the older `X-Frame-Options` header."""
    return {"frame-ancestors": _FRAMES.get(frame_options, "'none'")}


def _images() -> Policy:
    """Texts may embed images and media of other sites; over http only if the site itself uses http."""
    elsewhere = "https:" if settings.SITE_URL.startswith("https://") else "https: http:"
    return {"img-src": f"'self' data: {elsewhere}", "media-src": f"'self' {elsewhere}"}


def players_hosts() -> Iterable[str]:
    """The origins of the players in `EMBEDS`."""
    players = (urlsplit(player) for _name, _pattern, player in settings.EMBEDS)
    return sorted({f"{url.scheme}://{url.netloc}" for url in players})
