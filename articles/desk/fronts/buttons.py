"""Buttons of the editor: an operation as the value of a button, which works without a script, and back."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

from articles.desk.parse import number_or_zero
from articles.exceptions import NotEditable
from articles.fronts import Operation, OperationKind
from articles.models import Block

NONE = "-"


def button(op: str, uuid: UUID | None = None, *rest: UUID | int | str | None) -> str:
    """The value of a button; without a uuid, that of a new card or block."""
    return " ".join((op, str(uuid or uuid4()), *(str(part) if part else NONE for part in rest)))


def operation_of(text: str) -> Operation:
    """The operation of a button. Raises `NotEditable`."""
    op, *parts = text.split(" ")
    try:
        uuid, *places = (None if part == NONE else UUID(part) for part in parts[: _PLACES[op] + 1])
    except (KeyError, ValueError) as error:
        raise NotEditable from error
    if uuid is None:
        raise NotEditable
    names = ("after",) if op in (OperationKind.ADD_BLOCK, OperationKind.MOVE_BLOCK) else ("block", "after")
    values = _values(op, parts[_PLACES[op] + 1 :])
    return Operation(op=op, uuid=uuid, values=values, **dict(zip(names, places, strict=False)))


_PLACES = {
    OperationKind.ADD_CARD.value: 2,
    OperationKind.MOVE_CARD.value: 2,
    OperationKind.REMOVE_CARD.value: 0,
    OperationKind.ADD_BLOCK.value: 1,
    OperationKind.MOVE_BLOCK.value: 1,
    OperationKind.REMOVE_BLOCK.value: 0,
}
"""How many places the buttons of an operation name: a block, and what is before it there."""


def _values(op: str, rest: list[str]) -> dict[str, Any]:
    if op == OperationKind.ADD_CARD and rest:
        return {"article": number_or_zero(rest[0])} if number_or_zero(rest[0]) else {"url": rest[0]}
    if op == OperationKind.ADD_BLOCK and rest:
        kind = rest[0] if rest[0] in Block.Kind else Block.Kind.LIST
        return {"kind": str(kind), "size": 3 if kind == Block.Kind.STRIP else 4}
    return {}
