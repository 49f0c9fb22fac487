"""Where templates find style sheets and scripts."""

from __future__ import annotations

from whitenoise.storage import CompressedManifestStaticFilesStorage


class StaticFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]  # whitenoise has no types
    """Names that change with the content, to be cached for ever, once `collectstatic` has made them.

    Before that, or for a file it has not seen, the plain name: a missing style sheet must not cost the page.
    """

    def stored_name(self, name: str) -> str:
        """The hashed name, or `name` itself."""
        return str(self.hashed_files.get(self.hash_key(self.clean_name(name)), name))
