"""Finds texts for users that are not marked for translation."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser

WORD = re.compile(r"[A-Za-z]{2,}")
NAMES = {"Headline", "RSS", "Atom", "JSON", "Feed", "API", "HTML", "UTC", "Esc", "true", "false"}
"""Names that are not translated."""


def is_text(value: str) -> bool:
    """Whether it says something in a language."""
    return bool(set(WORD.findall(value)) - NAMES)


# Templates

_MARKED = r"{%\s*(blocktrans(?:late)?|comment)\b.*?{%\s*end\1\s*%}"
_TAG = re.compile(_MARKED + r"|{#.*?#}|{%.*?%}|{{.*?}}", re.DOTALL)
_ARGUMENT = re.compile(
    r"""(?:\|(?:default|default_if_none|yesno|add):|\b(?:text|title|label|description|message)=)(["'])(.*?)\1"""
)
_SPOKEN = {"title", "aria-label", "aria-description", "aria-roledescription", "placeholder", "alt", "label", "summary"}
_ICONS = {"material-symbols-outlined", "material-icons", "icon"}
_QUIET = {"script", "style", "code", "kbd", "pre", "textarea"}
_VOID = {"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}


class Texts(HTMLParser):
    """Collects the texts of a page for users, with their lines."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[int, str]] = []
        self._open: list[tuple[str, bool]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Look at the attributes; remember whether the element's content is for machines."""
        values = {name: value or "" for name, value in attrs}
        self.found += [(self.getpos()[0], values[name]) for name in sorted(_SPOKEN & set(values))]
        if tag == "input" and values.get("type") in {"submit", "button", "reset"}:
            self.found.append((self.getpos()[0], values.get("value", "")))
        if tag not in _VOID:
            is_foreign = values.get("translate") == "no" or ("lang" in values and tag != "html")
            is_icon = not {"material-symbols-outlined", "material-icons", "icon"}.isdisjoint(
                values.get("class", "").split()
            )
            self._open.append((tag, tag in _QUIET or is_icon or is_foreign))

    def handle_endtag(self, tag: str) -> None:
        """Forget the element, and what was not closed inside it."""
        while any(name == tag for name, _ in self._open):
            if self._open.pop()[0] == tag:
                return

    def handle_data(self, data: str) -> None:
        """Keep a text, unless it is for machines."""
        if not any(is_quiet for _, is_quiet in self._open):
            self.found += [(self.getpos()[0], data.strip())] if data.strip() else []


def in_page(page: str) -> list[tuple[int, str]]:
    """The texts of an HTML page, with their lines."""
    parser = Texts()
    parser.feed(page)
    parser.close()
    return parser.found


def in_template(source: str) -> Iterator[tuple[int, str]]:
    """The texts of a Django template that stand in no `translate` and no `blocktranslate`, with their lines."""
    for tag in _TAG.finditer(source):
        for argument in _ARGUMENT.finditer(tag[0]) if not re.match(r"{%\s*(block)?trans", tag[0]) else ():
            if is_text(argument[2]):
                yield source.count("\n", 0, tag.start()) + 1, argument[2]
    bare = _TAG.sub(lambda tag: "\n" * tag[0].count("\n"), source)
    yield from ((line, text) for line, text in in_page(bare) if is_text(text))


# Python

_KEYWORDS = {
    *("help_text", "verbose_name", "verbose_name_plural", "label", "description", "empty_label", "short_description"),
    *("search_help_text", "empty_value_display", "placeholder", "title", "subtitle", "message", "detail", "error"),
}
"""Arguments, attributes and entries of a context whose value people read."""

_SAYING = re.compile(r"\.(message_user|add_error)$|^messages\.")
_MARKS = {"_", "gettext", "gettext_lazy", "ngettext", "ngettext_lazy", "pgettext", "pgettext_lazy", "gettext_noop"}
_OF_PROGRAMMERS = re.compile(
    r"(Value|Type|Runtime|Assertion|Key|Lookup|Attribute|NotImplemented)Error|ImproperlyConfigured"
)
_IDENTIFIER = re.compile(r"[a-z0-9_./:%-]*")


def in_python(source: str) -> Iterator[tuple[int, str]]:
    """Unmarked literals for users, and marks that `makemessages` does not find, with lines."""
    for node in ast.walk(ast.parse(source)):
        for rule in _RULES:
            yield from rule(node)


def _literals(*nodes: ast.AST | None) -> Iterator[tuple[int, str]]:
    """The unmarked texts among some values; a value may be a list of texts, or a dictionary of them."""
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if is_text(node.value) and not _IDENTIFIER.fullmatch(node.value):
                yield node.lineno, node.value
        elif isinstance(node, ast.JoinedStr):
            words = " ".join(str(part.value) for part in node.values if isinstance(part, ast.Constant))
            yield from [(node.lineno, words)] if is_text(words) else []
        elif isinstance(node, ast.BinOp):
            yield from _literals(node.left)
        elif isinstance(node, ast.IfExp):
            yield from _literals(node.body, node.orelse)
        elif isinstance(node, ast.List | ast.Tuple):
            yield from _literals(*node.elts)


def _arguments(node: ast.AST) -> Iterator[tuple[int, str]]:
    if isinstance(node, ast.Call) and _called(node) != "extend_schema":
        yield from _literals(*(keyword.value for keyword in node.keywords if keyword.arg in _KEYWORDS))


def _sayings(node: ast.AST) -> Iterator[tuple[int, str]]:
    if isinstance(node, ast.Call) and _SAYING.search(ast.unparse(node.func)):
        yield from _literals(*node.args[1:2])


def _refusals(node: ast.AST) -> Iterator[tuple[int, str]]:
    if isinstance(node, ast.Call) and re.search("ValidationError$|PermissionDenied$|Http404$", _called(node)):
        yield from _literals(*node.args[:1])
    elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
        yield from _literals(*node.exc.args) if not _OF_PROGRAMMERS.fullmatch(_called(node.exc)) else ()


def _attributes(node: ast.AST) -> Iterator[tuple[int, str]]:
    if not isinstance(node, ast.ClassDef):
        return
    for line in node.body:
        if isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name):
            name, value = line.targets[0].id, line.value
            if name in _KEYWORDS:
                yield from _literals(value)
            elif name.isupper() and any("Choices" in ast.unparse(base) for base in node.bases):
                yield from _literals(value.elts[-1] if isinstance(value, ast.Tuple) else value)


def _entries(node: ast.AST) -> Iterator[tuple[int, str]]:
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and key.value in _KEYWORDS:
                yield from _literals(value)


def _other_marks(node: ast.AST) -> Iterator[tuple[int, str]]:
    if isinstance(node, ast.ImportFrom) and node.module == "django.utils.translation":
        for name in node.names:
            if name.name in _MARKS and name.asname not in {None, "_"}:
                yield node.lineno, f"import {name.name} as {name.asname}"


def _marks_inside(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Marks in an f-string, where `makemessages` does not look."""
    if isinstance(node, ast.JoinedStr):
        calls = [part for part in ast.walk(node) if isinstance(part, ast.Call)]
        yield from ((call.lineno, ast.unparse(call)) for call in calls if _called(call) in _MARKS)


def _called(node: ast.Call) -> str:
    return ast.unparse(node.func).rpartition(".")[2]


_RULES: list[Callable[[ast.AST], Iterator[tuple[int, str]]]] = [
    *(_arguments, _sayings, _refusals, _attributes, _entries, _other_marks, _marks_inside)
]

# Scripts

_COMMENT = re.compile(r"/\*.*?\*/|(?<![:\"'`\\])//[^\n]*", re.DOTALL)
_LITERAL = re.compile(r"""(["'`])((?:\\.|(?!\1).)*)\1""", re.DOTALL)
_SINK = re.compile(
    r"""(?:\.(?:textContent|innerText|innerHTML|title|alt|placeholder|ariaLabel|label)\s*\+?=|"aria-label","""
    r"""|"title",|"alt",|"placeholder",|\b(?:alert|confirm|prompt|setCustomValidity)\()\s*$"""
)
_ICON = r"<span class=.material-symbols-outlined[^>]*>\w+</span>"
_SENTENCE = re.compile(r"[A-Z][a-z]+ [a-z]+|[a-z]{2,} [a-z]{2,} [a-z]{2,}")


def in_script(source: str) -> Iterator[tuple[int, str]]:
    """The literals of a script that users see, with their lines."""
    bare = _COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), source)
    for literal in _LITERAL.finditer(bare):
        text = re.sub(r"\$\{.*?\}|" + _ICON, "", literal[2])
        is_shown = _SINK.search(bare[: literal.start()][-40:]) and is_text(text)
        if is_shown or _SENTENCE.search(re.sub(r"<[^>]*>|[.#\[][\w-]+", "", text)):
            yield bare.count("\n", 0, literal.start()) + 1, literal[2]
