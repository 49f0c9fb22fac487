"""The result of a proof as text and tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from bench.figures import table
from tests.chaos.bounds import BOUNDS, OTHER
from tests.chaos.checker import Late, iterate_late
from tests.chaos.history import FaultRecord
from tests.chaos.proof import Proof
from tests.chaos.violations import KINDS

_SHOWN = 40


def write(proof: Proof, path: Path) -> None:
    """Store the result."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(as_text(proof), encoding="utf-8")


def as_text(proof: Proof) -> str:
    """The tables, the violations, and the worst lateness, in Markdown."""
    verdict = proof.verdict
    kinds = [(kind, verdict.count(kind)) for kind in KINDS]
    parts = [
        f"CHAOS_SECONDS={proof.seconds:.0f} CHAOS_SEED={proof.seed}",
        table(sorted(verdict.checked.items()), ("accounted for", "number")),
        table(kinds, ("violation", "number")),
        table(
            list(_faults(proof)),
            ("fault", "times", "longest (s)", "late at most (s)", "after its end (s)", "bound: stored", "outside"),
        ),
        "\n".join(f"* {one.kind}: {one.subject}: {one.text}" for one in verdict.violations[:_SHOWN]),
        "\n".join(f"* {_line(late)}" for late in list(iterate_late(verdict))[:10]),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _line(late: Late) -> str:
    return f"{late.subject}: {late}"


def _faults(proof: Proof) -> Iterator[tuple[object, ...]]:
    """How often each was on, and the lateness for which it was the cause."""
    for kind in sorted({fault.kind for fault in proof.faults}):
        on = [fault for fault in proof.faults if fault.kind == kind]
        late = [one for one in proof.verdict.lateness if one.cause == kind]
        worst = (f"{_most(one.at - one.due for one in late):.1f}", f"{_most(one.recovery for one in late):.1f}")
        bound = BOUNDS.get(kind, OTHER)
        yield kind, len(on), f"{_most(map(_length, on)):.1f}", *worst, f"{bound.stored:g}", f"{bound.outside:g}"


def _length(fault: FaultRecord) -> float:
    return fault.ended - fault.began


def _most(values: Iterable[float]) -> float:
    return max(values, default=0.0)
