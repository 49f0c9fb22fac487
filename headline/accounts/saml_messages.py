"""SAML requests and responses, by python3-saml, whose checks are completed here; imported only if SAML is on."""

from __future__ import annotations

import json
import logging
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import requests
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import Encoding
from django.conf import settings
from django.urls import reverse
from django.utils.html import escape
from lxml import etree
from onelogin.saml2.authn_request import OneLogin_Saml2_Authn_Request
from onelogin.saml2.constants import OneLogin_Saml2_Constants as Names
from onelogin.saml2.errors import OneLogin_Saml2_ValidationError
from onelogin.saml2.idp_metadata_parser import OneLogin_Saml2_IdPMetadataParser
from onelogin.saml2.response import OneLogin_Saml2_Response
from onelogin.saml2.settings import OneLogin_Saml2_Settings
from onelogin.saml2.utils import OneLogin_Saml2_Utils
from onelogin.saml2.xml_utils import OneLogin_Saml2_XML
from urllib3.exceptions import HTTPError

logger = logging.getLogger(__name__)

TIMEOUT = 5  # seconds for the metadata of the identity provider
METADATA_LIFETIME, RETRY_AFTER = 3600, 60  # seconds after which metadata are read again, also after a failure
_LONGEST_METADATA = 10_000_000  # bytes; those of a federation are long
_SMALLEST_KEY = 2048  # bits
_SPACE = " \t\r\n"  # that of XML: names that differ in other spaces are of different users and groups
_MOST_TRANSFORMS = 2  # of a signature, as SAML has it: each goes through all elements
_MOST_PREFIXES = 10  # in a signature: each is looked up for each element, before the signature is known to be valid

_ALGORITHMS = {
    "CanonicalizationMethod": {"http://www.w3.org/2001/10/xml-exc-c14n#"},
    "Transform": {
        "http://www.w3.org/2000/09/xmldsig#enveloped-signature",
        "http://www.w3.org/2001/10/xml-exc-c14n#",
    },
    "DigestMethod": {
        "http://www.w3.org/2001/04/xmlenc#sha256",
        "http://www.w3.org/2001/04/xmldsig-more#sha384",
        "http://www.w3.org/2001/04/xmlenc#sha512",
    },
    "SignatureMethod": {
        f"http://www.w3.org/2001/04/xmldsig-more#{name}"
        for name in ("rsa-sha256", "rsa-sha384", "rsa-sha512", "ecdsa-sha256", "ecdsa-sha384", "ecdsa-sha512")
    },
}
"""Element of a signature to the algorithms that are accepted. Others are not even run: some read files."""


class WrongMetadata(Exception):
    """The identity provider cannot be known from the settings; the argument says why."""


class InvalidResponse(Exception):
    """A response is not accepted; the argument says why, for the log."""


@dataclass(frozen=True)
class ResponseSubject:
    """Whom a response is about, and what it answers."""

    request_id: str
    assertion_id: str
    name: str  #: with format and qualifier: who starts a sign-in may choose among the formats of the provider
    attributes: dict[str, list[str]]


def acs_url() -> str:
    """Where responses have to be sent, whatever host a request names."""
    # Not from the request, whose host an attacker can choose.
    return str(settings.SITE_URL) + reverse("saml_acs")


def own_entity_id() -> str:
    """The name of this site at the identity provider."""
    return settings.SAML["sp_entity_id"] or str(settings.SITE_URL) + reverse("saml_metadata")


def authentication_request() -> tuple[str, str]:
    """The URL that asks the identity provider who the user is, and the id of the request. Raises `WrongMetadata`."""
    known = _identity_provider()
    url = known["singleSignOnService"]["url"]
    request = OneLogin_Saml2_Authn_Request(_settings({**known, "singleSignOnService": {"url": escape(url)}}))
    query = urlencode({"SAMLRequest": request.get_request()})
    return f"{url}{'&' if '?' in url else '?'}{query}", request.get_id()


