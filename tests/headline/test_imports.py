"""Import rules: which module may import what."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.harness import base_dir, python

APPS = ("articles", "headline", "scheduling")
EVERYTHING = (*APPS, "bench", "tests")
ENTRY_POINTS = {"manage.py", "headline/asgi.py", "headline/wsgi.py"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def _modules(*folders: str) -> list[str]:
    files = (file.relative_to(base_dir) for folder in folders for file in (base_dir / folder).rglob("*.py"))
    return sorted(str(file) for file in files if "migrations" not in file.parts)


def _text(module: str) -> str:
    return (base_dir / module).read_text()


def _tree(module: str) -> ast.Module:
    return ast.parse(_text(module))


def _imports(tree: ast.AST) -> Iterator[str]:
    """The top-level packages that a tree imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").partition(".")[0]


def _functions(module: str) -> Iterator[Function]:
    return (node for node in ast.walk(_tree(module)) if isinstance(node, Function))


REDIS_SINK = "articles/webhooks/redis_stream.py"


def _importers(package: str) -> set[str]:
    naming = (module for module in _modules(*APPS) if package in _text(module))  # to parse all others takes long
    return {module for module in naming if package in _imports(_tree(module))}


def _is_for_programs(module: str) -> bool:
    path = Path(module)
    return "api" in path.parts or path.stem in {"api", "serializers", "unknown_fields", "versions"}


def test_imports_point_down_only() -> None:
    linter = Path(python).parent / "lint-imports"
    done = subprocess.run([linter, "--no-cache"], cwd=base_dir, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_only_queue_cache_and_stream_speak_redis() -> None:
    modules = {"articles/cache/backend.py", "articles/cache/server.py", "scheduling/queues/redis.py", REDIS_SINK}
    assert _importers("redis") == modules


def test_only_modules_for_programs_know_rest_framework() -> None:
    assert not {module for module in _importers("rest_framework") if not _is_for_programs(module)}


def test_the_environment_is_read_in_one_place() -> None:
    """Entry points may name the settings that Django falls back on."""
    modules = {*_modules(*APPS), "manage.py"} - {"headline/env.py"}
    naming = 'os.environ.setdefault("DJANGO_SETTINGS_MODULE", '
    naming_once = {module for module in ENTRY_POINTS if (base_dir / module).read_text().count(naming) == 1}
    assert naming_once == ENTRY_POINTS
    assert {module: _reads(module) for module in modules if _reads(module)} == dict.fromkeys(ENTRY_POINTS, 1)


def _reads(module: str) -> int:
    names = {"os.environ", "os.environb", "os.getenv"}
    if not any(name in _text(module) for name in names):
        return 0
    return sum(isinstance(node, ast.Attribute) and ast.unparse(node) in names for node in ast.walk(_tree(module)))


def test_no_import_hides_in_a_function() -> None:
    indented = re.compile(r"^[ \t]+(?:from .+ )?import ", re.MULTILINE)
    modules = (module for module in _modules(*EVERYTHING) if indented.search(_text(module)))
    functions = ((module, function) for module in modules for function in _functions(module))
    assert not [f"{module}: {function.name}" for module, function in functions if any(_imports(function))]
