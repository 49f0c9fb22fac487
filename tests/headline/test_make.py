"""What `make` promises."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import urllib.request
from pathlib import Path

import pytest

from tests.conftest import database_environment
from tests.harness import Process, base_dir, eventually, free_port, python

HONCHO = str(Path(python).parent / "honcho")


def test_make_alone_lists_every_command() -> None:
    listed = subprocess.run(["make", "--silent"], cwd=base_dir, capture_output=True, text=True, check=True).stdout
    assert re.findall(r"^make (\w+)", listed, re.MULTILINE) == [
        "help",
        "run",
        "test",
        "lint",
        "bench",
        "chaos",
        "screens",
        "clean",
    ]


@pytest.mark.usefixtures("transactional_db")
def test_web_server_and_worker_start_and_stop_together() -> None:
    port = free_port()
    with Process([HONCHO, "start", "--port", str(port)], env=database_environment()) as everything:
        everything.wait_for("articles.publish")
        eventually(lambda: _responses(port))
        children = _children(everything.pid)
        assert len(children) >= 2
        everything.send_signal(signal.SIGINT)
        assert everything.wait() == 128 + signal.SIGINT
    assert not [child for child in children if Path(f"/proc/{child}").exists()]


def _responses(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/admin/login/") as response:
            return bool(response.status == 200)
    except OSError:
        return False


def _children(pid: int) -> list[str]:
    """All processes below `pid`."""
    direct = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return direct + [child for parent in direct for child in _children(int(parent))]


def test_the_build_server_lints_and_then_tests() -> None:
    script = base_dir / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert script.read_text().splitlines()[-2:] == ["make lint", "make test"]
