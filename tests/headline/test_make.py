"""The targets of the Makefile and the build server's scripts."""

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


def test_make_alone_lists_every_command_by_purpose() -> None:
    listed = subprocess.run(["make", "--silent"], cwd=base_dir, capture_output=True, text=True, check=True).stdout
    assert len(re.findall(r"^\n[A-Z].*\nmake ", listed, re.MULTILINE)) == 6
    assert re.findall(r"^make ([\w-]+)", listed, re.MULTILINE) == [
        "help",
        "run",
        "test",
        "thorough",
        "test-fast",
        "lint",
        "bench",
        "bench-short",
        "chaos",
        "recovery",
        "overload",
        "attacks",
        "mutants",
        "fuzz",
        "previews",
        "growth",
        "api-check",
        "model",
        "clusters",
        "alerts",
        "databases",
        "upgrades",
        "replay",
        "bare",
        "screens",
        "lock",
        "sbom",
        "clean",
    ]


@pytest.mark.thorough
def test_the_fast_tests_start_no_server(tmp_path: Path) -> None:
    """Programs that would leave a trace come before the real ones in PATH."""
    programs = ("mariadb-install-db", "mariadbd", "redis-server", "varnishd", "chromium", "chromium-headless-shell")
    for name in programs:
        (tmp_path / name).write_text(f'#!/bin/sh\necho "$0" >> {tmp_path}/started\nexit 1\n')
        (tmp_path / name).chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if "PYTEST" not in name}
    environment["PATH"] = f"{tmp_path}:{os.environ['PATH']}"
    chosen = "TESTS=--numprocesses=1 tests/articles/text/test_sanitize.py::test_sanitising_is_idempotent"
    command = ["make", "--assume-old=.venv/test", "test-fast", chosen]
    done = subprocess.run(command, cwd=base_dir, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout
    assert not (tmp_path / "started").exists()


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


def test_the_build_server_lints_tests_and_starts_a_newsroom_on_a_bare_debian() -> None:
    script = base_dir / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert script.read_text().splitlines()[-4:] == ["make lint", "make test-fast", "make bare", "make test"]


def test_the_build_server_takes_screenshots() -> None:
    script = base_dir / ".ci" / "screens"
    assert os.access(script, os.X_OK)
    assert script.read_text().splitlines()[-1] == "make screens"
