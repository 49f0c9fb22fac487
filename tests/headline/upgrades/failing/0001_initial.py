"""The tables of the test app, as they are."""

from __future__ import annotations

from importlib import import_module

Migration = import_module("tests.probe.migrations.0001_initial").Migration
