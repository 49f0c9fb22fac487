"""The admin of releases."""
