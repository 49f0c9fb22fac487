"""Browsers that subscribe to pushes, for Headline and for its peers: who has what they print can send to them."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

PUSH_KEY = "AQEB" * 10 + "AQE"
"""The key of the sender; any number is one."""


def browsers(url: str, count: int) -> Iterator[tuple[str, str, str]]:
    """Address, key and secret of each, all with keys of their own."""
    for number in range(count):
        key = ec.generate_private_key(ec.SECP256R1()).public_key()
        point = key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        yield f"{url}/{number}", _encode(point), _encode(os.urandom(16))


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
