"""A cron-only installation: Debian's cron, no worker, and an article goes live on time."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings

from articles.models import Article
from articles.task_types import PUBLISH
from scheduling.database import read_database_clock
from scheduling.models import TaskInfo, TaskInfoLog
from tests.articles.factories import make_article
from tests.conftest import Manage
from tests.harness import Process, eventually

# Reads until its owner closes the pipe, which the kernel does for a killed one too, and restores the crontab.
_RESTORE = 'cat > /dev/null; if [ -s "$1" ]; then crontab "$1"; else crontab -r; fi'


@pytest.fixture
def own_crontab(tmp_path: Path) -> Iterator[None]:
    """This user's real crontab, which is restored after the test."""
    saved = tmp_path / "saved"
    saved.write_text(subprocess.run(["crontab", "-l"], capture_output=True, text=True, check=False).stdout)
    command = ["sh", "-c", _RESTORE, "sh", str(saved)]
    generation = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
    yield
    generation.communicate()


@pytest.fixture
def cron(own_crontab: None) -> Iterator[None]:
    """The daemon, unless this machine already runs one."""
    with Process(["cron", "-f"]) as daemon:
        yield
        assert daemon.alive() or "can't lock" in daemon.output, daemon.output


@pytest.fixture
def installed(cron: None, manage: Manage) -> Iterator[None]:
    """Our lines in the crontab, until the jobs they started have ended."""
    done = manage("crontab", "add")
    assert done.returncode == 0, done.stderr
    yield
    manage("crontab", "remove")
    for process in _jobs():
        os.kill(process, signal.SIGTERM)
    eventually(lambda: not _jobs())


def _jobs() -> list[int]:
    """Processes that the installed lines started: they alone have our file in their environment."""
    mark = f"ENV_FILE={settings.CRON_ENVIRONMENT}\0".encode()
    return [int(process.name) for process in Path("/proc").glob("[0-9]*") if mark in _environment(process)]


def _environment(process: Path) -> bytes:
    try:
        return (process / "environ").read_bytes()
    except OSError:  # ended since, or of another user
        return b""


@pytest.mark.long
def test_cron_alone_publishes_an_article_on_time(installed: None) -> None:
    """R3.2, R3.5"""
    soonest = read_database_clock() + timedelta(seconds=10)  # by which the daemon has seen the new lines
    minute = soonest.replace(second=0, microsecond=0) + timedelta(minutes=1, seconds=5)
    article = make_article(status=Article.Status.APPROVED, publish_at=minute)
    eventually(lambda: Article.objects.get(pk=article.pk).status == Article.Status.PUBLISHED, timeout=150)
    eventually(lambda: TaskInfoLog.objects.get(task_type=PUBLISH).lateness_ms is not None)  # once it has committed
    lateness = TaskInfoLog.objects.get(task_type=PUBLISH).lateness_ms
    assert lateness is not None
    assert 0 <= lateness < 30_000  # the next minute's job would be later
    assert not TaskInfo.objects.exists()
    eventually(lambda: "loaded=" in settings.CRON_LOG.read_text())
