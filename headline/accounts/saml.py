"""Single sign-on with SAML 2.0: requests of this site are answered by one identity provider."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict
from datetime import timedelta
from importlib import import_module
from typing import Any

from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.helpers import complete_social_login
from allauth.socialaccount.models import SocialApp
from allauth.socialaccount.providers.base.constants import AuthProcess
from allauth.socialaccount.providers.saml.provider import SAMLProvider
from allauth.socialaccount.sessions import LoginSession
from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_POST

from headline.accounts.rate_limits import Limit
from headline.accounts.single_sign_on import Identity, line_of, redirect_to_provider, refuse_many

PROVIDER = "saml"

RESPONSES = Limit("SAML responses of address", burst=50, every=timedelta(seconds=6))
LONGEST_RESPONSE = 256 * 1024  # bytes of a form; responses have about 10 kB
_HAND_OVER = 60  # seconds from the provider's form to the next request
_USED = Limit("used SAML assertion", burst=1, every=timedelta(hours=1))  # longer than a request is remembered
_COOKIE = "saml-acs-session"

_METADATA = """\
<?xml version="1.0" encoding="UTF-8"?>
<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" entityID="{}">
  <md:SPSSODescriptor AuthnRequestsSigned="false" WantAssertionsSigned="true"
      protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">
    <md:AssertionConsumerService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST" Location="{}" index="1"/>
  </md:SPSSODescriptor>
</md:EntityDescriptor>
"""


class CheckedSAMLProvider(SAMLProvider):  # type: ignore[misc]
    """Identifies users by issuer and NameID; reads nothing but what `saml_messages` has checked."""

    @property
    def issuer(self) -> str:
        """The identity provider's entity ID."""
        return str(settings.SAML["idp_entity_id"])

    def identity(self, data: Mapping[str, Any]) -> Identity:
        """What the assertion says. SAML does not say whether an address was confirmed."""
        email, name, groups = (
            data["attributes"].get(settings.SAML[f"{key}_attribute"], []) for key in ("email", "name", "groups")
        )
        return Identity(
            email=line_of(email[0]) if len(email) == 1 else "",
            is_confirmed=False,
            name=line_of(" ".join(name)),
            groups=frozenset(groups),
        )

    def extract_uid(self, data: Mapping[str, Any]) -> str:
        """A hash, because both together may be longer than the column."""
        return hashlib.sha256(f"{self.issuer}\n{data['name']}".encode()).hexdigest()

    def extract_extra_data(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """The checked response."""
        return dict(data)

    def extract_common_fields(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """None: `headline.accounts.single_sign_on` makes the accounts."""
        return {}

    def redirect(
        self, request: HttpRequest, process: str, next_url: str | None = None, data: Any = None, **options: Any
    ) -> HttpResponse:
        """To the identity provider. The session remembers the request, and where the user was going."""
        messages = _messages()
        try:
            url, state_id = messages.authentication_request()
        except messages.WrongMetadata as error:
            return _failed(request, error)
        self.stash_redirect_state(request, process, next_url, data, state_id=state_id, **options)
        return HttpResponseRedirect(url)


@never_cache
@require_GET
def start(request: HttpRequest) -> HttpResponse:
    """Redirect to the identity provider."""
    return redirect_to_provider(request, _provider(request))


@never_cache
@csrf_exempt  # the provider's form has no token; `finish` accepts only what this browser has asked for
@require_POST
def consume(request: HttpRequest) -> HttpResponse:
    """The assertion consumer service: check the response, and hand it over to a request that has the session.

    Browsers send no session cookie with a form of another site.
    """
    _provider(request)
    if too_many := refuse_many(request, RESPONSES):  # to check a forged one may take seconds
        return too_many
    messages = _messages()
    try:
        # Before the form is read: a long one is not even parsed.
        length = request.headers.get("Content-Length", "0")
        if not length.isdecimal() or int(length) > LONGEST_RESPONSE:
            raise messages.InvalidResponse("it is too long")
        subject = messages.subject_of(request.POST.get("SAMLResponse", ""))
    except messages.InvalidResponse as error:
        return _failed(request, error)
    response = HttpResponseRedirect(reverse("saml_finish_acs"))
    handed_over = _hand_over(request)
    handed_over.store["subject"] = asdict(subject)
    handed_over.store.set_expiry(_HAND_OVER)
    handed_over.save(response)
    response.cookies[_COOKIE]["httponly"] = True
    return response


@never_cache
@require_GET
def finish(request: HttpRequest) -> HttpResponse:
    """Sign in, if this session has sent the request that was answered, and nothing was used before."""
    provider, handed_over = _provider(request), _hand_over(request)
    subject = handed_over.store.get("subject")
    handed_over.delete()
    if subject is None:
        return _failed(request, None)
    try:
        state = provider.unstash_redirect_state(request, subject["request_id"])
    except PermissionDenied:
        return _failed(request, None)
    # By the limit table, which all processes share: a cache could forget it within the assertion's life.
    if _USED.take(f"{provider.issuer}\n{subject['assertion_id']}"):
        return _failed(request, None)
    login = provider.sociallogin_from_response(request, subject)
    login.state = {**state, "process": AuthProcess.LOGIN}
    response: HttpResponse = complete_social_login(request, login)
    return response


@never_cache
@require_GET
def metadata(request: HttpRequest) -> HttpResponse:
    """What the identity provider has to know of this site."""
    _provider(request)
    messages = _messages()
    text = format_html(_METADATA, messages.own_entity_id(), messages.acs_url())
    return HttpResponse(text, content_type="application/samlmetadata+xml")


def _provider(request: HttpRequest) -> CheckedSAMLProvider:
    """The provider. Raises `Http404` unless SAML is on."""
    try:
        provider: CheckedSAMLProvider = get_adapter(request).get_provider(request, PROVIDER)
    except SocialApp.DoesNotExist as error:
        raise Http404 from error
    return provider


def _messages() -> Any:
    """What needs the packages of requirements-saml.lock."""
    return import_module("headline.accounts.saml_messages")


def _hand_over(request: HttpRequest) -> LoginSession:
    return LoginSession(request, "saml_acs_session", _COOKIE)


def _failed(request: HttpRequest, error: Exception | None) -> HttpResponse:
    response: HttpResponse = get_adapter(request).failed(request, error)
    return response


def urls() -> list[URLPattern]:
    """The URL patterns; 404 unless `SAML_IDP_ENTITY_ID` is set."""
    return [
        path("admin/sso/saml/login/", start, name="saml_login"),
        path("admin/sso/saml/acs/", consume, name="saml_acs"),
        path("admin/sso/saml/acs/finish/", finish, name="saml_finish_acs"),
        path("admin/sso/saml/metadata/", metadata, name="saml_metadata"),
    ]
