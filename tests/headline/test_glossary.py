"""The glossary's terms are used: words that they replace occur neither as identifiers nor in prose."""

from __future__ import annotations

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

from tests.harness import base_dir

REPLACED = {
    "announce": "announce[ds]?|announcing|announcements?",
    "anew": "anew",
    "clash": "clash(?:e[ds]|ing)?",
    "door": "doors?",
    "entrance": "entrances?",
    "errand": "errands?",
    "facts": "facts",
    "guilty": "guilty",
    "heal": "heal(?:s|ed|ers?|ing)?",
    "horizon": "horizons?",
    "illustrate": "illustrat(?:e[ds]?|ing|ions?)",
    "killed": "killed|kills|killing",
    "material": "materials?",
    "meanwhile": "meanwhile",
    "mend": "mend(?:s|ed|ing)?",
    "obstacle": "obstacles?",
    "picture": "pictur(?:e[ds]?|ing)",
    "rehearse": "rehears(?:e[ds]?|ing|als?)",
    "revive": "reviv(?:e[ds]?|ing)",
    "shelf": "shel(?:f|ves)",
    "wish": "wish(?:e[ds]|ing)?",
    "withdraw": "withdr(?:aw|aws|awn|awing|awals?|ew)",
}
"""Words that are replaced wherever they occur, each with its forms."""

REPLACED_AS_IDENTIFIERS = REPLACED | {
    "guard": "guards?",
    "keeping": "keeping",
    "kill": "kill",
    "notices": "notices|noticing",
    "standing": "standings?",
    "taken off": "t(?:ake|akes|aken|aking|ook) offs?",
    "tell": "tells?|telling|told",
}
"""Words that are ordinary English in a sentence, but no names."""

REPLACED_IN_PROSE = REPLACED | {
    "approved by a person": "approved by a person",
    "by way of": "by way of",
    "cancel the schedule": "cancel(?:s|led)? the schedule",
    "disguises off": "disguises? off",
    "given out again": r"g(?:ive|ives|iven) (?:\w+ )?(?:\w+ )?out again",
    "handed in": r"hand(?:s|ed|ing)? (?:\w+ )?in",
    "in the way": "in the way",
    "going out next": "going out next|just out",
    "grew from one": "grew from one",
    "half were quicker": "half were quicker",
    "in preparation": "in preparation",
    "innocent phrase": "innocent phrases?",
    "kill": r"kill(?= an?\b| the (?:article|text))",
    "kept answers": "kept (?:answers?|pages?)",
    "keep as a view": "keep this as a view",
    "kept for you": "kept for you",
    "leave it, show the next": "leave it, show",
    "made void": r"ma(?:de|ke|kes|king) (?:\w+ ){0,3}void",
    "newer text": "newer texts?",
    "newsroom's screens": "newsroom.s screens",
    "notices": "notices",
    "on it": "who is on it|nobody is on it",
    "put back": r"put(?:s|ting)? (?:\w+ ){0,2}back",
    "put out": r"put(?:s|ting)? (?:\w+ ){0,2}out",
    "record of who did what": "who did what|audit records?",
    "sent back": r"se(?:nt|nd|nds) (?:\w+ ){0,2}back",
    "stays true": "stay(?:s|ed)? true",
    "step with many articles": "steps? with many articles",
    "taken off": r"t(?:ake|akes|aken|aking|ook)[ -](?:\w+ ){0,2}offs?",
    "throw it away": "throw it away",
    "version of a name": "versions? of (?:a |the )?names?",
    "went wrong": r"w(?:ent|hat goes) wrong",
    "what is to be seen": "what is to be seen",
    "word to the hub": "words? to (?:the |a )?(?:hubs?|prox(?:y|ies))",
    "working copy": "working cop(?:y|ies)",
}

PRONOUNS = {"nobody": "nobody|somebody|anybody|everybody|whoever"}
"""Sentences name the user, editor, reader or caller instead."""

REPLACED_IN_CHINESE = "先放着|新文本|无害短语|画面内容|审计记录|(?<!搜索)(?<!调度)(?<!存储)引擎"
"""What the glossary's Chinese texts replace."""

