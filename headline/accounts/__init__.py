"""Accounts: log-in throttling, password reset, and audit entries for users and groups."""
