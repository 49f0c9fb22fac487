"""The files of the media storage: this machine's directory, or a bucket."""

from __future__ import annotations

from collections.abc import Iterator

from django.core.files.storage import default_storage

from headline.media_probe import PREFIX


def media_files(folder: str = "") -> Iterator[str]:
    """The names of all files, except those of probes."""
    try:
        folders, files = default_storage.listdir(folder)
    except FileNotFoundError:
        return
    start = f"{folder}/" if folder else ""
    yield from (f"{start}{name}" for name in files if name and not (start + name).startswith(PREFIX))
    for name in folders:
        yield from media_files(f"{start}{name}")
