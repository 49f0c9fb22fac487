"""Signatures of webhooks, as in Standard Webhooks (https://www.standardwebhooks.com)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Iterable

PREFIX = "whsec_"
_BYTES = 32


def new_secret() -> str:
    """A new secret of an endpoint."""
    return PREFIX + base64.b64encode(secrets.token_bytes(_BYTES)).decode()


def headers(message_id: str, at: int, body: str, keys: Iterable[str]) -> dict[str, str]:
    """The headers of an attempt at `at`, in seconds since 1970, with a signature by each of these secrets."""
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(at),
        "webhook-signature": " ".join(_signature(message_id, at, body, key) for key in keys),
    }


def _signature(message_id: str, at: int, body: str, key: str) -> str:
    signed = f"{message_id}.{at}.{body}".encode()
    digest = hmac.digest(base64.b64decode(key.removeprefix(PREFIX)), signed, hashlib.sha256)
    return f"v1,{base64.b64encode(digest).decode()}"
