"""Records the database of an earlier version for the short test: `python -m tests.upgrades.record`.

DATABASE_URL names an empty database of a running MariaDB, which is emptied again. A recording holds the dump and what
readers saw.
"""

from __future__ import annotations

import json
import lzma
import os
import sqlite3
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from tests.harness.schema import client
from tests.upgrades.points import make

RECORDED = "818c6ff5"
DIRECTORY = Path(__file__).with_name("recorded")


def main() -> None:
    """Record it on both databases."""
    with tempfile.TemporaryDirectory() as directory:
        record("mysql", os.environ["DATABASE_URL"], Path(directory))
    with tempfile.TemporaryDirectory() as directory:
        record("sqlite", f"sqlite:///{directory}/db.sqlite3", Path(directory))


def record(vendor: str, url: str, directory: Path) -> None:
    """Write the recording of one database."""
    seen = make(RECORDED, url, directory)
    dump = dump_mariadb(url) if vendor == "mysql" else dump_sqlite(directory / "db.sqlite3")
    content = json.dumps({"dump": dump, "seen": seen}, ensure_ascii=False).encode()
    DIRECTORY.mkdir(exist_ok=True)
    path_of(vendor).write_bytes(lzma.compress(content, preset=9))


def recorded(vendor: str) -> tuple[str, dict[str, Any]]:
    """The statements that make the database, and what its readers saw."""
    content = json.loads(lzma.decompress(path_of(vendor).read_bytes()))
    return content["dump"], content["seen"]


def path_of(vendor: str) -> Path:
    return DIRECTORY / f"{RECORDED}-{vendor}.json.xz"


def dump_mariadb(url: str) -> str:
    """The statements, after which the database is empty."""
    name = url.rpartition("/")[2]
    options = ("--skip-comments", "--skip-lock-tables", "--no-tablespaces", name)
    done = subprocess.run([*client("mariadb-dump", url), *options], capture_output=True, text=True, check=True)
    again = f"DROP DATABASE {name}; CREATE DATABASE {name} CHARACTER SET utf8mb4"
    subprocess.run([*client("mariadb", url), "-e", again], check=True)
    return done.stdout


def dump_sqlite(path: Path) -> str:
    """The file, as hexadecimal digits."""
    connection = sqlite3.connect(path)
    try:
        connection.execute("VACUUM")
        return connection.serialize().hex()
    finally:
        connection.close()


if __name__ == "__main__":
    main()
