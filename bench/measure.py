"""The data types of a benchmark: measure, figures, contestants and goals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bench.stand import Servers

Values = Mapping[str, float]
"""What one run measured, by the name of the figure; a figure that does not apply is left out."""

Rounds = Sequence[Values]
"""What a contestant's runs measured, in order."""

Results = Mapping[str, Rounds]
"""The rounds of each contestant of a measure, by its name."""


@dataclass(frozen=True)
class Figure:
    """A column of the table."""

    name: str
    unit: str
    more_is_better: bool = False

    @property
    def title(self) -> str:
        """Name and unit."""
        return f"{self.name}, {self.unit}" if self.unit else self.name


@dataclass(frozen=True)
class Contestant:
    """A row of the table; `run` takes the number of the round."""

    name: str
    run: Callable[[int], Values]
    rounds: int | None = None  #: at most, for a slow one that is far behind; None: all


@dataclass(frozen=True)
class Goal:
    """A figure of `ours` is at most or at least `limit`, or `limit` times that of `theirs`."""

    figure: str
    ours: str
    is_met: Callable[[float, float], bool]  #: `operator.le` or `operator.ge`
    limit: float
    theirs: str | None = None


@dataclass(frozen=True)
class Measure:
    """What is measured. Ratios compare all contestants with the first one."""

    name: str
    title: str
    description: str
    figures: Sequence[Figure]  #: empty: whatever the runs return, in milliseconds
    contestants: Callable[[Servers], Sequence[Contestant]]  #: prepares what they need
    goals: Sequence[Goal] = ()
    is_large: bool = False  #: takes minutes, and runs only when asked for
