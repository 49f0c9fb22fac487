"""The docs match the code: settings, variables, commands, links, files, tests and API paths."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from django.core.management import get_commands
from django.urls import Resolver404, resolve

from articles.review.checks import REVIEW_SETTINGS
from bench.measures import MEASURES
from scheduling.conf import Settings
from tests.harness import base_dir

DOCS = [*sorted((base_dir / "docs").glob("*.md")), *sorted(base_dir.glob("*.md"))]
OURS = ("scheduling", "articles", "headline")
FILE = re.compile(r"\b(?:articles|bench|headline|scheduling|templates|tests)/[\w/.]*\w\.(?:css|html|js|po|py|txt)\b")
FOR_EXAMPLE = {"articles/exchange/NAME.py"}


def read(name: str) -> str:
    return (base_dir / name).read_text(encoding="utf-8")


def test_engine_settings_are_described_with_their_defaults() -> None:
    """All in the module, the ones that operators change on the page, too."""
    defaults = {name: value for name, value in vars(Settings).items() if name.isupper()}
    explained = re.findall(r"^    ([A-Z_]+): \w+ = .+  #: .{9,}$", read("scheduling/conf.py"), re.MULTILINE)
    assert explained == list(defaults)
    on_page = dict(re.findall(r"^\* `SCHEDULING_(\w+)` \(`(.*?)`\)", read("docs/settings.md"), re.MULTILINE))
    assert on_page
    assert {name: str(defaults.get(name)) for name in on_page} == on_page


def test_every_setting_of_the_review_is_described() -> None:
    described = set(re.findall(r"^\* `(REVIEW_\w+)`", read("docs/settings.md"), re.MULTILINE))
    assert described == REVIEW_SETTINGS


def described_variables() -> dict[str, str]:
    """The variables of the environment that the page describes, each with its default in code, or an empty text."""
    part = read("docs/settings.md").partition("## Environment")[2].partition("## Engine")[0]
    found = re.findall(r"^\* `([A-Z_]+)`(?: \((?:`(.*?)`\)|.*?\)))?:? ", part, re.MULTILINE)
    assert len(found) == part.count("\n* `")
    return dict(found)


def test_every_variable_of_the_environment_is_described() -> None:
    sources = "".join(
        read(f"{name}.py") for name in ("headline/settings", "headline/env", "headline/debug_mode", "gunicorn.conf")
    )
    asked = set(re.findall(r'(?:env\.\w+|_read_file)\(\s*"([A-Z_]+)"|"((?:DJANGO|ENV|PROMETHEUS)_[A-Z_]+)"', sources))
    asked = {first or second for first, second in asked} - {"DJANGO_SETTINGS_MODULE"}
    assert asked
    assert asked == described_variables().keys()


def test_a_default_that_is_a_literal_is_the_one_described() -> None:
    """Defaults that depend on others are described in words."""
    literals = dict(re.findall(r'env\.\w+\("([A-Z_]+)", default=(\d+|"[^"]*")', read("headline/settings.py")))
    assert {"SESSION_HOURS", "TIME_ZONE", "FOREIGN_MEDIA"} <= literals.keys()
    described = described_variables()
    assert {name: described[name] for name in literals} == {name: text.strip('"') for name, text in literals.items()}


def test_every_command_is_described() -> None:
    ours = {name for name, app in get_commands().items() if str(app).split(".")[0] in OURS}
    described = read("docs/commands.md")
    assert {"refresh", "poll", "tasks", "import_articles", "demo"} <= ours
    assert [name for name in sorted(ours) if f"`{name}" not in described] == []


each_page = pytest.mark.parametrize("path", DOCS, ids=lambda path: path.name)


@each_page
def test_every_link_and_image_is_there(path: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)", path.read_text(encoding="utf-8"))
    targets = [(path.parent / link if link else path, anchor) for link, anchor in links]
    assert [target for target, anchor in targets if not target.exists()] == []
    assert [(target, anchor) for target, anchor in targets if anchor and anchor not in headings(target)] == []


def headings(path: Path) -> set[str]:
    """The anchors of a page, as GitHub makes them."""
    found = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in found}


@each_page
def test_every_file_that_a_page_names_is_there(path: Path) -> None:
    named = set(FILE.findall(path.read_text(encoding="utf-8"))) - FOR_EXAMPLE
    assert [name for name in sorted(named) if not (base_dir / name).exists()] == []


@each_page
def test_every_address_of_the_api_that_a_page_names_is_there(path: Path) -> None:
    named = re.findall(r"/api/v1/(?:[\w<>-]+/)+", path.read_text(encoding="utf-8"))
    assert [address for address in named if not is_there(re.sub(r"<\w+>", "1", address))] == []


def is_there(address: str) -> bool:
    try:
        return resolve(address).url_name is not None
    except Resolver404:
        return False


@each_page
def test_every_make_target_that_a_page_names_is_there(path: Path) -> None:
    targets = set(re.findall(r"^([\w-]+):", read("Makefile"), re.MULTILINE))
    named = set(re.findall(r"(?:`|^)make ([\w-]+)", path.read_text(encoding="utf-8"), re.MULTILINE))
    assert named - targets == set()


@each_page
def test_every_test_that_a_page_names_is_there(path: Path) -> None:
    file, missing, pattern = "", [], r"(tests/[\w/]+\.py)?(?:::(?:\w+::)?(test_\w+))?"
    for named, test in re.findall(pattern, path.read_text(encoding="utf-8")):
        file = named or file
        if test and f"def {test}(" not in read(file):
            missing.append(f"{file}::{test}")
    assert missing == []


def test_the_package_map_shows_the_floors_of_the_import_contract() -> None:
    contract = tomllib.loads(read("pyproject.toml"))["tool"]["importlinter"]["contracts"][0]
    floors = [set(re.findall(r"articles\.(\w+)", layer)) for layer in contract["layers"]]
    rows = re.findall(r"^\| (`.+?) \|", read("docs/architecture.md"), re.MULTILINE)
    shown = [set(re.findall(r"`(\w+)`", row)) for row in rows]
    assert shown == [floor for floor in floors if floor]


def test_the_readme_names_the_two_commands() -> None:
    assert re.findall(r"^make \w+", read("README.md"), re.MULTILINE)[:2] == ["make run", "make test"]


def test_every_measure_that_the_benchmarks_name_is_there() -> None:
    groups = re.findall(r"\(((?:`[a-z\d-]+`(?:, )?)+)\)", read("docs/benchmarks.md"))
    named = set(re.findall(r"[a-z\d-]+", " ".join(groups)))
    assert "idle" in named
    assert named - {measure.name for measure in MEASURES} == set()


def test_the_readme_compares_by_figures_that_the_docs_have() -> None:
    measured = read("docs/benchmarks.md") + read("docs/proof.md")
    table = read("README.md").partition("## Why not")[2].partition("\n\n[Benchmarks]")[0]
    rows = [line.split("|")[1:-1] for line in table.splitlines() if "`make" in line]
    assert len(rows) == 5
    for about, *cells, command in rows:
        figures = re.findall(r"\d[\d.,]*", " ".join(cells))
        assert [one for one in figures if not re.search(rf"(?<![\d.,]){one}(?![\d,])", measured)] == [], about
        named = re.search(r"`make (?:bench MEASURES=(\w+)|chaos)`", command)
        assert named
        assert named[1] in {None, *(measure.name for measure in MEASURES)}
