"""requirements.lock: the pins of requirements.txt and all that they need, with hashes, and their licences."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, requires

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.harness import base_dir

PINS = [
    Requirement(line)
    for line in (base_dir / "requirements.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
]
LOCK = (base_dir / "requirements.lock").read_text(encoding="utf-8")
LOCKED = {
    canonicalize_name(name): (version, rest.count("--hash=sha256:"))
    for name, version, rest in re.findall(r"^([\w.-]+)==(\S+)((?:.*\\\n)*.*\n)", LOCK, re.MULTILINE)
}


def test_the_lock_has_the_pinned_versions() -> None:
    found = {pin.name: LOCKED.get(canonicalize_name(pin.name), ("none", 0))[0] for pin in PINS}
    assert found == {pin.name: str(pin.specifier).removeprefix("==") for pin in PINS}, "run: make lock"


def test_every_package_has_hashes() -> None:
    assert len(LOCKED) > len(PINS)
    assert [name for name, (_version, hashes) in LOCKED.items() if not hashes] == []


def test_the_lock_has_all_that_its_packages_need() -> None:
    extras = {canonicalize_name(pin.name): pin.extras for pin in PINS}
    missing = {(name, needed) for name in LOCKED for needed in _needs(name, extras.get(name, set())) - LOCKED.keys()}
    assert missing == set(), "run: make lock"


def _needs(name: str, extras: set[str]) -> set[str]:
    try:
        needed = map(Requirement, requires(name) or [])
    except PackageNotFoundError:  # for another platform
        return set()
    chosen = ["", *extras]
    return {
        canonicalize_name(one.name)
        for one in needed
        if not one.marker or any(one.marker.evaluate({"extra": extra}) for extra in chosen)
    }


@pytest.mark.parametrize("file", ["Containerfile", "Makefile", "docs/operations.md"])
def test_installations_check_the_hashes(file: str) -> None:
    lines = re.findall(r"^.*requirements\.(?:txt|lock).*$", (base_dir / file).read_text(), re.MULTILINE)
    installs = [line for line in lines if "install" in line]
    assert installs
    assert [line for line in installs if "--require-hashes -r" not in line] == []


def test_the_licences_of_all_packages_are_listed() -> None:
    listed = re.findall(r"^\| ([\w.-]+) \|", (base_dir / "docs" / "licences.md").read_text(), re.MULTILINE)
    elsewhere = {name for name, text in re.findall(r"^([\w.-]+)==(.*)", LOCK, re.MULTILINE) if " ; " in text}
    assert LOCKED.keys() - set(map(canonicalize_name, listed)) <= elsewhere, "run: make sbom"
