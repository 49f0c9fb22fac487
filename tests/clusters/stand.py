"""A stand whose MariaDB is a Galera cluster and whose Redis is Sentinel's or a cluster, on the hosts of a network."""

from __future__ import annotations

import os
from contextlib import closing
from typing import Any

import MySQLdb

from tests.clusters.network import Network
from tests.clusters.servers import REDIS_SETS, GaleraNode, RedisSet, make_galera
from tests.harness import Stand, Workspace, connect
from tests.harness.schema import load


class ClusterStand(Stand):
    """Three hosts, each with a Galera node and its part of Redis; a context manager.

    Its own connections go to the first node that answers.
    """

    def __init__(self, redis_kind: str, *, nodes: int = 3) -> None:
        super().__init__(settings="tests.settings")
        self._redis_kind = redis_kind
        self._size = nodes
        self.network: Network
        self.nodes: list[GaleraNode]
        self.redis_set: RedisSet

    def __enter__(self) -> ClusterStand:
        directory = self._resources.enter_context(Workspace()).path
        self.network = self._resources.enter_context(Network(3))
        hosts = self.network.hosts
        (directory / "galera").mkdir()
        self.nodes = make_galera(hosts[: self._size], directory / "galera")
        for node in self.nodes:
            self._resources.callback(node.kill)
        self.mariadb = self.nodes[0]
        load(self.mariadb.url)
        for node in self.nodes[1:]:
            node.start()
        self.redis_set = REDIS_SETS[self._redis_kind](hosts, directory / "redis")
        self._resources.callback(self.redis_set.kill)
        self.redis_set.start()
        self.environment = {
            **os.environ,
            "DATABASE_URL": self.database_url(0),
            "REDIS_URL": self.redis_set.url,
            "REDIS_CACHE_URL": f"{self.redis_set.cache.url}/1",
            "DATA_DIR": str(directory / "data"),
            "DJANGO_DEBUG": "off",
            "DJANGO_SECRET_KEY": "a-key-that-guards-nothing-here-but-has-to-be-long-and-mixed-1",
            "DJANGO_SETTINGS_MODULE": "tests.settings",
            "TEST_SETTINGS": '{"SCHEDULING_KEY_PREFIX": "auto"}',
        }
        return self

    def database_url(self, first: int) -> str:
        """The URL for a host: its own node, then the others."""
        nodes = [*self.nodes[first:], *self.nodes[:first]]
        hosts = ",".join(f"{node.host.address}:{node.port}" for node in nodes)
        return f"mysql://headline:password-of-tests@{hosts}/headline"

    def execute(self, node: GaleraNode, sql: str) -> None:
        """Execute a statement on one node."""
        with closing(connect(node.url)) as connection:
            connection.cursor().execute(sql)

    def connect(self, **options: int) -> Any:
        """To the first node that takes statements."""
        options = {"connect_timeout": 1, **options}
        last: MySQLdb.Error | None = None
        for node in self.nodes:
            try:
                connection = connect(node.url, **options)
                connection.query("DO 0")
                return connection
            except MySQLdb.Error as error:
                last = error
        raise last or AssertionError("no nodes")

    def queue(self) -> Any:
        """The Redis servers of the queue, which can be emptied."""
        return self.redis_set
