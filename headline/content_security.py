"""What browsers let a page do: where its scripts, styles, pictures and players may come from, and who may embed it.

Readers' pages have no script or style of their own in the text. The newsroom's screens need more: Alpine, which
django-unfold is built on, evaluates the attributes of its templates, and these as well as the editor's hold styles.
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
        "accelerometer", "bluetooth", "browsing-topics", "camera", "display-capture", "geolocation", "gyroscope", "hid",
        "identity-credentials-get", "magnetometer", "microphone", "midi", "payment", "publickey-credentials-get",
        "serial", "usb", "xr-spatial-tracking",
    )
)  # fmt: skip
"""What neither we nor a player in a page ever ask for."""

_NONCE = "csp_nonce"
_NOTHING_ELSE = {"default-src": "'none'", "base-uri": "'none'", "form-action": "'self'", "object-src": "'none'"}
_READERS = {
    **_NOTHING_ELSE,
    "script-src": "'self'",
    "style-src": "'self'",
    "font-src": "'self'",
    "connect-src": "'self'",
}
_API_PAGE = {**_READERS, "style-src": "'self' 'unsafe-inline'", "img-src": "'self' data:"}
_DESK = {**_READERS, "script-src": "'self' 'unsafe-eval'", "style-src": "'self' 'unsafe-inline'"}
_FRAMES = {"DENY": "'none'", "SAMEORIGIN": "'self'"}


class BrowserPolicyMiddleware:
    """Adds the headers to every answer that does not bring its own."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        headers = response.headers
        policy = {**_policy(request), **_embedding(headers.get("X-Frame-Options", "DENY"))}
        headers.setdefault(
            "Content-Security-Policy", "; ".join(f"{name} {sources}" for name, sources in policy.items())
        )
        headers.setdefault("Permissions-Policy", PERMISSIONS)
        headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        return response


def nonce_for(request: HttpRequest) -> str:
    """What marks a script in the text of this answer as ours; for pages that are kept nowhere."""
    nonce: str = request.__dict__.setdefault(_NONCE, secrets.token_urlsafe(16))
    return nonce


def _policy(request: HttpRequest) -> Policy:
    path = request.path
    if path == reverse("api-docs"):
        return _API_PAGE
    images, players = _images(), " ".join(players_hosts())
    if path.startswith(reverse("admin:index")):
        marked = f" 'nonce-{request.__dict__[_NONCE]}'" if _NONCE in request.__dict__ else ""
        return {
            **_DESK,
            **images,
            "script-src": _DESK["script-src"] + marked,
            "img-src": f"{images['img-src']} blob:",
            "frame-src": f"'self' {players}",
        }
    return {**_READERS, **images, "frame-src": players or "'none'"}


def _embedding(frame_options: str) -> Policy:
    """The same as the older header says, which browsers that know this one ignore."""
    return {"frame-ancestors": _FRAMES.get(frame_options, "'none'")}


def _images() -> Policy:
    """Texts may show pictures and play recordings of other sites; over http only where the site itself does."""
    elsewhere = "https:" if settings.SITE_URL.startswith("https://") else "https: http:"
    return {"img-src": f"'self' data: {elsewhere}", "media-src": f"'self' {elsewhere}"}


def players_hosts() -> Iterable[str]:
    """Where the players of `EMBEDS` come from."""
    players = (urlsplit(player) for _name, _pattern, player in settings.EMBEDS)
    return sorted({f"{url.scheme}://{url.netloc}" for url in players})
