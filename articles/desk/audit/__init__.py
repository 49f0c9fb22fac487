"""The admin of the audit log."""
