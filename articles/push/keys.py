"""Encryption of push messages (RFC 8291), and VAPID, by which push services know this site (RFC 8292)."""

from __future__ import annotations

import base64
import time
from binascii import Error as WrongBase64
from functools import lru_cache

import http_ece
import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.conf import settings

_CURVE = ec.SECP256R1()
_AUTH_BYTES, _POINT_BYTES = 16, 65
_VALID = 12 * 3600  # seconds; services refuse more than a day
_RENEWED = 3600


class WrongKey(ValueError):
    """The key of a browser or of this site is none."""


def encode(data: bytes) -> str:
    """Base64 for URLs, without padding."""
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def decode(text: str) -> bytes:
    """The bytes of base64 for URLs, with or without padding. Raises `WrongKey`."""
    bare = text.rstrip("=")
    padding = "=" * (-len(bare) % 4)
    if text not in (bare, bare + padding):  # padded without end, it would fit into no column
        raise WrongKey
    try:
        return base64.b64decode(bare + padding, altchars=b"-_", validate=True)
    except (WrongBase64, ValueError) as error:
        raise WrongKey from error


def new_key() -> str:
    """A new private key, as in `PUSH_KEY`."""
    return encode(ec.generate_private_key(_CURVE).private_numbers().private_value.to_bytes(32, "big"))


@lru_cache(maxsize=2)
def _private(key: str) -> ec.EllipticCurvePrivateKey:
    try:
        return ec.derive_private_key(int.from_bytes(decode(key), "big"), _CURVE)
    except ValueError as error:
        raise WrongKey from error


def _point(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def public_key() -> str:
    """What browsers subscribe with; "" while push is off. Raises `WrongKey`."""
    return encode(_point(_private(settings.PUSH_KEY))) if settings.PUSH_KEY else ""


def authorization(origin: str) -> str:
    """The header for a push service, signed seldom: one is valid for all messages to it."""
    return _authorization(settings.PUSH_KEY, settings.SITE_URL, origin, int(time.time()) // _RENEWED)


@lru_cache(maxsize=64)
def _authorization(key: str, contact: str, origin: str, hour: int) -> str:
    claims = {"aud": origin, "exp": hour * _RENEWED + _VALID, "sub": contact}
    token = jwt.encode(claims, _private(key), algorithm="ES256")
    return f"vapid t={token}, k={encode(_point(_private(key)))}"


def check_keys(p256dh: str, auth: str) -> None:
    """Raise `WrongKey` unless these are a point of the curve and a secret of 16 bytes."""
    point = decode(p256dh)
    if len(point) != _POINT_BYTES or len(decode(auth)) != _AUTH_BYTES:
        raise WrongKey
    try:
        ec.EllipticCurvePublicKey.from_encoded_point(_CURVE, point)
    except ValueError as error:
        raise WrongKey from error


def encrypt(text: str, p256dh: str, auth: str) -> bytes:
    """The body of a message for a browser with these keys."""
    own = ec.generate_private_key(_CURVE)
    body: bytes = http_ece.encrypt(text.encode(), private_key=own, dh=decode(p256dh), auth_secret=decode(auth))
    return body
