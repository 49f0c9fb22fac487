"""A minute of refused audit entries while articles, an update and a release become due; then it is repaired."""

from __future__ import annotations

import sys

import pytest

from scheduling.models import WorkerHeartbeat
from tests.articles.refused_audit import Work, outlast, ways
from tests.conftest import StartManage
from tests.harness import eventually

pytestmark = [pytest.mark.chaos, pytest.mark.django_db(transaction=True)]

OUTAGE = 60.0


@pytest.mark.parametrize("queue", ["redis", "database"])
def test_everything_is_out_within_15_seconds_of_the_repair(
    start_manage: StartManage, queue: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the default pauses and no intervention; the dashboard names the trouble within 5 seconds."""
    work = Work.plan(articles=200)
    start_manage("poll", "--forever", "--processes", "2", env={"REDIS_URL": ""} if queue == "database" else None)
    eventually(lambda: WorkerHeartbeat.objects.count() == 2)
    timing = outlast(work, ways()[0], seconds=OUTAGE)
    with capsys.disabled():
        sys.stdout.write(
            f"\n{queue}: named after {timing.named:.1f} s, out {timing.recovered:.1f} s after the repair\n"
        )
    assert timing.named < 5
    assert timing.recovered < 15
