"""The tests that prove the rows of docs/requirements.md; as a program, it writes their names into the page."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator

from tests.harness import base_dir

PAGE = base_dir / "docs" / "requirements.md"

_ROW = re.compile(r"^\* \*\*(?P<number>\d\.\d+)(?P<mark>†?)\*\* (?P<holds>.+?):(?: `(?P<tests>.*))?$", re.MULTILINE)


def rows() -> list[str]:
    """The numbers of all rows, such as "1.7"."""
    return [row["number"] for row in _ROW.finditer(PAGE.read_text())]


def proofs() -> dict[str, set[str]]:
    """The names of the tests by the row whose number their docstring carries."""
    found = defaultdict(set)
    for test in _tests():
        for number in re.findall(r"\bR(\d\.\d+)\b", ast.get_docstring(test) or ""):
            found[number].add(test.name)
    return found


def _tests() -> Iterator[ast.FunctionDef]:
    for file in (base_dir / "tests").rglob("test_*.py"):
        nodes = ast.walk(ast.parse(file.read_text()))
        yield from (node for node in nodes if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"))


def page() -> str:
    """The page as it should be."""
    named = proofs()

    def fill(row: re.Match[str]) -> str:
        tests = "<br>".join(f"`{name}`" for name in sorted(named[row["number"]]))
        return f"* **{row['number']}{row['mark']}** {row['holds']}: {tests}".rstrip()

    return _ROW.sub(fill, PAGE.read_text())


if __name__ == "__main__":
    PAGE.write_text(page())
