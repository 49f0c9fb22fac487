"""Fixtures for tests on a new Debian: its root, a disk, and the repository that is installed there."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.harness import base_dir
from tests.replay.machine import Disk, NoMachine, check_possible, debian

RootWith = Callable[..., Path]


@pytest.fixture(scope="session")
def root_with() -> RootWith:
    """`root_with("git")` is a root of Debian. Where none can be made, the test says so and skips; in CI it fails."""

    def make(*packages: str) -> Path:
        try:
            check_possible()
            return debian(packages)
        except NoMachine as error:
            (pytest.fail if os.environ.get("CI") else pytest.skip)(str(error))

    return make


@pytest.fixture
def disk() -> Iterator[Path]:
    """A directory for the machine's files."""
    with Disk() as disk:
        yield disk.path


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository: this version, and later a version with a migration and another page."""
    path = tmp_path_factory.mktemp("source") / "headline"
    state = git(base_dir, "stash", "create") or "HEAD"
    git(base_dir, "clone", "--quiet", str(base_dir), str(path))
    git(path, "fetch", "--quiet", str(base_dir), git(base_dir, "rev-parse", state))
    git(path, "checkout", "--quiet", "-B", "main", "FETCH_HEAD")
    return path


def git(directory: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=directory, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.strip()
