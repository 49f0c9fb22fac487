"""A stub SAML identity provider, whose responses a test chooses."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit
from xml.sax.saxutils import escape, quoteattr

import xmlsec
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from lxml import etree

ISSUER, SSO_URL = "https://login.example.org/saml", "https://login.example.org/saml/sso?organization=1&lang=en"
SITE = "http://127.0.0.1:8000"
ACS, ENTITY_ID = f"{SITE}/admin/sso/saml/acs/", f"{SITE}/admin/sso/saml/metadata/"
NAMES = {
    "saml": "urn:oasis:names:tc:SAML:2.0:assertion",
    "samlp": "urn:oasis:names:tc:SAML:2.0:protocol",
    "ds": "http://www.w3.org/2000/09/xmldsig#",
}
REDIRECT = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect"
PERSISTENT = "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent"


@dataclass(frozen=True)
class Key:
    """A private key with its certificate, in PEM format."""

    private: bytes
    certificate: bytes
    method: str  #: of signatures


@cache
def key_pair(name: str) -> Key:
    """A self-signed certificate, always the same for the same name; that of "short" is weak."""
    sizes = {"provider": 2048, "short": 1024}
    key: Any = ec.generate_private_key(ec.SECP256R1())
    if name in sizes:
        key = rsa.generate_private_key(public_exponent=65537, key_size=sizes[name])
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    until = now + timedelta(days=365)
    builder = x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number(), now, until)
    certificate = builder.sign(key, hashes.SHA256())
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    method = "RSA_SHA256" if name in sizes else "ECDSA_SHA256"
    return Key(key.private_bytes(*form), certificate.public_bytes(serialization.Encoding.PEM), method)


@dataclass(frozen=True)
class Signing:
    """With which key and which algorithms, by their names in xmlsec."""

    key: str = "provider"
    method: str = ""  #: that of the key
    digest: str = "SHA256"
    canonical: str = "EXCL_C14N"
    transforms: tuple[str, ...] = ("ENVELOPED", "EXCL_C14N")

    def sign(self, element: Any) -> None:
        """Add the signature after the issuer, where the schema wants it."""
        key, context, ids = key_pair(self.key), xmlsec.SignatureContext(), xmlsec.Transform
        method = getattr(ids, self.method or key.method)
        signature = xmlsec.template.create(element, getattr(ids, self.canonical), method, ns="ds")
        element.find("saml:Issuer", NAMES).addnext(signature)
        reference = xmlsec.template.add_reference(signature, getattr(ids, self.digest), uri=f"#{element.get('ID')}")
        for transform in self.transforms:
            xmlsec.template.add_transform(reference, getattr(ids, transform))
        xmlsec.tree.add_ids(element, ["ID"])
        if self.method.startswith("HMAC"):
            context.key = xmlsec.Key.from_binary_data(xmlsec.KeyData.HMAC, key.certificate)
        else:
            context.key = xmlsec.Key.from_memory(key.private, xmlsec.KeyFormat.PEM)
        context.sign(signature)


@dataclass(frozen=True)
class Answer:
    """A response about Eva to the request with the id `to`; a test replaces what it needs."""

    to: str | None
    confirmed_to: str | None = "the same"
    destination: str | None = ACS
    recipient: str | None = ACS
    audiences: tuple[str, ...] = (ENTITY_ID,)
    issuer: str = ISSUER
    valid: tuple[int, int] = (-60, 300)  #: seconds from now
    confirmed_for: int | None = 300
    name_id: str = "eva-42"
    name_format: str = PERSISTENT
    attributes: Mapping[str, tuple[str, ...]] = field(
        default_factory=lambda: {"email": ("eva@example.org",), "name": ("Eva Editor",), "groups": ("news-editors",)}
    )
    status: str = "urn:oasis:names:tc:SAML:2.0:status:Success"
    assertion_id: str = ""
    signing: Signing | None = field(default_factory=Signing)
    signs_response: bool = False

    def but(self, **changes: Any) -> Answer:
        """The same, with changes."""
        return replace(self, **changes)

    def tree(self) -> Any:
        """The signed response."""
        root = etree.fromstring(self._text())
        if self.signing:
            self.signing.sign(root.find("saml:Assertion", NAMES))
            if self.signs_response:
                self.signing.sign(root)
        return root

    def encoded(self) -> str:
        """The value of the form's field."""
        return encoded(self.tree())

    def _text(self) -> str:
        now, (before, after) = datetime.now(UTC), self.valid
        confirmed_to = self.to if self.confirmed_to == "the same" else self.confirmed_to
        until = None if self.confirmed_for is None else _time(now, self.confirmed_for)
        confirmed = _attributes(Recipient=self.recipient, InResponseTo=confirmed_to, NotOnOrAfter=until)
        period = _attributes(NotBefore=_time(now, before), NotOnOrAfter=_time(now, after))
        audiences = "".join(
            f"<saml:AudienceRestriction><saml:Audience>{escape(one)}</saml:Audience></saml:AudienceRestriction>"
            for one in self.audiences
        )
        attributes = "".join(
            f"<saml:Attribute Name={quoteattr(name)}>"
            + "".join(f"<saml:AttributeValue>{escape(value)}</saml:AttributeValue>" for value in values)
            + "</saml:Attribute>"
            for name, values in self.attributes.items()
        )
        issued = _time(now, 0)
        return f"""<samlp:Response xmlns:samlp="{NAMES["samlp"]}" xmlns:saml="{NAMES["saml"]}" ID="_response"
          Version="2.0" IssueInstant="{issued}"{_attributes(Destination=self.destination, InResponseTo=self.to)}>
          <saml:Issuer>{ISSUER}</saml:Issuer>
          <samlp:Status><samlp:StatusCode Value="{self.status}"/></samlp:Status>
          <saml:Assertion ID="{self.assertion_id or f"_of{self.to}"}" Version="2.0" IssueInstant="{issued}">
            <saml:Issuer>{self.issuer}</saml:Issuer>
            <saml:Subject>
              <saml:NameID Format="{self.name_format}">{escape(self.name_id)}</saml:NameID>
              <saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer">
                <saml:SubjectConfirmationData{confirmed}/>
              </saml:SubjectConfirmation>
            </saml:Subject>
            <saml:Conditions{period}>{audiences}</saml:Conditions>
            <saml:AuthnStatement AuthnInstant="{issued}"><saml:AuthnContext><saml:AuthnContextClassRef
              >urn:oasis:names:tc:SAML:2.0:ac:classes:Password</saml:AuthnContextClassRef></saml:AuthnContext>
            </saml:AuthnStatement>
            <saml:AttributeStatement>{attributes}</saml:AttributeStatement>
          </saml:Assertion>
        </samlp:Response>"""


