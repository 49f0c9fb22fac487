"""The backup file: a zip with a manifest, a file of JSON lines for each table, and the images.

A zip has its directory at the end, so a truncated file cannot be opened; the manifest has a SHA-256 of each member.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import IO, Any, Self
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

FORMAT = 1
TABLES, MEDIA = "database/", "media/"
_MANIFEST = "manifest.json"
_CHUNK = 1024 * 1024
_EARLIEST = (1980, 1, 1, 0, 0, 0)  # the same for all members; zip knows no earlier time
_PRIVATE = 0o600


REFUSED = 2
"""The exit code if nothing was written or restored."""


class BackupError(Exception):
    """A backup cannot be made or restored; the message says why and what to do."""

    def __init__(self, message: str, *, returncode: int = REFUSED) -> None:
        super().__init__(message)
        self.returncode = returncode


@dataclass
class Manifest:
    """What a backup contains, and the version that made it."""

    version: str
    taken_at: str  #: the database's time of the snapshot, ISO 8601
    migrations: list[list[str]]  #: applied ones, as app and name
    settings: dict[str, str]  #: environment variables without secrets
    unsaved: list[str]  #: environment variables that may contain secrets
    rows: dict[str, int] = field(default_factory=dict)  #: by table
    digests: dict[str, str] = field(default_factory=dict)  #: SHA-256 by member
    sizes: dict[str, int] = field(default_factory=dict)  #: bytes by member
    next_ids: dict[str, int] = field(default_factory=dict)  #: by table
    missing: list[str] = field(default_factory=list)  #: files of images that the storage lacked
    format: int = FORMAT

    @property
    def moment(self) -> datetime:
        """The time of the snapshot."""
        return datetime.fromisoformat(self.taken_at)

    @property
    def nodes(self) -> set[tuple[str, str]]:
        """The applied migrations."""
        return {(app, name) for app, name in self.migrations}

    @property
    def media(self) -> list[str]:
        """Names of the images' files."""
        return [name.removeprefix(MEDIA) for name in self.digests if name.startswith(MEDIA)]

    def bytes_of(self, folder: str) -> int:
        """Size of the members below `folder`, uncompressed."""
        return sum(size for name, size in self.sizes.items() if name.startswith(folder))


class Writer:
    """Writes the members of a backup, and the manifest last."""

    def __init__(self, file: IO[bytes], manifest: Manifest) -> None:
        self._zip = ZipFile(file, "w")
        self.manifest = manifest

    def add(self, name: str, chunks: Iterable[bytes], *, compressed: bool) -> None:
        """Add a member."""
        info = ZipInfo(name, _EARLIEST)
        info.compress_type = ZIP_DEFLATED if compressed else ZIP_STORED
        info.external_attr = _PRIVATE << 16
        digest, size = sha256(), 0
        with self._zip.open(info, "w", force_zip64=True) as member:
            for chunk in chunks:
                digest.update(chunk)
                size += member.write(chunk)
        self.manifest.digests[name], self.manifest.sizes[name] = digest.hexdigest(), size

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        """Write the manifest and the directory; after an error, only give up the file."""
        if kind is None:
            self._zip.writestr(ZipInfo(_MANIFEST, _EARLIEST), json.dumps(asdict(self.manifest), indent=1))
            self._zip.close()
        else:
            with suppress(OSError):
                self._zip.close()


class ArchiveReader:
    """A backup file that was opened; a context manager. Raises `BackupError`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with ExitStack() as stack, _damage(path):
            self._zip = stack.enter_context(ZipFile(path))
            self.manifest = self._read_manifest(path)
            stack.pop_all()

    def _read_manifest(self, path: Path) -> Manifest:
        values = json.loads(self._zip.read(_MANIFEST))
        if values["format"] != FORMAT:
            raise BackupError(f"{path} has the format {values['format']}: install the version that made it, or newer.")
        manifest = Manifest(**values)
        _check(manifest)
        return manifest

    def verify(self) -> None:
        """Read the whole file and compare the checksums."""
        for name, digest in self.manifest.digests.items():
            found = sha256()
            for chunk in self.chunks(name):
                found.update(chunk)
            if found.hexdigest() != digest:
                raise BackupError(f"{self._path} is damaged at {name}: copy it again, or use another backup.")

    def chunks(self, name: str) -> Iterator[bytes]:
        """The content of a member."""
        with _damage(self._path), self._zip.open(name) as member:
            while chunk := member.read(_CHUNK):
                yield chunk

    def lines(self, name: str) -> Generator[Any, None, None]:
        """The content of a member with JSON lines."""
        with _damage(self._path), self._zip.open(name) as member:
            yield from map(json.loads, member)

    def open(self, name: str) -> IO[bytes]:
        """A member as a file."""
        return self._zip.open(name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._zip.close()


def _check(manifest: Manifest) -> None:
    """Raise `ValueError` if it does not describe its members, or has names that lead out of the media directory."""
    if manifest.moment.utcoffset() is None:
        raise ValueError("its time has no zone")
    members = {f"{TABLES}{table}.jsonl" for table in manifest.rows} | {f"{MEDIA}{name}" for name in manifest.media}
    if not members == manifest.digests.keys() == manifest.sizes.keys():
        raise ValueError("its lists of members differ")
    if wrong := next((name for name in manifest.media if not _is_plain(name)), None):
        raise ValueError(f"{wrong!r} is no name of an image")


def _is_plain(name: str) -> bool:
    """Whether it is a path below the media directory, in its only spelling."""
    path = PurePosixPath(name)
    is_inside = not path.is_absolute() and ".." not in path.parts
    return is_inside and str(path) == name and name.isprintable() and "\\" not in name


@contextmanager
def _damage(path: Path) -> Iterator[None]:
    """Turn the errors of damaged files, which may be of any kind, into one that says what to do."""
    try:
        yield
    except BackupError:
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.strerror:
            raise BackupError(f"{path} cannot be read ({error.strerror}): name another file.") from error
        message = f"{path} is no complete backup ({error}): it may be truncated. Copy it again, or use another backup."
        raise BackupError(message) from error
