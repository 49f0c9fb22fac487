"""The jobs that `manage.py crontab add` installs work in cron's empty environment."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from django.conf import settings

from articles.models import Article
from scheduling.models import TaskInfo, TaskInfoLog
from tests.articles.factories import make_article, soon
from tests.conftest import Manage, database_environment
from tests.harness import Process, eventually

Crontab = Callable[[str], str]

# Keeps the installed lines beside itself, so that this machine's own crontab is left alone.
FAKE_CRONTAB = """#!/bin/sh
case $1 in
    -l) cat "$0.installed" 2> /dev/null ;;
    *) cat "$1" > "$0.installed" ;;
esac
"""
OTHER_JOB = "5 4 * * * /usr/bin/backup  # not ours\n"


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The file that holds the lines of the crontab, among them an unrelated job."""
    program = tmp_path / "crontab"
    program.write_text(FAKE_CRONTAB)
    program.chmod(0o755)
    file = tmp_path / "crontab.installed"
    file.write_text(OTHER_JOB)
    return file


@pytest.fixture
def crontab(installed: Path, manage: Manage) -> Crontab:
    """`crontab("add")` runs `manage.py crontab add` with the crontab program above and returns its output."""
    path = f"{installed.parent}:{os.environ['PATH']}"

    def run(verb: str) -> str:
        done = manage("crontab", verb, env={"PATH": path})
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def _commands(installed: Path) -> list[str]:
    return re.findall(r"^\* \* \* \* \* (.+) # django-cronjobs for headline$", installed.read_text(), re.MULTILINE)


def _as_cron_does(command: str) -> Process:
    return Process(["sh", "-c", command], env={"PATH": "/usr/bin:/bin", "HOME": "/"}, cwd=Path("/"))


def test_both_jobs_are_installed_for_each_minute_and_removed(crontab: Crontab, installed: Path) -> None:
    """R3.2"""
    crontab("add")
    crontab("add")
    assert len(_commands(installed)) == 2
    shown = crontab("show")
    assert "'refresh'" in shown
    assert "'poll', '--for', '60'" in shown
    crontab("remove")
    assert installed.read_text() == OTHER_JOB
    assert not settings.CRON_ENVIRONMENT.exists()


def test_secrets_are_readable_for_the_owner_only(crontab: Crontab, installed: Path) -> None:
    settings.CRON_ENVIRONMENT.touch(mode=0o644)
    crontab("add")
    assert "DATABASE_URL" in settings.CRON_ENVIRONMENT.read_text()
    assert stat.S_IMODE(settings.CRON_ENVIRONMENT.stat().st_mode) == 0o600
    assert "sqlite" not in installed.read_text()
    assert "mysql" not in installed.read_text()


def test_rotated_secrets_are_reported_until_they_are_installed(crontab: Crontab, manage: Manage) -> None:
    crontab("add")
    assert "headline.W002" not in manage("check").stderr
    warned = manage("check", env={"METRICS_TOKEN": "hunter2"}).stderr
    assert "METRICS_TOKEN" in warned and "crontab add" in warned and "hunter2" not in warned


def test_the_jobs_read_the_file_that_holds_the_environment(installed: Path, manage: Manage, tmp_path: Path) -> None:
    """Nothing is copied, so a rotated secret counts from the next minute on."""
    file, path = tmp_path / "headline.env", f"{installed.parent}:{os.environ['PATH']}"
    names = ("DATABASE_URL", "REDIS_URL", "REDIS_CACHE_URL", "DATA_DIR", "DJANGO_DEBUG")
    given = {**database_environment(), "PATH": path}
    file.write_text("".join(f"{name}={given[name]}\n" for name in names if name in given))
    done = manage("crontab", "add", env={"PATH": path, "ENV_FILE": str(file)})
    assert done.returncode == 0, done.stderr
    assert not settings.CRON_COPY.exists()
    assert all(f"ENV_FILE={file} " in command for command in _commands(installed))
    refused = manage("crontab", "add", env={"PATH": path, "ENV_FILE": str(file), "METRICS_TOKEN": "hunter2"})
    assert refused.returncode == 1
    assert "METRICS_TOKEN" in refused.stderr and "hunter2" not in refused.stderr
    manage("crontab", "remove", env={"PATH": path, "ENV_FILE": str(file)})
    assert file.exists()


def test_an_installed_job_publishes_due_articles(crontab: Crontab, installed: Path) -> None:
    """R3.2: cron runs the lines, the due task is executed and then removed."""
    article = make_article(status=Article.Status.APPROVED, publish_at=soon(seconds=1))
    crontab("add")
    with _as_cron_does(_commands(installed)[1]):
        eventually(lambda: Article.objects.get(pk=article.pk).status == Article.Status.PUBLISHED)
    assert not TaskInfo.objects.exists()
    assert TaskInfoLog.objects.get().status == TaskInfoLog.Status.EXECUTED


def test_the_installed_refresh_succeeds_and_logs_its_report(crontab: Crontab, installed: Path) -> None:
    """R3.2"""
    settings.CRON_LOG.unlink(missing_ok=True)
    crontab("add")
    with _as_cron_does(_commands(installed)[0]) as job:
        assert job.wait() == 0
    assert "loaded=" in settings.CRON_LOG.read_text()
