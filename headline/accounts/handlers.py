"""Task handlers of accounts."""

from __future__ import annotations

from headline.accounts.reset import mail_reset

__all__ = ["mail_reset"]
