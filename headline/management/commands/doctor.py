"""`manage.py doctor`: examines the installation and prints its state in plain sentences."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterable
from typing import Any

from django.core.management.base import BaseCommand

from headline.doctor.examine import examine
from headline.doctor.findings import DoctorFinding, Level, worst

_EXIT_CODES = {Level.OK: 0, Level.WARNING: 1, Level.FAILURE: 2}
_MARKS = {Level.OK: "ok", Level.WARNING: "WARNING", Level.FAILURE: "FAILURE"}


class Command(BaseCommand):
    """Examine clock, database, Redis, workers, cron, CDN purge, mail, keys and disk."""

    help = "Examine this installation. Exit code 0: all is well, 1: warnings, 2: failures."
    requires_system_checks: list[str] = []  # they are part of it

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Output for programs, and whether other servers are contacted."""
        parser.add_argument("--json", action="store_true", help="print JSON for programs")
        parser.add_argument("--offline", action="store_true", help="contact neither the mail server nor proxies")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the findings."""
        found = examine(outward=not options["offline"])
        self.stdout.write(_as_json(found) if options["json"] else _as_text(found))
        if code := _EXIT_CODES[worst(found)]:
            sys.exit(code)


def _as_json(found: Iterable[DoctorFinding]) -> str:
    rows = [
        {
            "area": finding.area.value,
            "level": finding.level.value,
            "text": str(finding.text),
            "advice": str(finding.advice),
            "code": finding.code,
        }
        for finding in found
    ]
    return json.dumps({"status": worst(found).value, "findings": rows}, ensure_ascii=False, indent=2)


def _as_text(found: Iterable[DoctorFinding]) -> str:
    return "\n".join(line for finding in found for line in _lines(finding))


def _lines(finding: DoctorFinding) -> list[str]:
    first = f"{_MARKS[finding.level]:8}{finding.area.label}: {finding.text}"
    return [first, f"{'':8}{finding.advice}"] if finding.advice else [first]
