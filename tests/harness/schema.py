"""The tables that migrations create: migrated once per run, and copied for each worker and each stand."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

MARIADB = "schema.sql"
SQLITE = "schema.sqlite3"


@contextmanager
def shared_schema(database: dict[str, Any], name: str) -> Iterator[None]:
    """Create the test database `name` in this block, by migrations; later processes get a copy to begin with.

    Until the block ends, other processes wait.
    """
    is_sqlite = database["ENGINE"].endswith("sqlite3")
    directory = Path(os.environ["TEST_DIRECTORY"])
    copy = directory / (SQLITE if is_sqlite else MARIADB)
    url = "" if is_sqlite else os.environ["DATABASE_URL"].rpartition("/")[0] + f"/{name}"
    with open(directory / "schema.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not copy.exists():
            yield
            shutil.copyfile(name, copy) if is_sqlite else _dump(url, copy)
            return
    shutil.copyfile(copy, name) if is_sqlite else load(url)
    yield


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
