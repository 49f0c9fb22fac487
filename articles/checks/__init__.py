"""Checks of an article before it goes live: hints for its editors, which stop nothing."""

from articles.checks.draft import Draft as Draft
from articles.checks.run import (
    CHECKS as CHECKS,
    Check as Check,
    DraftProblem as DraftProblem,
    lacking as lacking,
    problems as problems,
)
