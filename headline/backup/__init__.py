"""Backups: one file with a consistent snapshot of database, images and settings, and restoring it silently."""
