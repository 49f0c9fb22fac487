"""Several hosts on Galera, Sentinel and Redis Cluster, for `make clusters`."""

from __future__ import annotations

import json
import os
import random
import time
from pathlib import Path

import pytest

from bench.figures import table
from tests.chaos.proof import Load, say
from tests.chaos.report import as_text
from tests.clusters.measures import latencies, throughput
from tests.clusters.proof import prove
from tests.clusters.servers import REDIS_SETS
from tests.clusters.stand import ClusterStand
from tests.harness import base_dir

pytestmark = [pytest.mark.clusters, pytest.mark.django_db]  # whose tables the stand copies

SECONDS = float(os.environ.get("CLUSTER_SECONDS") or 120)


def test_one_of_three_nodes_commits_what_workers_on_all_have_locked() -> None:
    """Row locks of a node do not hold on the others: the certification at the commit lets one of them pass."""
    with ClusterStand("Sentinel") as stand:
        ids = [stand.run("tests.clusters.add") for _number in range(3)]
        begin = str(time.time() + 8)
        workers = [
            stand.start("-m", "tests.clusters.run", json.dumps(ids), begin, env={"DATABASE_URL": stand.database_url(n)})
            for n in range(3)
        ]
        assert [worker.wait() for worker in workers] == [0, 0, 0], "".join(worker.output for worker in workers)
        say("".join(worker.output for worker in workers))
        assert sorted(int(worker.lines[-1]) for worker in workers) == [0, 0, 3], "executed"
        assert any("collided" in worker.output for worker in workers)
        assert sorted(stand.rows("SELECT task_id FROM probe_effect")) == sorted((one,) for one in ids)


@pytest.mark.parametrize("nodes", [1, 2, 3])
def test_workers_on_several_nodes_publish_each_article_once(nodes: int) -> None:
    results = []
    with ClusterStand("Sentinel", nodes=nodes) as stand:
        for workers in (1, 2, 4):
            rate, conflicts = throughput(stand, workers)
            results.append((nodes, workers, f"{rate:,.0f}", conflicts))
            doubled = stand.rows(
                "SELECT article_id FROM articles_auditentry WHERE new_status = 9"
                " GROUP BY article_id HAVING COUNT(*) > 1"
            )
            assert not doubled
    say("\n" + table(results, ("nodes", "workers", "articles a second", "conflicts")))


def test_hosts_share_their_keys_in_redis_and_see_what_others_have_committed() -> None:
    code = "from scheduling.identity import key_prefix; print(key_prefix())"
    checks = "from django.core.checks import run_checks; print(run_checks(databases=['default']))"
    with ClusterStand("Sentinel") as stand:
        urls = [{"DATABASE_URL": stand.database_url(number)} for number in range(3)]
        prefixes = {stand.call("manage.py", "shell", "--no-imports", "-c", code, env=url) for url in urls}
        assert len(prefixes) == 1
        assert "E017" not in stand.call("manage.py", "shell", "--no-imports", "-c", checks)
        for node in stand.nodes:
            stand.execute(node, "SET GLOBAL wsrep_sync_wait = 1")
        assert "scheduling.E017" in stand.call("manage.py", "shell", "--no-imports", "-c", checks)


def test_two_data_centres_with_50_ms_between_them_keep_the_schedule() -> None:
    results: dict[str, dict[str, float]] = {}
    with ClusterStand("Sentinel") as stand:
        near, _also_near, far = stand.network.hosts
        results["one data centre"] = latencies(stand, near)
        with stand.network.delayed([far], 0.05):
            results["two nodes"] = latencies(stand, near)
            results["one node"] = latencies(stand, far)
    lines = [(name, *(f"{found[name]:.1f}" for found in results.values())) for name in results["two nodes"]]
    say("\n" + table(lines, ("median in ms", *results)))
    assert results["one node"]["commit"] > 40, "the delay is missing"


@pytest.mark.parametrize("redis_kind", REDIS_SETS)
def test_every_article_is_accounted_for_whatever_host_or_link_fails(redis_kind: str, tmp_path: Path) -> None:
    seed = int(os.environ.get("CLUSTER_SEED") or random.randrange(10**6))
    say(f"\n{redis_kind}: CLUSTER_SEED={seed}")
    with ClusterStand(redis_kind) as stand:
        proof = prove(stand, tmp_path, redis_kind, seed=seed, seconds=SECONDS, load=Load(editors=2, readers=1))
    text = as_text(proof)
    (base_dir / "var").mkdir(exist_ok=True)
    (base_dir / "var" / f"clusters-{redis_kind.lower()}.md").write_text(text, encoding="utf-8")
    say(text)
    assert not proof.verdict.violations, f"{text}\n{proof.history}"
