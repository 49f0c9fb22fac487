"""The tables that migrations create: copied into each test database, and kept for later runs of the same code."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.harness.processes import base_dir

MARIADB = "schema.sql"
SQLITE = "schema.sqlite3"

KEPT = base_dir / ".pytest_cache" / "schema"
"""The newest tables of each database, under the digest of the code that made them."""
SOURCES = tuple(base_dir / name for name in ("articles", "headline", "scheduling", "tests/probe", "tests/settings.py"))
"""Migrations import much of the project, such as the triggers of a table."""


@contextmanager
def shared_schema(database: dict[str, Any], name: str) -> Iterator[Callable[[], None]]:
    """In this block, create the test database `name` by migrations, then call what this yields.

    Later processes, which wait until then, and later runs, until a module or a package is another, get a copy to begin
    with. They get none of a database that was not finished.
    """
    is_sqlite = database["ENGINE"].endswith("sqlite3")
    directory = Path(os.environ["TEST_DIRECTORY"])
    copy = directory / (SQLITE if is_sqlite else MARIADB)
    url = "" if is_sqlite else os.environ["DATABASE_URL"].rpartition("/")[0] + f"/{name}"
    with open(directory / "schema.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        kept = KEPT / f"{_digest(is_sqlite=is_sqlite)}-{copy.name}"
        if not copy.exists():
            with suppress(FileNotFoundError):
                shutil.copyfile(kept, copy)
        is_copied = copy.exists()

        def share() -> None:
            if not is_copied:
                shutil.copyfile(name, copy) if is_sqlite else _dump(url, copy)
                _keep(copy, kept)
            lock.close()

        if is_copied:
            shutil.copyfile(copy, name) if is_sqlite else load(url)
            lock.close()
        yield share


def _digest(*, is_sqlite: bool) -> str:
    """What the tables depend on: modules of the project, installed packages, Python and the database's version."""
    digest = hashlib.sha256(sys.version.encode())
    for source in SOURCES:
        for file in sorted(source.rglob("*.py")) or [source]:
            digest.update(f"\0{file.relative_to(source)}\0".encode() + file.read_bytes())
    for place in filter(os.path.isdir, sys.path):
        digest.update("\0".join(sorted(path.name for path in Path(place).glob("*.dist-info"))).encode())
    if not is_sqlite:
        program = "mysqld" if os.environ.get("TEST_DATABASE") == "mysql" else "mariadbd"
        digest.update(subprocess.run([program, "--version"], capture_output=True, check=True).stdout)
    return digest.hexdigest()


def _keep(copy: Path, kept: Path) -> None:
    """Keep the tables for later runs instead of those kept before, where the project's folder can be written."""
    with suppress(PermissionError):
        KEPT.mkdir(parents=True, exist_ok=True)
        for other in KEPT.glob(f"*-{copy.name}"):
            other.unlink(missing_ok=True)
        part = KEPT / f"{os.getpid()}.part"
        shutil.copyfile(copy, part)
        part.rename(kept)


def is_dumped() -> bool:
    """Whether MariaDB's tables can be loaded."""
    return (Path(os.environ.get("TEST_DIRECTORY", "/nonexistent")) / MARIADB).exists()


def load(url: str) -> None:
    """Create the database if it does not exist, and fill it with the tables and their first rows."""
    subprocess.run([*client("mariadb", url), "-e", f"CREATE DATABASE IF NOT EXISTS {_name(url)}"], check=True)
    with open(Path(os.environ["TEST_DIRECTORY"]) / MARIADB, "rb") as file:
        subprocess.run([*client("mariadb", url), _name(url)], stdin=file, check=True)


def _dump(url: str, path: Path) -> None:
    part = path.with_suffix(".part")
    with open(part, "wb") as file:
        subprocess.run([*client("mariadb-dump", url), "--skip-lock-tables", _name(url)], stdout=file, check=True)
    part.rename(path)


def client(program: str, url: str) -> list[str]:
    """A client of MariaDB, and the options by which it finds the server."""
    parts = urlsplit(url)
    return [program, "-h", f"{parts.hostname}", "-P", f"{parts.port}", "-u", f"{parts.username}", f"-p{parts.password}"]


def _name(url: str) -> str:
    return urlsplit(url).path[1:]
