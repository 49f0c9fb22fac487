"""Feeds of streams as RSS 2.0, Atom and JSON Feed."""
