"""The examples of the API in the docs run as they are written."""

from __future__ import annotations

import json
import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction

from articles.checks import run as checks
from articles.models import Article
from articles.roles import Role
from scheduling.models import TaskInfo
from tests.articles.checks.test_checks import found
from tests.articles.factories import APPROVED, make_article, make_member, soon
from tests.articles.image_files import image_bytes
from tests.conftest import Site
from tests.harness import PATIENCE, base_dir

Status = Article.Status


@pytest.fixture
def newsroom(db: None) -> None:
    """The users of the demo newsroom that the examples name."""
    for role, name in ((Role.CHIEF, "chief"), (Role.REVIEWER, "reviewer")):
        user = make_member(role, name)
        user.set_password("headline")
        user.save()


def example(page: str, language: str, about: str) -> str:
    """The block of the page that has `about` in it."""
    blocks = re.findall(rf"^```{language}\n(.*?)^```", (base_dir / page).read_text(encoding="utf-8"), re.DOTALL | re.M)
    (found,) = [block for block in blocks if about in block]
    return str(found)


def run(script: str, site: Site, directory: Path) -> str:
    """What the lines print; only the server's address is another."""
    assert script.count("http://127.0.0.1:8000") == 1
    lines = "set -euo pipefail\n" + script.replace("http://127.0.0.1:8000", site.url)
    done = subprocess.run(
        ["bash", "-c", lines], cwd=directory, capture_output=True, text=True, timeout=2 * PATIENCE, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_example_of_the_readme_moves_what_is_scheduled_next(site: Site, newsroom: None, tmp_path: Path) -> None:
    make_article(status=APPROVED, publish_at=soon(hours=-1))
    article = make_article(status=APPROVED, publish_at=soon(hours=1))
    make_article(status=APPROVED, publish_at=soon(hours=2))
    shown = json.loads(run(example("README.md", "sh", "/schedule/"), site, tmp_path))
    assert shown == {"state": "scheduled", "status_name": "approved", "publish_at": "2029-12-31T23:00:00Z"}
    article.refresh_from_db()
    assert article.publish_at == datetime(2029, 12, 31, 23, tzinfo=UTC)


def test_the_example_of_the_docs_brings_an_article_to_its_time(site: Site, newsroom: None, tmp_path: Path) -> None:
    (tmp_path / "harbour.png").write_bytes(image_bytes())
    shown = run(example("docs/api.md", "sh", "/bulk-actions/"), site, tmp_path)
    article = Article.objects.get()
    assert (article.title, article.status, article.cover_mode) == ("The bridge opens", Status.MANUALLY_APPROVED, "one")
    assert article.publish_at == datetime(2030, 1, 1, tzinfo=UTC)
    assert shown.splitlines() == [f"{article.pk} done ", "987654321 refused The article has been deleted."]
    assert TaskInfo.objects.filter(execute_time=article.publish_at).exists()


@pytest.mark.django_db
def test_the_first_change_of_the_contributing_page_passes_its_test(monkeypatch: pytest.MonkeyPatch) -> None:
    check = example("CONTRIBUTING.md", "python", "def _capitals")
    test = example("CONTRIBUTING.md", "python", "def test_a_headline")
    scope: dict[str, Any] = {**vars(checks), "found": found}
    exec(check + test, scope)
    with pytest.raises(AssertionError), transaction.atomic():
        scope["test_a_headline_in_capitals_is_found"]()
    monkeypatch.setattr(checks, "CHECKS", (*checks.CHECKS, checks.Check(key="capitals", find=scope["_capitals"])))
    scope["test_a_headline_in_capitals_is_found"]()


def test_the_follower_of_the_docs_keeps_its_copy(site: Site, newsroom: None, monkeypatch: pytest.MonkeyPatch) -> None:
    live = make_article(status=Status.PUBLISHED, publish_at=soon(hours=-1))
    source = example("docs/following.md", "python", "def follow").replace("https://news.example", site.url)
    scope: dict[str, Any] = {}
    exec(source, scope)
    copy: dict[int, Any] = {}
    rests: list[int] = []

    def rest(seconds: int) -> None:
        rests.append(seconds)
        if len(rests) == 2:
            raise StopIteration
        live.delete()

    with monkeypatch.context() as patched, pytest.raises(StopIteration):
        patched.setattr("time.sleep", rest)
        scope["follow"](copy)
    assert copy == {}
    assert rests == [5, 5]
