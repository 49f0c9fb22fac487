"""Static files storage with hashed names."""

from __future__ import annotations

from whitenoise.storage import CompressedManifestStaticFilesStorage


class StaticFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]  # whitenoise has no types
    """Hashed names, which may be cached for ever, once `collectstatic` has run.

    Before that, or for unknown files, the plain name: a missing style sheet must not break the page.
    """

    def stored_name(self, name: str) -> str:
        """The hashed name, or `name` itself."""
        return str(self.hashed_files.get(self.hash_key(self.clean_name(name)), name))
