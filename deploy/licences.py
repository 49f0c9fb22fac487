"""Lists the licences of the components of an SBOM by CycloneDX, in Markdown."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

_HEAD = """\
# Licences

The packages that Headline runs on, from [requirements.lock](../requirements.lock), as `make sbom` finds them.
Headline's own is in [LICENSE](../LICENSE).
"""


def _names(component: Mapping[str, Any]) -> list[str]:
    """Identifiers of SPDX; if there are none, the package's own words."""
    entries = component.get("licenses", [])
    known = [entry.get("expression") or entry["license"].get("id") for entry in entries]
    own = [
        entry["license"]["name"].splitlines()[0].rpartition(":: ")[2]
        for entry in entries
        if "license" in entry and "name" in entry["license"]
    ]
    return list(filter(None, known)) or own


def _lines(components: list[dict[str, Any]]) -> Iterator[str]:
    """A line for each licence, with its packages."""
    packages = defaultdict(list)
    for component in sorted(components, key=lambda component: str(component["name"]).lower()):
        packages[", ".join(dict.fromkeys(_names(component))) or "see the package"].append(str(component["name"]))
    for licence in sorted(packages, key=str.lower):
        yield f"* {licence}: {', '.join(f'`{name}`' for name in packages[licence])}"


if __name__ == "__main__":
    bill = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    sys.stdout.write("\n".join([_HEAD, *_lines(bill["components"])]) + "\n")
