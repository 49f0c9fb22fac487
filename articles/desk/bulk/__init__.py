"""Bulk actions in the admin."""