CODE = ("articles", "bench", "headline", "scheduling", "tests")
STRING_OR_COMMENT = re.compile(r"""/\*.*?\*/|//[^\n]*|`[^`]*`|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL)
"""In a script."""

COMPOUND_NAME = re.compile(r"[A-Za-z]\w*(?:[-_][A-Za-z]\w*)+|[a-z]+[A-Z]\w*|(?<={{ )\w+")
"""In a template or style sheet: `two_words`, `two-words`, `twoWords` or `{{ variable }}`."""

EXCEPTED = ("*/migrations/*", "CHANGELOG.md", "tests/headline/test_glossary.py", "*/data/*", "*.json")


@dataclass(frozen=True)
class Allowed:
    """Where a replaced word means something else, and what."""

    path: str
    word: str
    line: str
    reason: str


ALLOWED = [
    Allowed("*.js", "announce", "announce", "to a screen reader, in a live region"),
    Allowed("*.html", "announce", "data-announced", "to a screen reader, in a live region"),
    Allowed("tests/articles/site/*", "announce", "announced", "to a screen reader, in a live region"),
    Allowed("*", "heal", "healed", "a count of `refresh` that programs read (contract)"),
    Allowed(
        "*",
        "kill",
        r"kill -9|\.kill\b|\bkill\(|kill_(?:all|chil|delay|mari|one|other|redis|silent|site|super|web|work)|killpg"
        "|after_the_kill",
        "a signal to a process",
    ),
    Allowed("tests/upgrades/test_recorded.py", "kill", "kill_notice", "a column of an earlier schema"),
    Allowed("tests/upgrades/test_recorded.py", "door", "door=", "a column of an earlier schema"),
    Allowed("tests/upgrades/test_recorded.py", "facts", "facts=", "a column of an earlier schema"),
    Allowed("articles/static/articles/site.css", "picture", "picture (?:{|>)|picture:first", "the HTML element"),
    Allowed("articles/static/articles/embeds.js", "picture", "picture-in-picture", "a browser feature"),
    Allowed("*500.html", "went wrong", "Something went wrong", "the usual sentence for an unexpected error"),
    Allowed("*.po", "went wrong", "Something went wrong", "the usual sentence for an unexpected error"),
    Allowed("*", "killed", "-9|[Ww]orker|process|statement|supervisor|child|connection|server", "a process"),
    Allowed("*", "killed", "MariaDB|Redis", "a process"),
    Allowed("tests/*", "killed", "`Process`|over before it was killed|killed one too", "a process"),
    Allowed("headline/backup/write.py", "material", '"Material"', "the name of images in former migrations"),
    Allowed("*", "material", r"material-symbols|Material Symbols|buttons\.material", "the name of the icon font"),
    Allowed("*", "picture", r"</?picture\b|\bpicture (?:img|source)\b", "the HTML element"),
    Allowed("articles/static/articles/editor/*", "picture", '"picture"', "the HTML element"),
    Allowed("headline/*", "picture", "Record picture", "a text of django-unfold"),
    Allowed("articles/text/*", "picture", '"picture"', "the HTML element"),
    Allowed("*", "tell", r"\.tell\(\)", "a method of files"),
]


@dataclass(frozen=True, order=True)
class Found:
    """A word, and where it stands."""

    path: str
    number: int
    word: str
    line: str

    def __str__(self) -> str:
        return f"{self.path}:{self.number}: {self.word}: {self.line.strip()[:140]}"


Source = tuple[int, str]
"""Number and text of a line, or of a part of it."""


def test_no_replaced_word_is_an_identifier() -> None:
    assert not_allowed(in_identifiers()) == []


def test_no_replaced_word_occurs_in_prose() -> None:
    assert not_allowed(in_prose()) == []


def test_no_replaced_word_occurs_in_chinese() -> None:
    found = [
        f"{path}:{number}: {line}"
        for path in files()
        if path.endswith(".po")
        for number, line in enumerate(text_of(path).splitlines(), start=1)
        if line.startswith(("msgstr", '"')) and re.search(REPLACED_IN_CHINESE, line)
    ]
    assert found == []


def test_no_sentence_or_name_has_an_indefinite_person() -> None:
    assert not_allowed([*search(identifiers, PRONOUNS, code_files()), *search(prose, PRONOUNS, files())]) == []


@pytest.mark.thorough
def test_no_allowance_is_left_over() -> None:
    used = {allowance(one) for one in [*in_identifiers(), *in_prose()]}
    assert [one for one in ALLOWED if one not in used] == []


@cache
def in_identifiers() -> list[Found]:
    """The replaced words in the names of variables, functions, files, error codes, CSS classes and so on."""
    code = search(identifiers, REPLACED_AS_IDENTIFIERS, code_files())
    markup = [path for path in files() if path.endswith((".css", ".html"))]
    return sorted(
        {
            *code,
            *search(names, REPLACED_AS_IDENTIFIERS, files()),
            *search(names_in_strings, REPLACED_AS_IDENTIFIERS, [path for path in code_files() if path.endswith(".py")]),
            *search(names_in_markup, REPLACED_AS_IDENTIFIERS, markup),
        }
    )


@cache
def in_prose() -> list[Found]:
    """The replaced words and phrases in sentences."""
    return sorted(set(search(prose, REPLACED_IN_PROSE, files())))


def not_allowed(found: Iterable[Found]) -> list[str]:
    """Those that no allowance explains."""
    return [str(one) for one in found if not allowance(one)]


def allowance(found: Found) -> Allowed | None:
    """Why this word may stand there, if it may."""
    for one in ALLOWED:
        if one.word == found.word and fnmatch(found.path, one.path) and re.search(one.line, found.line, re.IGNORECASE):
            return one
    return None


def search(read: Callable[[str], Iterator[Source]], words: dict[str, str], paths: list[str]) -> Iterator[Found]:
    """The words that `read` yields, with the lines of the file around them."""
    bare = re.compile("|".join(words.values()).replace(" ", r"\s+"))  # fast, because it heeds the case
    forms = [rf"(?P<w{number}>\b(?:{form})\b)" for number, form in enumerate(words.values())]
    any_word = re.compile("|".join(forms).replace(" ", r"\s+"), re.IGNORECASE)
    titles = list(words)
    for path in paths:
        if not bare.search(f"{path} {text_of(path)}".lower()):
            continue
        lines = text_of(path).splitlines() or [""]
        for number, text in read(path):
            if not bare.search(text.lower()):
                continue
            for match in any_word.finditer(text):
                at = number + text.count("\n", 0, match.start())
                word = titles[int((match.lastgroup or "w0")[1:])]
                yield Found(path, at, word, lines[at - 1] if 0 < at <= len(lines) else path)


@cache
def files() -> list[str]:
    """All texts of the repository that people write."""
    listed = subprocess.run(["git", "ls-files"], cwd=base_dir, capture_output=True, text=True, check=True).stdout
    kinds = (".css", ".html", ".js", ".lua", ".md", ".po", ".py", ".toml", ".txt", ".vcl", ".yaml", ".yml", "Makefile")
    return [
        path
        for path in listed.splitlines()
        if path.endswith(kinds) and not any(fnmatch(path, one) for one in EXCEPTED) and (base_dir / path).exists()
    ]


def code_files() -> list[str]:
    """Python and scripts."""
    return [path for path in files() if path.startswith(CODE) and path.endswith((".py", ".js"))]


@cache
def text_of(path: str) -> str:
    return (base_dir / path).read_text(encoding="utf-8")


def identifiers(path: str) -> Iterator[Source]:
    """The words of which the names in a program are made."""
    if path.endswith(".js"):
        code = STRING_OR_COMMENT.sub(lambda found: "\n" * found[0].count("\n"), text_of(path))
        for number, line in enumerate(code.splitlines(), start=1):
            yield number, words_of(" ".join(re.findall(r"[A-Za-z_]\w*", line)))
        return
    for token in tokenize.generate_tokens(io.StringIO(text_of(path)).readline):
        if token.type == tokenize.NAME:
            yield token.start[0], words_of(token.string)


def names(path: str) -> Iterator[Source]:
    """The words of which the path is made."""
    yield 0, words_of(path)


def names_in_strings(path: str) -> Iterator[Source]:
    """The words of strings that are names, such as codes and keys of contexts."""
    if path.startswith("tests/"):
        return
    for node in ast.walk(ast.parse(text_of(path))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r"[A-Za-z]\w*", node.value):
            yield node.lineno, words_of(node.value)


def names_in_markup(path: str) -> Iterator[Source]:
    """The words of compound names in a template or style sheet, such as variables, ids and classes."""
    for number, line in enumerate(text_of(path).splitlines(), start=1):
        yield number, words_of(" ".join(COMPOUND_NAME.findall(line)))


def words_of(name: str) -> str:
    """`name` split at underscores and camel case."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|_|(?<=[A-Z])(?=[A-Z][a-z])|[-./]", " ", name)


def prose(path: str) -> Iterator[Source]:
    """What people read: pages, comments, docstrings, templates, messages."""
    kind = Path(path).suffix
    if kind == ".py":
        yield from comments(path)
        yield from strings(path)
    elif kind == ".po":
        yield from messages(path)
    else:
        yield 1, text_of(path)


def comments(path: str) -> Iterator[Source]:
    for token in tokenize.generate_tokens(io.StringIO(text_of(path)).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def strings(path: str) -> Iterator[Source]:
    """Docstrings; outside of the tests, whose strings are what people might write, all other strings too."""
    tree = ast.parse(text_of(path))
    is_test = path.startswith("tests/")
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.lineno, node.value.value
        elif not is_test and isinstance(node, ast.Constant) and isinstance(node.value, str) and "\n" not in node.value:
            yield node.lineno, node.value


def messages(path: str) -> Iterator[Source]:
    """The English of the translations that are in use."""
    for found in re.finditer(r'^msgid(?:_plural)? ((?:".*"\n)+)', text_of(path), re.MULTILINE):
        text = "".join(re.findall(r'^(?:msgid(?:_plural)? )?"(.*)"$', found[1], re.MULTILINE))
        yield text_of(path).count("\n", 0, found.start()) + 1, text
