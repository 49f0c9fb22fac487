"""Where installations are: the commits from whose tables an upgrade is tested, and their databases.

Each differs from the one before in tables, triggers, stored values or the list of applied migrations. Commits between
them that changed migrations made the same database, or two leaves of the graph, from which `migrate` made none.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.harness import base_dir

STARTING_POINTS = {
    "6d5387fe": "articles.0003_audit_guard",
    "cb24c55a": "articles.0005_saved_views",
    "28192eda": "articles.0012_search",
    "c606ef36": "articles.0004_channels_of_newer_texts, beside 0004_preferences",
    "509d5d88": "articles.0013_one_embargo_index",
    "72d90660": "headline_api.0002_names",
    "ec935f8d": "articles.0014_taggings",
    "818c6ff5": "articles.0015_text_changed_at",
    "aed7f176": "accounts.0001_try_counts, headline_api.0003_api_tokens",
    "378ac264": "articles.0016_what_approvals_cover",
    "9c1de374": "scheduling.0002_failing_tasks_and_refused_work",
    "a29445bd": "articles.0017_change_feed, scheduling.0003_installation",
    "e5f5ccd1": "articles.0018_locks_of_foreign_keys",
    "3fbdb677": "articles.0019_links_and_audit_guard",
    "917730e8": "the same, with triggers of an edited articles.0017_change_feed",
    "b5cb79d5": "articles.0020_standard_terms",
    "33d02662": "articles.0021_standard_labels",
    "b8b183b3": "articles.0022_admin_labels",
    "35b44c68": "scheduling.0004_lateness_help_text",
    "c4373071": "articles.0023_notification_related_name, which was replaced",
    "dd76401b": "articles.0023_names_of_permissions",
    "4e79e575": "articles.0024_text_lines, and another trigger",
    "11b9f246": "articles.0025_stamps_and_unused_indexes, and another trigger",
    "3c371893": "articles.0026_article_templates",
    "2d91ba28": "articles.0027_search_and_social_texts",
    "7bec2a99": "articles.0028_review_stages",
    "8159777d": "articles.0029_notes_and_assignments",
    "ae37582e": "articles.0031_forms_submitted_once, scheduling.0005_worker_metrics, and another trigger",
    "0a887893": "articles.0032_shorter_trigger",
    "206687e8": "articles.0033_unseen_schedules",
    "2a74d5ec": "articles.0035_lists_by_goes_live_at",
    "48eb04bd": "scheduling.0006_measure_after_commit",
    "1594069a": "headline_api.0004_etag_of_repeated_response",
    "5fb3ce19": "articles.0038_proposed_changes, headline_api.0005_service_accounts",
    "e9e122ba": "articles.0041_article_language, headline_api.0006_operators_of_programs",
}
"""Commit, and the last migrations that it applies. Earlier ones changed articles.0001_initial: no upgrade from them."""


class NoHistory(Exception):
    """The repository lacks the commit, as a shallow clone does."""


def make(commit: str, url: str, directory: Path) -> dict[str, Any]:
    """Fill the database at `url` as that version did, and return what its readers saw. Raises `NoHistory`."""
    source = directory / commit
    _unpack(commit, source)
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("TEST_", "DJANGO_", "REDIS_"))},
        "DATABASE_URL": url,
        "DATA_DIR": str(directory),
        "DJANGO_DEBUG": "on",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, str(Path(__file__).with_name("earlier.py"))]
    done = subprocess.run(command, cwd=source, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    seen: dict[str, Any] = json.loads(done.stdout)
    return seen


def _unpack(commit: str, directory: Path) -> None:
    archive = subprocess.run(["git", "archive", commit], cwd=base_dir, capture_output=True, check=False)
    if archive.returncode != 0:
        raise NoHistory(f"{commit} is not in this clone; run git fetch --unshallow")
    directory.mkdir()
    subprocess.run(
        ["tar", "--extract", "--exclude=tests", "--exclude=bench"], cwd=directory, input=archive.stdout, check=True
    )
