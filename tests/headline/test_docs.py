"""What the docs say is so: every setting, variable and command is described, every link leads somewhere."""

from __future__ import annotations

import re

import pytest
from django.core.management import get_commands

from articles.review.checks import NAMES
from scheduling.conf import Settings
from tests.harness import base_dir

DOCS = [*sorted((base_dir / "docs").glob("*.md")), base_dir / "README.md", base_dir / "CHANGELOG.md"]
OURS = ("scheduling", "articles", "headline")


def read(name: str) -> str:
    return (base_dir / name).read_text(encoding="utf-8")


def test_every_engine_setting_is_described_with_its_default() -> None:
    described = dict(re.findall(r"^\| `SCHEDULING_(\w+)` \| `(.*?)` \|", read("docs/settings.md"), re.MULTILINE))
    defaults = {name: value for name, value in vars(Settings).items() if name.isupper()}
    assert described.keys() == defaults.keys()
    assert {name: str(defaults[name]) for name in defaults} == {
        name: value.strip('"').replace("_", "") if value[:1].isdigit() else value.strip('"')
        for name, value in described.items()
    }


def test_every_setting_of_the_review_is_described() -> None:
    described = set(re.findall(r"^\| `(REVIEW_\w+)` \|", read("docs/settings.md"), re.MULTILINE))
    assert described == NAMES


def test_every_variable_of_the_environment_is_described() -> None:
    sources = "".join(
        read(f"{name}.py") for name in ("headline/settings", "headline/env", "headline/debug_mode", "gunicorn.conf")
    )
    asked = set(re.findall(r'(?:env\.\w+|_read_file)\(\s*"([A-Z_]+)"|"((?:DJANGO|ENV|PROMETHEUS)_[A-Z_]+)"', sources))
    asked = {first or second for first, second in asked} - {"DJANGO_SETTINGS_MODULE"}
    described = set(re.findall(r"^\| `([A-Z_]+)` \|", read("docs/settings.md"), re.MULTILINE))
    assert asked
    assert asked == {name for name in described if not name.startswith(("SCHEDULING_", "REVIEW_"))}


def test_every_command_is_described() -> None:
    ours = {name for name, app in get_commands().items() if str(app).split(".")[0] in OURS}
    described = read("docs/commands.md")
    assert {"refresh", "poll", "tasks", "import_articles", "demo"} <= ours
    assert [name for name in sorted(ours) if f"`{name}" not in described] == []


@pytest.mark.parametrize("path", DOCS, ids=lambda path: path.name)
def test_every_link_and_picture_is_there(path: object) -> None:
    text = path.read_text(encoding="utf-8")  # type: ignore[attr-defined]
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", text)
    assert [link for link in links if not (path.parent / link).exists()] == []  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["security.md", "how-it-works.md"])
def test_every_test_that_a_page_names_is_there(name: str) -> None:
    file, missing = "", []
    for path, test in re.findall(r"(tests/[\w/]+\.py)?(?:::(?:\w+::)?(test_\w+))?", read(f"docs/{name}")):
        file = path or file
        if test and f"def {test}(" not in read(file):
            missing.append(f"{file}::{test}")
    assert missing == []


def test_the_readme_names_the_two_commands() -> None:
    assert re.findall(r"^make \w+", read("README.md"), re.MULTILINE)[:2] == ["make run", "make test"]
