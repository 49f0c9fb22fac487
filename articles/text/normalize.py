"""Text normalisation for matching sensitive words despite obfuscation.

It makes two forms of equal length. The *plain* form has one spelling of each letter: it removes compatibility forms
(NFKC), case, accents, traditional characters and enclosed letters. The *skeleton* also maps lookalikes to one character
(0 and o, 1 and l and i, Cyrillic а and Latin a, 四 and 4); a match of skeletons must be confirmed on the plain forms.
Both contain only letters and digits, and `places` maps them back to the original.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import opencc

_CLUSTER = re.compile(
    "[\u1100-\u115f][\u1160-\u11a7][\u11a8-\u11ff]?|.[\u0300-\u036f\u3099\u309a\uff9e\uff9f]*", re.DOTALL
)
_ACCENTS = re.compile("[\u0300-\u036f]")
_IDEOGRAPHS = [(0x3400, 0xA000), (0xF900, 0xFB00), (0x20000, 0x2A6E0)]
_END_OF_NARROW = 0x0590  # Latin, Greek and Cyrillic, which separate words, are below; also in the block of ẞ and ế
_NARROW_TOO = range(0x1E00, 0x2000)

NUMERALS = dict(zip("零〇一二三四五六七八九壹贰叁肆伍陆柒捌玖两", "001234567891234567892", strict=True))
"""Chinese numerals that may stand for a digit."""

_ENCLOSED = {chr(first + n): chr(ord("a") + n) for first in (0x1F150, 0x1F170, 0x1F1E6) for n in range(26)}
_SMALL_CAPITALS = dict(zip("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ", "abcdefghijklmnoprstuvwyz", strict=True))
_ONE_LETTER = _ENCLOSED | _SMALL_CAPITALS | {"○": "〇", "ł": "l", "ø": "o", "đ": "d", "ħ": "h", "ı": "i"}

_LOOKALIKES = (
    dict(zip("01345789l", "oieastbgi", strict=True))
    | dict(zip("авсеһніјкӏморѕтухԁԛԝь", "abcehhijkimopstyxdqwb", strict=True))
    | dict(zip("αβεηικνορτυχγω", "abenikvoptuxyw", strict=True))
    | dict(zip("ɑɡ@$!|€¢", "agasiiec", strict=True))
)
_SKELETON = _LOOKALIKES | {numeral: _LOOKALIKES.get(digit, digit) for numeral, digit in NUMERALS.items()}

SYMBOLS = "@$!|€¢"
"""Characters that replace letters as often as they separate them."""


@dataclass(frozen=True, slots=True)
class Normalised:
    """Both forms of `original`; `places[i]` is the position in it of their character i."""

    original: str
    plain: str
    skeleton: str
    places: array[int]

    def gap(self, index: int) -> str:
        """The visible text of the original between characters index - 1 and `index`."""
        begin = self.places[index - 1] + 1 if index else 0
        end = self.places[index] if index < len(self.places) else len(self.original)
        return visible(self.original[begin:end])


def normalise(text: str, *, symbols: bool = False) -> Normalised:
    """Both forms of `text`; with `symbols`, the characters of `SYMBOLS` count as letters."""
    table = _with_symbols if symbols else _letters_only
    plain: list[str] = []
    places = array("L")
    for place, cluster in _clusters(text):
        if folded := table[cluster]:
            plain.append(folded)
            places.extend([place] * len(folded)) if len(folded) > 1 else places.append(place)
    joined = "".join(plain)
    return Normalised(text, joined, joined.translate(_SKELETON_TABLE), places)


def plain_form(text: str) -> str:
    """The plain form of `text`, for comparing words."""
    return normalise(text).plain


def is_narrow(char: str) -> bool:
    """Whether a letter belongs to a script that separates words, such as Latin but not Chinese."""
    return ord(char) < _END_OF_NARROW or ord(char) in _NARROW_TOO


def visible(text: str) -> str:
    """`text` without joiners, marks and other invisible characters."""
    return "".join(char for char in text if not _is_invisible(char))


def shows(text: str) -> bool:
    """Whether anything of `text` can be seen."""
    return any(not char.isspace() and not _is_invisible(char) for char in text)


def _is_invisible(char: str) -> bool:
    return char in "\u2800\u3164\uffa0\u115f\u1160" or (
        unicodedata.category(char) in {"Cf", "Mn", "Me", "Cc", "Cn", "Co"} and not char.isspace()
    )


def _clusters(text: str) -> Iterable[tuple[int, str]]:
    """Each character's position, and the character with its combining accents."""
    if unicodedata.is_normalized("NFC", text):
        return enumerate(text)
    return ((found.start(), found.group()) for found in _CLUSTER.finditer(text))


class _Table(dict[str, str]):
    """Folded characters, computed on first use."""

    def __init__(self, unfolded: str) -> None:
        self._unfolded = unfolded

    def __missing__(self, cluster: str) -> str:
        folded = cluster if cluster in self._unfolded else "".join(map(_fold, unicodedata.normalize("NFKC", cluster)))
        if len(cluster) == 1:  # the number of clusters is unlimited
            self[cluster] = folded
        return folded


def _fold(char: str) -> str:
    """The plain form of an NFKC character; "" if it is neither letter nor digit."""
    bare = _ACCENTS.sub("", unicodedata.normalize("NFD", char.casefold()))
    folded = unicodedata.normalize("NFC", bare)
    simple = _simplified()
    return "".join(
        found for found in (_ONE_LETTER.get(c, simple.get(c, c)) for c in folded) if found.isalnum() and visible(found)
    )


@cache
def _simplified() -> dict[str, str]:
    """Traditional to simplified characters, from OpenCC."""
    chars = [chr(code) for first, end in _IDEOGRAPHS for code in range(first, end)]
    simplified = opencc.OpenCC("t2s").convert("\n".join(chars)).split("\n")
    return {char: simple for char, simple in zip(chars, simplified, strict=True) if char != simple}


_SKELETON_TABLE = str.maketrans(_SKELETON)
_letters_only = _Table("")
_with_symbols = _Table(SYMBOLS)