def subject_of(encoded: str) -> ResponseSubject:
    """The subject of a response that the identity provider has signed for us, now. Raises `InvalidResponse`."""
    try:
        known = _identity_provider()
        try:
            return _checked(encoded, known)
        except OneLogin_Saml2_ValidationError as error:
            if error.code != error.INVALID_SIGNATURE or (renewed := _identity_provider(may_have_new_key=True)) == known:
                raise
            return _checked(encoded, renewed)
    except InvalidResponse:
        raise
    except Exception as error:  # the libraries raise errors of many kinds for forged responses
        raise InvalidResponse(f"{type(error).__name__}: {str(error)[:300]!r}") from error  # it may quote the response


def _checked(encoded: str, identity_provider: dict[str, Any]) -> ResponseSubject:
    response = OneLogin_Saml2_Response(_settings(identity_provider), encoded)
    # First, since the library runs a signature's transforms before it knows whether the signature is valid.
    _check_signatures(response.document)
    response.is_valid(_place(), raise_exceptions=True)
    return _subject(response)


def faults() -> Iterator[str]:
    """What is wrong with the metadata or the certificates, as sentences. Metadata with a URL are not looked at."""
    if settings.SAML["metadata"].startswith(("https://", "http://")):
        return
    try:
        certificates = _identity_provider()["x509certMulti"]["signing"]
        keys = [x509.load_pem_x509_certificate(_as_pem(text).encode()).public_key() for text in certificates]
    except WrongMetadata as error:
        yield str(error)
    except ValueError:
        yield "The metadata of the SAML identity provider have an invalid certificate."
    else:
        if any(isinstance(key, RSAPublicKey) and key.key_size < _SMALLEST_KEY for key in keys):
            yield f"A certificate of the SAML identity provider has an RSA key of less than {_SMALLEST_KEY} bits."


def _as_pem(certificate: str) -> str:
    return str(OneLogin_Saml2_Utils.format_cert(certificate))


def _settings(identity_provider: dict[str, Any]) -> OneLogin_Saml2_Settings:
    security = {
        "wantAssertionsSigned": True,
        "rejectDeprecatedAlgorithm": True,
        "wantAttributeStatement": False,  # without attributes there is no role, which has a message of its own
        "allowRepeatAttributeName": True,  # some providers send each group as an attribute of its own
        "requestedAuthnContext": False,
        "allowSingleLabelDomains": True,
    }
    acs = {"url": acs_url(), "binding": Names.BINDING_HTTP_POST}
    sp = {"entityId": own_entity_id(), "assertionConsumerService": acs}
    return OneLogin_Saml2_Settings({"strict": True, "security": security, "idp": identity_provider, "sp": sp})


def _place() -> dict[str, str]:
    """Where responses have to be sent, in the terms of the library."""
    url = urlsplit(acs_url())
    return {
        "https": "on" if url.scheme == "https" else "off",
        "http_host": url.netloc,
        "script_name": "",
        "path_info": url.path,
    }


# The identity provider


def _identity_provider(*, may_have_new_key: bool = False) -> dict[str, Any]:
    """Entity ID, URL and certificates, in the terms of the library. Raises `WrongMetadata`."""
    given = settings.SAML
    if given["metadata"]:
        text = _metadata(given["metadata"], may_have_changed=may_have_new_key)
        return _from_metadata(text, given["idp_entity_id"])
    try:
        certificates = x509.load_pem_x509_certificates(Path(given["certificate"]).read_bytes())
    except (OSError, ValueError) as error:
        raise WrongMetadata("SAML_CERTIFICATE names a file without certificates in PEM format.") from error
    return {
        "entityId": given["idp_entity_id"],
        "singleSignOnService": {"url": given["sso_url"]},
        "x509certMulti": {"signing": [one.public_bytes(Encoding.PEM).decode() for one in certificates]},
    }


