"""All regular expressions in the source of the product, and texts made of what is in them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import chain
from pathlib import Path
from re import _constants as code, _parser as parser
from typing import Any

from tests.growth import Repeated, repeated
from tests.harness import base_dir

METHODS = "METHODS"

_PACKAGES = ("articles", "headline", "scheduling")
_FUNCTIONS = {"compile", "findall", "finditer", "fullmatch", "match", "search", "split", "sub", "subn"}
_OF_DJANGO = {"RegexField", "RegexValidator", "re_path"}
_AT_ONE_PLACE = {"match", "fullmatch"}
_SAMPLES = 'a0 \n<"!\u4e00\x01'

_FEW = 4
_CATEGORIES = {
    code.CATEGORY_DIGIT: r"\d",
    code.CATEGORY_NOT_DIGIT: r"\D",
    code.CATEGORY_SPACE: r"\s",
    code.CATEGORY_NOT_SPACE: r"\S",
    code.CATEGORY_WORD: r"\w",
    code.CATEGORY_NOT_WORD: r"\W",
}

_Item = tuple[Any, Any]
"""A part of a parsed expression: what it is, and what is in it."""


@dataclass(frozen=True)
class Expression:
    """A regular expression, where it is, and which methods of it are called: none if that is not known."""

    place: str
    pattern: re.Pattern[Any]
    methods: frozenset[str] = frozenset()

    def run(self, text: str) -> None:
        """Match a text as the source does; what is searched is searched to the end."""
        given: Any = text.encode() if isinstance(self.pattern.pattern, bytes) else text
        if not self.methods or self.methods - _AT_ONE_PLACE:
            for _found in self.pattern.finditer(given):
                pass
        for method in self.methods & _AT_ONE_PLACE:
            getattr(self.pattern, method)(given)

    @property
    def inputs(self) -> Iterator[Repeated]:
        """Texts that repeat what it consists of, also after what it begins with."""
        parsed = parser.parse(self.pattern.pattern, self.pattern.flags & ~re.UNICODE)
        return repeated([*dict.fromkeys(_tokens(parsed))], [*dict.fromkeys(["", *_starts(parsed)])])


def expressions(known: Mapping[str, Mapping[str, Any]]) -> list[Expression]:
    """All of the product.

    `known` has, by module, examples of local names that expressions are built from, and as `METHODS` what is called
    on those that have no name. Raises `NameError` if it lacks one.
    """
    return [one for path in _files() for one in _in_file(path, known.get(str(path.relative_to(base_dir)), {}))]


def _files() -> list[Path]:
    found = chain.from_iterable((base_dir / package).rglob("*.py") for package in _PACKAGES)
    return sorted(path for path in found if "migrations" not in path.parts)


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def _in_file(path: Path, known: Mapping[str, Any]) -> Iterator[Expression]:
    calls = [node for node in ast.walk(_tree(path)) if isinstance(node, ast.Call) and _is_of_expression(node)]
    names = _names(path) if calls else {}
    for call in calls:
        module = ".".join(path.relative_to(base_dir).with_suffix("").parts).removesuffix(".__init__")
        pattern = _compiled(call, {**vars(import_module(module)), **known})
        function = ast.unparse(call.func).removeprefix("re.")
        methods = {function} & _FUNCTIONS - {"compile"} or _methods(names.get(call, ""), path)
        methods = methods or known.get(METHODS, set())
        yield Expression(f"{path.relative_to(base_dir)}:{call.lineno}", pattern, frozenset(methods))


def _is_of_expression(call: ast.Call) -> bool:
    name = ast.unparse(call.func)
    return name.rpartition(".")[2] in _OF_DJANGO or (name.startswith("re.") and name[3:] in _FUNCTIONS)


def _compiled(call: ast.Call, scope: Mapping[str, object]) -> re.Pattern[Any]:
    given = [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg in ("flags", "regex"))]
    flags = [one for one in given[1:] if re.search(r"\bre\.[A-Z]", ast.unparse(one))]
    pattern, *flag = (eval(ast.unparse(one), {**scope}) for one in (given[0], *flags[:1]))
    return re.compile(pattern, *flag)


def _names(path: Path) -> dict[ast.expr, str]:
    """The values that are assigned to names, and these."""
    found: dict[ast.expr, str] = {}
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            targets, values = (one.elts if isinstance(one, ast.Tuple) else [one] for one in (target, node.value))
            found |= {value: one.id for one, value in zip(targets, values, strict=False) if isinstance(one, ast.Name)}
    return found


def _methods(name: str, path: Path) -> set[str]:
    """The methods that are called on this name: if it is private only in this file."""
    calls = chain.from_iterable(_called(each) for each in ([path] if name.startswith("_") else _files()))
    return {method for owner, method in calls if owner == name}


@cache
def _called(path: Path) -> set[tuple[str, str]]:
    """The last names of what methods of expressions are called on, with these methods."""
    nodes = [node for node in ast.walk(_tree(path)) if isinstance(node, ast.Attribute) and node.attr in _FUNCTIONS]
    return {(ast.unparse(node.value).rpartition(".")[2], node.attr) for node in nodes}


# Texts


def _tokens(parsed: Iterable[_Item]) -> Iterator[str]:
    """What an expression consists of: its literal texts, and examples of its sets of characters."""
    literal = ""
    for kind, value in parsed:
        if kind is code.LITERAL:
            literal += chr(value)
            continue
        yield from filter(None, [literal])
        literal = ""
        if (characters := _characters(kind, value)) is not None:
            yield from characters
        else:
            for part in _parts(value):
                yield from _tokens(part)
    yield from filter(None, [literal])


def _characters(kind: Any, value: Any) -> Sequence[str] | None:
    """Some of the characters that match a set of them; None if this is no set."""
    if kind is code.ANY:
        return "a"
    if kind is code.NOT_LITERAL:
        return [one for one in _SAMPLES if ord(one) != value][:_FEW]
    if kind is not code.IN:
        return None
    literals = [
        chr(one if item is code.LITERAL else one[0]) for item, one in value if item in (code.LITERAL, code.RANGE)
    ]
    return [one for one in dict.fromkeys([*literals, *_SAMPLES]) if _is_in(value, one)][:_FEW]


def _is_in(items: Sequence[_Item], character: str) -> bool:
    is_negated = items[0][0] is code.NEGATE
    return is_negated != any(_is(kind, value, character) for kind, value in items)


def _is(kind: Any, value: Any, character: str) -> bool:
    if kind is code.LITERAL:
        return chr(value) == character
    if kind is code.RANGE:
        return ord(character) in range(value[0], value[1] + 1)
    return kind is code.CATEGORY and re.match(_CATEGORIES[value], character) is not None


def _parts(value: Any) -> Iterator[Sequence[_Item]]:
    """The expressions within a part."""
    if isinstance(value, parser.SubPattern):
        yield value
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _parts(one)


def _starts(parsed: Sequence[_Item]) -> Iterator[str]:
    """The shortest texts that match the first parts of an expression: of one, of two and so on, in each branch."""
    branches = (
        [branch for kind, value in parsed if kind is code.BRANCH for branch in value[1]] if len(parsed) == 1 else []
    )
    for branch in branches or [parsed]:
        ends = (count for count in range(1, len(branch)) if branch[count][0] is not code.LITERAL)
        yield from (_shortest(branch[:count]) for count in ends)


def _shortest(parsed: Iterable[_Item]) -> str:
    """A text that these parts match, with each optional part left out; without a look at what is around."""
    found = ""
    for kind, value in parsed:
        if kind is code.LITERAL:
            found += chr(value)
        elif (characters := _characters(kind, value)) is not None:
            found += characters[0]
        elif kind in (code.MAX_REPEAT, code.MIN_REPEAT, code.POSSESSIVE_REPEAT):
            found += value[0] * _shortest(value[2])
        elif kind is code.BRANCH:
            found += _shortest(value[1][0])
        elif kind is code.ASSERT and value[0] < 0:  # what comes before
            found += _shortest(value[1])
        elif kind not in (code.ASSERT, code.ASSERT_NOT, code.AT):
            found += "".join(map(_shortest, _parts(value)))
    return found
