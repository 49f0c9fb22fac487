"""Figures of the source that keep it easy to see: names with one meaning, comments that say why, short docs."""

from __future__ import annotations

import ast
import io
import tokenize
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from django.apps import apps

from articles.models.base.timestamps import ChangedAtField, CreatedAtField
from tests.harness import base_dir

APPS = ("articles", "headline", "scheduling")
SHARED_CLASSES = frozenset({"Author", "Site", "ReaderState", "RescheduleSerializer", "Command"})
"""Those of different formats, of different APIs, and of Django's commands."""
VAGUE = ("SHOWN", "MOST", "LONGEST", "FIELDS", "NAMES", "TIMES")
"""Names that do not say what they bound or list; in one module alone they may."""
MAX_WORDS = 20_000


def _sources(*folders: str) -> dict[str, ast.Module]:
    return {name: tree for folder in folders for name, tree in _parsed(folder).items()}


@cache
def _parsed(folder: str) -> dict[str, ast.Module]:
    files = (file for file in sorted((base_dir / folder).rglob("*.py")) if "migrations" not in file.parts)
    return {_name(file): ast.parse(file.read_text()) for file in files}


def _name(file: Path) -> str:
    return str(file.relative_to(base_dir))


def _by_name(names_of: Callable[[ast.stmt], Iterator[str]]) -> dict[str, list[str]]:
    """The modules that define each name."""
    found: dict[str, list[str]] = defaultdict(list)
    for module, tree in _sources(*APPS).items():
        for name in {name for statement in tree.body for name in names_of(statement)}:
            found[name].append(module)
    return found


def _classes(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.ClassDef):
        yield statement.name


def _constants(statement: ast.stmt) -> Iterator[str]:
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    yield from (target.id for target in targets if isinstance(target, ast.Name))


def _is_of(node: ast.AST, owner: str, name: str) -> bool:
    """Whether it reads `owner.name`."""
    value = node.value if isinstance(node, ast.Attribute) and node.attr == name else None
    return isinstance(value, ast.Name) and value.id == owner


def test_a_class_name_means_one_class() -> None:
    assert {name: at for name, at in _by_name(_classes).items() if len(at) > 1 and name not in SHARED_CLASSES} == {}


def test_only_the_engine_uses_its_estimate_of_the_clock() -> None:
    """A process that serves requests has never measured the database's clock: what it decides, it asks for."""
    imported = [
        (module, name.name)
        for module, tree in _sources("articles", "headline").items()
        for statement in ast.walk(tree)
        if isinstance(statement, ast.ImportFrom) and (statement.module or "").startswith("scheduling")
        for name in statement.names
    ]
    assert imported
    assert [module for module, name in imported if name in {"clock", "Clock", "server_clock"}] == []


def test_rows_are_dated_by_the_database() -> None:
    """Django's own fields take the clock of the machine, which may be wrong."""
    fields = [
        (field, isinstance(field, CreatedAtField | ChangedAtField))
        for model in apps.get_models()
        for field in model._meta.local_fields
        if model.__module__.startswith(APPS)
        and (getattr(field, "auto_now", False) or getattr(field, "auto_now_add", False))
    ]
    assert {field.model._meta.app_label for field, _is_by_database in fields} == {"articles", "headline_api"}
    assert [str(field) for field, is_by_database in fields if not is_by_database] == []
    read = [
        module
        for module, tree in _sources("articles", "headline").items()
        if any(_is_of(node, "timezone", "now") for node in ast.walk(tree))
    ]
    assert read == [
        "articles/text/times.py",  # the offset of a zone at present
        "headline/accounts/sessions.py",  # Django's sessions end by it
    ]


def test_a_constant_is_named_after_what_it_bounds() -> None:
    modules = _by_name(_constants)
    assert {name: modules[name] for name in VAGUE if len(modules[name]) > 1} == {}


@pytest.mark.parametrize("package", ["articles/publishing", "articles/cache", "scheduling"])
def test_comments_say_why_where_a_reader_would_ask(package: str) -> None:
    """At least 8 in 1,000 lines have a line of their own."""
    files = [file for file in (base_dir / package).rglob("*.py") if "migrations" not in file.parts]
    lines = sum(len(file.read_text().splitlines()) for file in files)
    assert sum(map(_own_line_comments, files)) * 1000 / lines >= 8


def _own_line_comments(file: Path) -> int:
    """Blocks of comments: consecutive lines are one."""
    tokens = tokenize.generate_tokens(io.StringIO(file.read_text()).readline)
    rows = {
        token.start[0]
        for token in tokens
        if token.type == tokenize.COMMENT and not token.line[: token.start[1]].strip()
    }
    return sum(row - 1 not in rows for row in rows)


def test_the_docs_stay_short() -> None:
    files = [
        *(base_dir / "docs").glob("*.md"),
        *map(base_dir.joinpath, ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    ]
    assert sum(len(file.read_text().split()) for file in files) <= MAX_WORDS