def _from_metadata(text: bytes, entity_id: str) -> dict[str, Any]:
    try:
        tree = OneLogin_Saml2_XML.to_etree(text)
        found = OneLogin_Saml2_IdPMetadataParser.parse(tree, entity_id=entity_id).get("idp", {})
        is_over = any(end <= OneLogin_Saml2_Utils.now() for end in _ends(tree, entity_id))
    except (ValueError, etree.LxmlError) as error:
        raise WrongMetadata("SAML_METADATA is no valid XML.") from error
    if is_over:
        raise WrongMetadata("SAML_METADATA has expired (validUntil): get its present version from the provider.")
    certificates = found.get("x509certMulti", {}).get("signing") or [found.get("x509cert")]
    if found.get("entityId") != entity_id or "singleSignOnService" not in found or not all(certificates):
        message = "has no certificate or no HTTP-Redirect address for the entity ID"
        raise WrongMetadata(f"SAML_METADATA {message} {entity_id}, which SAML_IDP_ENTITY_ID names.")
    return {
        "entityId": entity_id,
        "singleSignOnService": {"url": found["singleSignOnService"]["url"]},
        "x509certMulti": {"signing": certificates},
    }


def _ends(tree: Any, entity_id: str) -> list[int]:
    """The times at which the metadata of the provider end, as seconds since 1970."""
    return [OneLogin_Saml2_Utils.parse_SAML_to_time(end) for end in _periods(tree, entity_id, "validUntil")]


def _periods(tree: Any, entity_id: str, name: str) -> list[str]:
    path = f"//md:EntityDescriptor[@entityID=$id]/md:IDPSSODescriptor/ancestor-or-self::*/@{name}"
    return [str(period) for period in tree.xpath(path, namespaces=Names.NSMAP, id=entity_id)]


def _lifetime(text: bytes, entity_id: str) -> float:
    """The seconds after which the metadata have to be read again."""
    tree = OneLogin_Saml2_XML.to_etree(text)
    durations = _periods(tree, entity_id, "cacheDuration")
    ends = [*_ends(tree, entity_id), *map(OneLogin_Saml2_Utils.parse_duration, durations)]
    return float(min([METADATA_LIFETIME, *(max(end - OneLogin_Saml2_Utils.now(), RETRY_AFTER) for end in ends)]))


@dataclass(frozen=True)
class _Fetched:
    """What was read from a URL; times are those of the monotonic clock."""

    text: bytes = b""  #: none after a failure
    at: float = -math.inf
    until: float = -math.inf


_fetched: dict[str, _Fetched] = {}


def _metadata(source: str, *, may_have_changed: bool = False) -> bytes:
    """The content of a file, or of a URL, which is fetched once an hour, or minute if it may have changed.

    Raises `WrongMetadata`.
    """
    if not source.startswith(("https://", "http://")):
        try:
            return Path(source).read_bytes()
        except OSError as error:
            raise WrongMetadata("SAML_METADATA names a file that cannot be read.") from error
    known, now = _fetched.get(source, _Fetched()), time.monotonic()
    if now >= known.until or (may_have_changed and now >= known.at + RETRY_AFTER):
        text, lifetime = known.text, float(RETRY_AFTER)  # with what was fetched before, if anything
        try:
            found, entity_id = _fetch(source), settings.SAML["idp_entity_id"]
            _from_metadata(found, entity_id)
            text, lifetime = found, _lifetime(found, entity_id)
        except (requests.RequestException, HTTPError, ValueError, WrongMetadata) as error:
            logger.warning("The metadata of the identity provider could not be fetched: %s", error)
        known = _fetched[source] = _Fetched(text, now, now + lifetime)
    if not known.text:
        raise WrongMetadata("The metadata of the identity provider could not be fetched.")
    return known.text


def _fetch(url: str) -> bytes:
    # No redirects: the address in the settings was checked, another one was not.
    with requests.get(url, timeout=TIMEOUT, allow_redirects=False, stream=True) as response:
        response.raise_for_status()
        text: bytes = response.raw.read(_LONGEST_METADATA + 1, decode_content=True)
    if response.is_redirect or len(text) > _LONGEST_METADATA:
        raise ValueError("it redirects, or is too long")
    return text


# The response