def encoded(response: Any) -> str:
    """A tree or bytes as the value of the form's field."""
    return base64.b64encode(response if isinstance(response, bytes) else etree.tostring(response)).decode()


def request_at(url: str) -> Any:
    """The request in the URL to which the user is redirected."""
    message = parse_qs(urlsplit(url).query)["SAMLRequest"][0]
    return etree.fromstring(zlib.decompress(base64.b64decode(message), -15))


def metadata(*keys: str, entity_id: str = ISSUER, valid_for: int | None = None, cached_for: str | None = None) -> bytes:
    """What the identity provider says of itself."""
    certificates = "".join(
        "<md:KeyDescriptor use='signing'><ds:KeyInfo><ds:X509Data><ds:X509Certificate>"
        + "".join(key_pair(key).certificate.decode().splitlines()[1:-1])
        + "</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>"
        for key in keys
    )
    until = None if valid_for is None else _time(datetime.now(UTC), valid_for)
    period = _attributes(validUntil=until, cacheDuration=cached_for)
    return f"""<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" xmlns:ds="{NAMES["ds"]}"
      entityID="{entity_id}"{period}><md:IDPSSODescriptor protocolSupportEnumeration="{NAMES["samlp"]}">{certificates}
      <md:SingleSignOnService{_attributes(Binding=REDIRECT, Location=SSO_URL)}/>
      </md:IDPSSODescriptor></md:EntityDescriptor>""".encode()


class Published:
    """A file of metadata on a web server: `text`, how often it was read, and a wrong length if there is one."""

    def __init__(self, url: str) -> None:
        self.url, self.text, self.count, self.length = url, b"", 0, 0


@contextmanager
def published() -> Iterator[Published]:
    """A web server on a free port; without text, it fails."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            file.count += 1
            self.send_response(200 if file.text else 500)
            self.send_header("Content-Length", str(file.length or len(file.text)))
            self.end_headers()
            self.wfile.write(file.text)

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        file = Published(f"http://127.0.0.1:{server.server_port}/metadata")
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield file
        server.shutdown()


def saml_settings(directory: Path, **changes: str) -> dict[str, str]:
    """The project's `SAML`, with the provider's certificate in a file."""
    certificate = directory / "certificate.pem"
    certificate.write_bytes(key_pair("provider").certificate)
    return {
        "idp_entity_id": ISSUER,
        "metadata": "",
        "sso_url": SSO_URL,
        "certificate": str(certificate),
        "sp_entity_id": "",
        "email_attribute": "email",
        "name_attribute": "name",
        "groups_attribute": "groups",
        **changes,
    }


def _time(now: datetime, seconds: int) -> str:
    return (now + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def _attributes(**values: str | None) -> str:
    return "".join(f" {name}={quoteattr(value)}" for name, value in values.items() if value is not None)
