"""Task handlers of accounts."""

from __future__ import annotations

from headline.accounts.links import mail_links

__all__ = ["mail_links"]