def _check_signatures(document: Any) -> None:
    """Before anything is computed: each signature is of the response or its one assertion, as a whole."""
    assertions = _query(document, "/samlp:Response/saml:Assertion")
    _require(len(assertions) == 1, "it has not exactly one assertion")
    ids = [*map(str, _query(document, "//@ID | //@Id | //@id"))]
    # Otherwise what is signed and what is read could be two elements with one ID (signature wrapping).
    _require(len(ids) == len(set(ids)), "an ID occurs twice")
    _require(bool(_query(assertions[0], "ds:Signature")), "its assertion is not signed")
    for signature in _query(document, "//ds:Signature"):
        signed = signature.getparent()
        _require(signed is document or signed is assertions[0], "it signs something else")
        references = _query(signature, ".//ds:Reference")
        _require(len(references) == 1, "a signature has not exactly one reference")
        _require(references[0].get("URI") == f"#{signed.get('ID')}", "a signature refers to something else")
        transforms = _query(references[0], ".//ds:Transform")
        _require(len(transforms) <= _MOST_TRANSFORMS, "a signature names too many transforms")
        prefixes = " ".join(map(str, _query(signature, ".//@PrefixList"))).split()
        _require(len(prefixes) <= _MOST_PREFIXES, "a signature names too many prefixes")
        for element in _query(signature, ".//*[@Algorithm]"):
            name, algorithm = etree.QName(element).localname, element.get("Algorithm")
            _require(algorithm in _ALGORITHMS.get(name, ()), f"a signature uses {algorithm[:100]!r} as {name}")


def _subject(response: Any) -> ResponseSubject:
    """What a valid response says. Raises `InvalidResponse` if it lacks what the library takes for optional."""
    document, issuer = response.document, settings.SAML["idp_entity_id"]
    assertion = _query(document, "/samlp:Response/saml:Assertion")[0]
    request_id = document.get("InResponseTo")
    _require(bool(request_id), "it answers no request")
    _require(document.get("Destination", acs_url()) == acs_url(), "it has another destination")
    _require(_texts(assertion, "saml:Issuer") == [issuer], "another issuer wrote the assertion")
    audiences = _query(assertion, "saml:Conditions/saml:AudienceRestriction")
    is_for_us = [own_entity_id() in _texts(one, "saml:Audience") for one in audiences]
    _require(bool(is_for_us) and all(is_for_us), "it is for another audience")
    confirmations = _query(assertion, f"saml:Subject/saml:SubjectConfirmation[@Method='{Names.CM_BEARER}']")
    _require(any(_confirms(one, request_id) for one in confirmations), "its subject is not confirmed for us, now")
    name = response.get_nameid_data()
    value = (name.get("Value") or "").strip(_SPACE)
    _require(bool(value), "it has no NameID")
    # With the format: two formats may give one text to different users.
    name_format = name.get("Format") or Names.NAMEID_UNSPECIFIED
    _require(name_format != Names.NAMEID_TRANSIENT, "its NameID is transient, so that it identifies no account")
    qualified = json.dumps([name_format, name.get("NameQualifier") or issuer, value])
    return ResponseSubject(request_id, response.get_assertion_id(), qualified, _attributes(assertion))


def _attributes(assertion: Any) -> dict[str, list[str]]:
    """Name to texts; values with elements are left out."""
    found: dict[str, list[str]] = {}
    for attribute in _query(assertion, "saml:AttributeStatement/saml:Attribute"):
        texts = _texts(attribute, "saml:AttributeValue[not(*)]")
        found.setdefault(attribute.get("Name"), []).extend(filter(None, texts))
    return found


def _confirms(confirmation: Any, request_id: str) -> bool:
    """Whether the bearer is confirmed to us, for our request, and not for ever."""
    expected = {"Recipient": acs_url(), "InResponseTo": request_id}
    return any(
        {name: data.get(name) for name in expected} == expected
        and data.get("NotBefore") is None
        and data.get("NotOnOrAfter") is not None
        and OneLogin_Saml2_Utils.parse_SAML_to_time(data.get("NotOnOrAfter")) > OneLogin_Saml2_Utils.now()
        for data in _query(confirmation, "saml:SubjectConfirmationData")
    )


def _require(is_right: bool, fault: str) -> None:
    if not is_right:
        raise InvalidResponse(fault)


def _query(element: Any, path: str) -> list[Any]:
    return list(element.xpath(path, namespaces=Names.NSMAP))


def _texts(element: Any, path: str) -> list[str]:
    return ["".join(one.itertext()).strip(_SPACE) for one in _query(element, path)]
