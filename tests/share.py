"""Tests that walk over many addresses take a share of them in `make test`, and all of them in `make thorough`."""

from __future__ import annotations

from collections.abc import Iterable
from zlib import crc32

import pytest


def in_short(share: int) -> pytest.MarkDecorator:
    """Parametrises `share`: one of so many names in short, all in full."""
    in_full = pytest.param(1, id="in full", marks=pytest.mark.thorough)
    return pytest.mark.parametrize("share", [pytest.param(share, id="in short"), in_full])


def share_of(names: Iterable[str], share: int) -> list[str]:
    """One of `share` names, drawn by a hash: the same in each run."""
    return [name for name in names if crc32(name.encode()) % share == 0]
