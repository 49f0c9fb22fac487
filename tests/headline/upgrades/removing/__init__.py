"""Migrations of the test app that tests of upgrades apply."""
