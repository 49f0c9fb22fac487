"""Servers and results of the benchmarks."""

from __future__ import annotations

import json
import os
from pathlib import Path

from tests.harness import Stand, base_dir

RESULTS = base_dir / "var" / "bench"


def stand() -> Stand:
    """Servers that write ahead to disk, as in production: MariaDB at each commit, Redis once a second."""
    return Stand(settings="headline.settings", mariadb=["--innodb-buffer-pool-size=1G"], redis=["--appendonly", "yes"])


def save(name: str, figures: object) -> Path:
    """Write the figures to `var/bench/<name>.json`."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(figures, indent=2, default=str) + "\n")
    return path


def machine() -> str:
    """One line on what the figures were measured with."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} cores, {memory:.0f} GiB, everything on one machine over loopback"
