"""The kinds of violations that the checker finds."""

from __future__ import annotations

LOST, TWICE, EARLY, ZOMBIE, UNEXPLAINED, LATE = "lost", "twice", "early", "zombie", "unexplained", "late"
KINDS = (LOST, TWICE, EARLY, ZOMBIE, UNEXPLAINED, LATE)
