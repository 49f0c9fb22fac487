"""Single sign-on with OpenID Connect: the provider's answers are checked more strictly than by django-allauth."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import jwt
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.internal.jwtkit import verify_jti
from allauth.socialaccount.models import SocialApp, SocialLogin, SocialToken
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET
from requests import RequestException

from headline.accounts.single_sign_on import Identity, issuer_of_open_id, redirect_to_provider
from headline.env import is_loopback

PROVIDER = "oidc"
_ENDPOINTS = ("authorization_endpoint", "jwks_uri", "token_endpoint")
_SIGNED_WITH = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Public-key signatures: with one of a shared secret, a public key could pass for the secret."""


class Adapter(OpenIDConnectOAuth2Adapter):  # type: ignore[misc]
    """Trusts only the configured issuer, and only claims about one subject."""

    @property
    def openid_config(self) -> dict[str, Any]:
        """The provider's metadata. Raises `OAuth2Error` if another issuer wrote it."""
        found = super().openid_config
        if not isinstance(found, dict) or not all(isinstance(found.get(name), str) for name in ("issuer", *_ENDPOINTS)):
            raise OAuth2Error("The metadata of the identity provider are incomplete.")
        issuer = self.get_provider().app.settings["server_url"]
        if found["issuer"].rstrip("/") != issuer.rstrip("/"):
            raise OAuth2Error(f"The metadata name the issuer {found['issuer']!r} instead of {issuer!r}.")
        for name in (*_ENDPOINTS, "userinfo_endpoint"):
            if name in found and not _is_private(found[name]):
                raise OAuth2Error(f"The {name} in the metadata does not use https.")
        return found

    def _decode_id_token(self, app: SocialApp, id_token: str) -> dict[str, Any]:
        """The claims of an ID token for this client, signed by the provider. Raises `OAuth2Error`."""
        config = self.openid_config
        try:
            key = _key_of(id_token, config["jwks_uri"])
            claims: dict[str, Any] = jwt.decode(
                id_token, key, algorithms=_SIGNED_WITH, audience=app.client_id, issuer=config["issuer"]
            )
        except (jwt.PyJWTError, ValueError) as error:
            raise OAuth2Error("The ID token is invalid.") from error
        if claims.get("azp", app.client_id) != app.client_id or ("azp" not in claims and len(_list(claims["aud"])) > 1):
            raise OAuth2Error("The ID token was issued to another client.")
        verify_jti(claims)
        return claims

    def complete_login(
        self, request: HttpRequest, app: SocialApp, token: SocialToken, *, response: dict[str, Any], **options: Any
    ) -> SocialLogin:
        """The identity in the ID token, with the claims of the userinfo endpoint if there is one."""
        if not isinstance(response.get("id_token"), str):
            raise OAuth2Error("The identity provider sent no ID token.")
        claims = self._decode_id_token(app, response["id_token"])
        subject = claims.get("sub")
        if not isinstance(subject, str) or not subject:
            raise OAuth2Error("The ID token names no subject.")
        if "exp" not in claims:  # a wrong time is refused when it is decoded, but not a missing one
            raise OAuth2Error("The ID token has no end.")
        if "userinfo_endpoint" in self.openid_config:
            more = self._fetch_user_info(token.token)
            if not isinstance(more, dict) or more.get("sub") != subject:
                raise OAuth2Error("The userinfo endpoint describes another subject.")
            if more.get("email", claims.get("email")) != claims.get("email"):
                claims.pop("email_verified", None)  # it is about the address in the ID token
            claims |= more
        return self.get_provider().sociallogin_from_response(request, {"id_token": claims})


def _key_of(id_token: str, address: str) -> jwt.PyJWK:
    """The provider's key that the ID token names; without a name, its only key. Raises `PyJWTError`, `OAuth2Error`."""
    with get_adapter().get_requests_session() as session:
        response = session.get(address, allow_redirects=False)  # which might lead to an address without https
        response.raise_for_status()
    keys = jwt.PyJWKSet.from_dict(response.json()).keys
    name = jwt.get_unverified_header(id_token).get("kid")
    found = [key for key in keys if name is None or key.key_id == name]
    if len(found) != 1:
        raise OAuth2Error("The ID token is signed with no key of the identity provider.")
    return found[0]


def _is_private(address: Any) -> bool:
    """Whether no one else can read what is sent there: by https, or on this machine."""
    url = urlsplit(str(address))
    return url.scheme == "https" or (url.scheme == "http" and is_loopback(url.hostname or ""))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


class CheckedOIDCProvider(OpenIDConnectProvider):  # type: ignore[misc]
    """Identifies users by issuer and subject, because each issuer has its own subjects."""

    oauth2_adapter_class = Adapter

    @property
    def issuer(self) -> str:
        """The name of the identity provider."""
        return issuer_of_open_id()

    def identity(self, data: Mapping[str, Any]) -> Identity:
        """What the claims say."""
        return Identity.of(data["id_token"])

    def extract_uid(self, data: dict[str, Any]) -> str:
        """A hash, because both together may be longer than the column."""
        text = f"{self.app.settings['server_url'].rstrip('/')}\n{data['id_token']['sub']}"
        return hashlib.sha256(text.encode()).hexdigest()


@never_cache
@require_GET
def start(request: HttpRequest) -> HttpResponse:
    """Redirect to the identity provider."""
    with _refusing(request):
        return redirect_to_provider(request, get_adapter(request).get_provider(request, PROVIDER))


@never_cache
@require_GET
def callback(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Sign in with the provider's answer; its state is valid once, and only in the session that started."""
    with _refusing(request):
        response: HttpResponse = OAuth2CallbackView.adapter_view(Adapter(request, provider_id))(request)
        return response


@contextmanager
def _refusing(request: HttpRequest) -> Iterator[None]:
    """Raise 404 without a provider, and `ImmediateHttpResponse` with the refusal after a fault of the provider."""
    try:
        yield
    except SocialApp.DoesNotExist as error:
        raise Http404 from error
    except (OAuth2Error, RequestException) as error:
        raise ImmediateHttpResponse(get_adapter(request).failed(request, error)) from error


def urls() -> list[URLPattern]:
    """The URL patterns; 404 unless `OIDC_ISSUER` is set."""
    return [
        path("admin/sso/", start, name="single_sign_on"),
        path("admin/sso/callback/", callback, {"provider_id": PROVIDER}, name="openid_connect_callback"),
    ]
