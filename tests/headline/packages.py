"""Which installed packages a newsroom on SQLite needs, and a newsroom without the others."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterable
from importlib.metadata import packages_distributions, requires
from pathlib import Path

from tests.harness import base_dir, python

NEEDED = frozenset(
    {
        *("cryptography", "django", "django-allauth", "django-crontab", "django-filter", "django-js-asset"),
        *("django-prometheus", "django-prose-editor", "django-stubs-ext", "django-unfold", "djangorestframework"),
        *("drf-spectacular", "drf-spectacular-sidecar", "http-ece", "icalendar", "nh3", "opencc", "pillow"),
        *("pyahocorasick", "pyjwt", "redis", "requests", "snowballstemmer", "tzdata", "whitenoise"),
    }
)
"""Those of requirements.txt without which `make run` does not work: it has no compiler, so they need wheels or
are Python alone."""

OF_DEVELOPERS = {"requirements-bench.txt", "requirements-dev.txt"}


def optional_modules() -> set[str]:
    """The top-level modules of all other packages of requirements*.txt, and of what only those require."""
    files = [file for file in base_dir.glob("requirements*.txt") if file.name not in OF_DEVELOPERS]
    chosen = set().union(*(_pinned(file.read_text()) for file in files))
    locked = set().union(*(_pinned(file.with_suffix(".lock").read_text()) for file in files))
    modules = {module: set(map(_normal, names)) for module, names in packages_distributions().items()}
    installed = set().union(*modules.values())
    assert chosen <= installed, f"{chosen - installed} are not installed"
    everywhere = _pinned((base_dir / "requirements.lock").read_text())
    optional = locked - _with_requirements(NEEDED, installed & everywhere - (chosen - NEEDED))
    return {module for module, names in modules.items() if names <= optional and module.isidentifier()}


def _pinned(text: str) -> set[str]:
    return {_normal(name) for name in re.findall(r"^([\w.-]+)(?:\[.+\])?==", text, re.MULTILINE)}


def _with_requirements(names: Iterable[str], among: set[str]) -> set[str]:
    found, new = set[str](), set(names)
    while new:
        found |= new
        new = {_name(text) for name in new for text in requires(name) or ()} & among - found
    return found


def _name(requirement: str) -> str:
    return _normal(re.split(r"[^\w.-]", requirement, maxsplit=1)[0])


def _normal(name: str) -> str:
    """The name as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def run_newsroom(directory: Path, *, lacking: Iterable[str], watched: Iterable[str], is_new: bool) -> set[str]:
    """Run it from its first command to a published article; returns which of the watched modules were asked for.

    AssertionError if it fails. In a new process, as one with imported libraries has looked for all modules. `directory`
    has its database, or gets one, with the articles of the demo if it `is_new`.
    """
    program = base_dir / "tests" / "headline" / "newsroom_without.py"
    variables = {"DJANGO_SETTINGS_MODULE": "headline.settings", "DJANGO_DEBUG": "on", "DATA_DIR": str(directory)}
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(base_dir), "PYTHONSAFEPATH": "1", **variables}
    command = [python, str(program), ",".join(lacking), ",".join(watched), *([] if is_new else ["again"])]
    done = subprocess.run(command, cwd=base_dir, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"without {sorted(lacking)}:\n{done.stderr}"
    return set(json.loads(done.stdout))
