"""A proof on several hosts: the editors, readers, history and checker of `tests.chaos`, with other faults."""

from __future__ import annotations

import math
import random
import time
from pathlib import Path

from tests.chaos.faults import Scene
from tests.chaos.history import FaultRecord, History, now
from tests.chaos.newsroom import Newsroom
from tests.chaos.outside import Outside
from tests.chaos.proof import Load, Proof, account, editors_at_work, readers_at_work, settle
from tests.clusters.faults import KINDS
from tests.clusters.network import OWN_ADDRESS
from tests.clusters.stand import ClusterStand
from tests.clusters.system import HostsSystem

SHORTEST, LONGEST = 0.5, 20.0  # seconds of a fault: Galera excludes a node after 5 s
_CALM = 3.0  # seconds between two faults
SETTINGS = '{"SCHEDULING_KEY_PREFIX": "auto"}'  # the identity of the database, as in production


def prove(stand: ClusterStand, directory: Path, redis_kind: str, *, seed: int, seconds: float, load: Load) -> Proof:
    """Run a proof; the seed draws the order of the faults, their lengths and their hosts."""

    def make_system(outside: Outside) -> HostsSystem:
        return HostsSystem(stand, directory, outside=outside.environment, settings=SETTINGS)

    def work(newsroom: Newsroom, scene: Scene) -> float:
        with readers_at_work(newsroom, seed, load), editors_at_work(newsroom, seed, load):
            run_faults(scene, redis_kind, seconds)
        return settle(scene)

    verdict, history = account(
        stand, directory, work, seed=seed, settings=SETTINGS, make_system=make_system, address=OWN_ADDRESS
    )
    faults = [one for one in History.read(history) if isinstance(one, FaultRecord)]
    return Proof(seed, seconds, verdict, faults, history)


def run_faults(scene: Scene, redis_kind: str, seconds: float) -> None:
    """One fault after the other, each kind once before any is repeated, until the time is over."""
    choose, deadline = random.Random(scene.random.getrandbits(32)), time.monotonic() + seconds
    kinds: list[str] = []
    while time.monotonic() < deadline:
        kinds = kinds or choose.sample(sorted(KINDS[redis_kind]), len(KINDS[redis_kind]))
        kind, began = kinds.pop(), now()
        duration = math.exp(choose.uniform(math.log(SHORTEST), math.log(LONGEST)))
        with KINDS[redis_kind][kind](scene):
            time.sleep(duration)
        scene.history.add(FaultRecord(began=began, ended=now(), kind=kind, holds=None))
        time.sleep(_CALM)
