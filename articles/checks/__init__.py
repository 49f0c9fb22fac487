"""Checks of an article before it goes live: hints for its editors, which stop nothing."""

from articles.checks.draft import Draft
from articles.checks.run import CHECKS, Check, Problem, lacking, problems

__all__ = ["CHECKS", "Check", "Draft", "Problem", "lacking", "problems"]
