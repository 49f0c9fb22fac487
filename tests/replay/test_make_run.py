"""The README's first command on a Debian that has what the README asks for, and nothing else."""

from __future__ import annotations

import re
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from html import unescape
from pathlib import Path

import pytest

from tests.harness import Process, eventually, free_port, python
from tests.replay.conftest import RootWith
from tests.replay.machine import Machine

pytestmark = pytest.mark.bare

PACKAGES = ("git", "make", "python3", "python3-venv")
LONGEST = 3600.0
"""Seconds after which the command hangs; it downloads packages."""
COMMAND = "cd && git clone --quiet /srv/headline && cd headline && exec make run"
HOLDER = """
import sys
from pathlib import Path
from tests.replay.machine import Disk, Machine
with Disk() as disk, Machine(Path(sys.argv[1]), disk.path, online=True) as machine:
    machine.start("sleep infinity", user="daemon")
    machine.check("touch /new")
    print("holds", disk.path, flush=True)
    machine.check("sleep infinity")
"""


def test_make_run_ends_in_articles_that_go_live(source: Path, disk: Path, root_with: RootWith) -> None:
    port = free_port()
    with Machine(root_with(*PACKAGES), disk, online=True) as machine:
        assert machine.run("command -v cc gcc pkg-config mariadb_config mariadb curl")[1] == "", "the root is not bare"
        machine.copy(source, "/srv/headline")
        machine.check("useradd --create-home reader && chown --recursive reader /srv/headline")
        run = machine.start(f"{COMMAND} PORT={port}", user="reader")
        wait(run, "the front page", lambda: front_page(port))
        wait(run, "an article that has gone live", lambda: any(title in front_page(port) for title in promised(run)))
        run.wait_for("published 1 article", LONGEST)
        machine.check("kill -INT -- -$(cat /tmp/group)")
        run.wait(LONGEST)
        assert not front_page(port)


def wait(run: Process, what: str, condition: Callable[[], object]) -> None:
    """Wait for something while the command runs."""
    eventually(lambda: condition() or not run.alive(), LONGEST, f"no {what}:\n{run.output}")
    assert run.alive(), run.output


def promised(run: Process) -> list[str]:
    """The titles that the command lists as going live by themselves."""
    rows = re.findall(r"^  \d{4}-\d\d-\d\d \d\d:\d\d:\d\d  (.+)", run.output, re.MULTILINE)
    return [re.split(r"\s{2,}", row, maxsplit=1)[1] for row in rows]


def front_page(port: int) -> str:
    """The text of the page; empty while there is none."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=60) as response:
            return unescape(response.read().decode())
    except OSError:
        return ""


def test_a_run_that_was_ended_by_force_leaves_no_mount_and_no_file(root_with: RootWith) -> None:
    root = root_with(*PACKAGES)
    with Process([python, "-c", HOLDER, str(root)]) as run:
        run.wait_for("holds", LONGEST)
        directory = run.output.split()[-1]
        processes = in_namespace(directory)
        assert processes
        run.kill()
    eventually(lambda: not any(process.exists() for process in processes), 120)
    eventually(lambda: not Path(directory).exists(), 120)
    assert not (root / "new").exists()
    assert (root / "bin" / "sh").exists()
    assert Path("/dev/null").is_char_device()


def in_namespace(directory: str) -> list[Path]:
    """The processes in whose namespace something is mounted in the directory."""
    found = []
    for file in Path("/proc").glob("[0-9]*/mountinfo"):
        with suppress(OSError):  # the process has ended
            found += [file.parent] if directory in file.read_text() else []
    return found
