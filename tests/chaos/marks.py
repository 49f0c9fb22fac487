"""The marks in headlines and texts, by which they are recognised wherever they appear."""

from __future__ import annotations

import re

MARK = re.compile(r"Mark(\d+)v(\d+)e")
"""A story's number and its text's, in each headline and text."""
