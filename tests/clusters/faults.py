"""Faults of hosts and of the links between them, each a context manager, see `tests.chaos.faults`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager

from tests.chaos.faults import Fault, Scene
from tests.clusters.network import Host
from tests.clusters.servers import GaleraNode, Redis
from tests.clusters.system import HostsSystem
from tests.harness import eventually

_SETTLES_WITHIN = 60.0  # seconds from the end of a fault until all nodes are members again


def _system(scene: Scene) -> HostsSystem:
    assert isinstance(scene.system, HostsSystem)
    return scene.system


def _any_node(scene: Scene) -> GaleraNode:
    return scene.random.choice(_system(scene).stand.nodes)


def _wait_for_members(scene: Scene) -> None:
    """The fault lasts until the cluster is whole."""
    nodes = _system(scene).stand.nodes
    eventually(lambda: _are_members(nodes), _SETTLES_WITHIN, "a node did not join again")


def _are_members(nodes: Sequence[GaleraNode]) -> bool:
    """Whether all are ready in the same view: one that was frozen takes its old view for the present one at first."""
    return len({node.status("wsrep_cluster_conf_id") for node in nodes}) == 1 and all(map(GaleraNode.is_ready, nodes))


@contextmanager
def crash_node(scene: Scene) -> Iterator[None]:
    """`kill -9` of a Galera node, which joins again."""
    node = _any_node(scene)
    node.kill()
    yield
    node.rejoin()


@contextmanager
def freeze_node(scene: Scene) -> Iterator[None]:
    """A Galera node accepts connections and does not respond."""
    with _any_node(scene).frozen():
        yield
    _wait_for_members(scene)


@contextmanager
def crash_host(scene: Scene) -> Iterator[None]:
    """A host loses power: database node, Redis, web server and workers."""
    system, node = _system(scene), _any_node(scene)
    redis_servers = [one for one in system.stand.redis_set.servers if one.host is node.host]
    node.kill()
    for server in redis_servers:
        server.kill()
    system.end_on(node.host)
    yield
    for server in redis_servers:
        server.start()
    node.rejoin()
    system.start_on(node.host)
    system.wait_for(node.host)


def _cut(links: Callable[[Scene], list[tuple[Host, Host]]]) -> Callable[[Scene], AbstractContextManager[None]]:
    @contextmanager
    def fault(scene: Scene) -> Iterator[None]:
        with _system(scene).stand.network.cut(*links(scene)):
            yield
        _wait_for_members(scene)

    return fault


def _one_link(scene: Scene) -> list[tuple[Host, Host]]:
    hosts = _system(scene).stand.network.hosts
    return [scene.random.choice(list(itertools.combinations(hosts, 2)))]


def _minority(scene: Scene) -> list[tuple[Host, Host]]:
    network = _system(scene).stand.network
    return list(network.isolate(scene.random.choice(network.hosts)))


def _all_links(scene: Scene) -> list[tuple[Host, Host]]:
    return list(itertools.combinations(_system(scene).stand.network.hosts, 2))


def _any_primary(scene: Scene) -> Redis:
    servers = _system(scene).stand.redis_set
    return scene.random.choice(servers.primaries() or servers.queue)


@contextmanager
def crash_primary(scene: Scene) -> Iterator[None]:
    """`kill -9` of a primary Redis; it comes back as what the others make of it."""
    server = _any_primary(scene)
    server.kill()
    yield
    server.start()


@contextmanager
def freeze_primary(scene: Scene) -> Iterator[None]:
    """A primary Redis accepts commands and does not respond."""
    with _any_primary(scene).frozen():
        yield


@contextmanager
def lose_shard(scene: Scene) -> Iterator[None]:
    """A primary Redis and its replicas are gone, and come back empty; of Sentinel, all servers."""
    servers, primary = _system(scene).stand.redis_set, _any_primary(scene)
    gone = [primary]
    for server in servers.queue:
        if server is not primary:
            with server.client() as client:
                if client.info("replication").get("master_host") == primary.host.address:
                    gone.append(server)
    with ExitStack() as stack:
        for server in gone:
            server.kill()
            stack.callback(server.start)
        yield


@contextmanager
def split_sentinels(scene: Scene) -> Iterator[None]:
    """Two of three sentinels do not respond, so that none can be elected, and the primary crashes."""
    with ExitStack() as stack:
        for sentinel in _system(scene).stand.redis_set.others[1:]:
            stack.enter_context(sentinel.frozen())
        stack.enter_context(crash_primary(scene))
        yield


GALERA_KINDS: Mapping[str, Fault] = {
    "database node crashed": crash_node,
    "database node frozen": freeze_node,
    "host crashed": crash_host,
    "link between two hosts cut": _cut(_one_link),
    "host cut off from the others": _cut(_minority),
    "all hosts cut off": _cut(_all_links),
}
_REDIS: Mapping[str, Fault] = {
    "primary Redis crashed": crash_primary,
    "primary Redis frozen": freeze_primary,
    "Redis shard lost": lose_shard,
}
KINDS: Mapping[str, Mapping[str, Fault]] = {
    "Sentinel": {**GALERA_KINDS, **_REDIS, "no majority of sentinels": split_sentinels},
    "Cluster": {**GALERA_KINDS, **_REDIS},
}
"""The faults of each configuration; they follow one another, as two at once would leave no majority."""
