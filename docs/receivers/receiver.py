"""Verify a webhook: pip install standardwebhooks."""

from typing import Any

from standardwebhooks import Webhook


def receive(secret: str, body: str, headers: dict[str, str]) -> Any:
    """The message. Raises WebhookVerificationError if it is not from the newsroom, or older than five minutes."""
    return Webhook(secret).verify(body, headers)
