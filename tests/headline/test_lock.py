"""requirements*.lock: the pins of requirements*.txt and all that they need, with hashes."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, metadata, requires

import pytest
from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

from tests.harness import base_dir

NAMES = ("requirements", "requirements-dev", "requirements-ldap", "requirements-saml", "requirements-telemetry")
Locked = dict[NormalizedName, tuple[str, int]]

each = pytest.mark.parametrize("name", NAMES)


def pins(name: str) -> list[Requirement]:
    """What the file lists."""
    lines = (base_dir / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return [Requirement(line) for line in lines if not line.startswith(("#", "-r"))]


def locked(name: str) -> Locked:
    """Version and number of hashes of each package."""
    lock = (base_dir / f"{name}.lock").read_text(encoding="utf-8")
    packages = re.findall(r"^([\w.-]+)==(\S+)((?:.*\\\n)*.*\n)", lock, re.MULTILINE)
    return {canonicalize_name(name): (version, rest.count("--hash=sha256:")) for name, version, rest in packages}


@each
def test_the_lock_has_the_pinned_versions(name: str) -> None:
    lock = locked(name)
    found = {pin.name: lock.get(canonicalize_name(pin.name), ("none", 0))[0] for pin in pins(name)}
    assert found == {pin.name: str(pin.specifier).removeprefix("==") for pin in pins(name)}, "run: make lock"


@each
def test_every_package_has_hashes(name: str) -> None:
    assert len(locked(name)) > len(pins(name))
    assert [package for package, (_version, hashes) in locked(name).items() if not hashes] == []


@each
def test_the_lock_has_all_that_its_packages_need(name: str) -> None:
    extras = {canonicalize_name(pin.name): pin.extras for pin in [*pins("requirements"), *pins(name)]}
    lock = locked(name)
    missing = {(one, needed) for one in lock for needed in _needs(one, extras.get(one, set())) - lock.keys()}
    assert missing == set(), "run: make lock"


@pytest.mark.parametrize("name", NAMES[1:])
def test_the_locks_have_the_same_versions(name: str) -> None:
    both, other = locked("requirements"), locked(name)
    assert {package: other[package] for package in both.keys() & other} == {
        package: both[package] for package in both.keys() & other
    }


def test_tests_run_on_what_is_installed_in_production() -> None:
    assert locked("requirements").keys() <= locked("requirements-dev").keys()


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


@pytest.mark.parametrize("file", ["Containerfile", "Makefile", "docs/operations.md", "docs/sign-in.md"])
def test_installations_check_the_hashes(file: str) -> None:
    lines = re.findall(
        r"^.*requirements(?:-dev|-ldap|-saml|-telemetry)?\.(?:txt|lock).*$", (base_dir / file).read_text(), re.MULTILINE
    )
    installs = [line for line in lines if "install" in line]
    assert installs
    assert [line for line in installs if "--require-hashes -r" not in line] == []


def test_the_licences_of_all_packages_are_listed() -> None:
    """As they declare them themselves, if they do so by identifiers of SPDX."""
    page = (base_dir / "docs" / "licences.md").read_text()
    lines = re.findall(r"^\* (.+): (`.*)$", page, re.MULTILINE)
    listed = {canonicalize_name(name): licence for licence, names in lines for name in re.findall("`(.+?)`", names)}
    lock = (base_dir / "requirements.lock").read_text(encoding="utf-8")
    elsewhere = {name for name, text in re.findall(r"^([\w.-]+)==(.*)", lock, re.MULTILINE) if " ; " in text}
    assert listed.keys() <= locked("requirements").keys(), "run: make sbom"
    assert locked("requirements").keys() - listed.keys() <= elsewhere, "run: make sbom"
    given = {name: metadata(name).get_all("License-Expression") or [] for name in listed}
    declared = {name: licence for name, licences in given.items() for licence in licences}
    assert declared == {name: listed[name] for name in declared}, "run: make sbom"
