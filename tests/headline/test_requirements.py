"""Every row of docs/requirements.md about the engine and publishing is proved by a test."""

from __future__ import annotations

from tests.headline.requirements import PAGE, page, proofs, rows

PROMISED = ("0.", "1.", "2.", "3.", "4.")


def test_every_promised_row_is_proved_and_every_proved_row_exists() -> None:
    proved = proofs()
    assert [row for row in rows() if row.startswith(PROMISED) and row not in proved] == []
    assert proved.keys() - set(rows()) == set()


def test_the_page_names_the_proving_tests() -> None:
    assert PAGE.read_text() == page(), "run: python -m tests.headline.requirements"
