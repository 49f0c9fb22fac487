"""Galera, Sentinel and Redis Cluster on the hosts of a network."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import MySQLdb
import redis

from tests.clusters.network import Host
from tests.harness import Server, connect, eventually
from tests.harness.servers import DATABASE_OPTIONS, install_mariadb

PROVIDER = Path("/usr/lib/galera/libgalera_smm.so")
_AS_MYSQL = ("setpriv", "--reuid=mysql", "--regid=mysql", "--clear-groups", "--pdeathsig=KILL", "--")
"""rsync of a state transfer gives up root's rights, so all of it runs without them."""


class HostServer(Server):
    """A server on a host of the network."""

    def __init__(self, host: Host, command: Sequence[str], *, port: int, url: str, cwd: Path) -> None:
        super().__init__([*host.prefix, *command], port=port, url=url, cwd=cwd)
        self.host = host

    def _responses(self) -> bool:
        try:
            with socket.create_connection((self.host.address, self.port), timeout=1) as connection:
                connection.sendall(self.greeting)
                response = connection.recv(64)
        except OSError as error:
            return isinstance(error, ConnectionResetError)
        return not response.startswith(b"-LOADING")


class GaleraNode(HostServer):
    """A node of the cluster of `hosts`."""

    def __init__(self, host: Host, hosts: Sequence[Host], directory: Path, *options: str) -> None:
        command = [*_AS_MYSQL, "mariadbd", "--no-defaults", f"--datadir={directory / 'data'}", "--port=3306"]
        command += [*DATABASE_OPTIONS, "--innodb-log-file-size=64M", "--bind-address=0.0.0.0"]
        command += [f"--socket={directory / 'mariadb.sock'}"]
        command += [f"--pid-file={directory / 'mariadb.pid'}", f"--tmpdir={directory}", "--binlog-format=ROW"]
        command += ["--wsrep-on=ON", f"--wsrep-provider={PROVIDER}", "--wsrep-sst-method=rsync", "--wsrep-sync-wait=7"]
        command += [f"--wsrep-cluster-address=gcomm://{','.join(one.address for one in hosts)}"]
        command += [f"--wsrep-node-address={host.address}", f"--wsrep-node-name={host.name}", *options]
        url = f"mysql://headline:password-of-tests@{host.address}:3306/headline"
        super().__init__(host, command, port=3306, url=url, cwd=directory)
        self._usual = self.command

    def start(self, *options: str) -> Server:
        """Start it and wait until it takes statements, as a member of the cluster."""
        self.command = [*self._usual, *options]
        super().start()
        eventually(self.is_ready, message=f"{self.host} is not ready")
        return self

    def bootstrap(self) -> None:
        """Start it as the first node."""
        self.start("--wsrep-new-cluster", f"--init-file={self.cwd / 'init.sql'}")

    def rejoin(self) -> None:
        """Start it again after a crash, from the position in its own log, as its systemd unit does."""
        recover = [*self._usual, "--wsrep-recover", "--log-error=/dev/stderr"]
        done = subprocess.run(recover, capture_output=True, text=True, check=False, cwd=self.cwd)
        found = re.search(r"Recovered position:\s*(\S+)", done.stderr)
        assert found, done.stderr
        self.start(f"--wsrep-start-position={found[1]}")

    def is_ready(self) -> bool:
        """Whether it is a synchronised member of the majority."""
        return (self.status("wsrep_ready"), self.status("wsrep_local_state_comment")) == ("ON", "Synced")

    def status(self, name: str) -> str:
        """A status variable; "" while the node does not answer."""
        with suppress(MySQLdb.Error):
            connection = connect(self.url, connect_timeout=1, read_timeout=3)
            try:
                with connection.cursor() as cursor:
                    cursor.execute(f"SHOW STATUS LIKE '{name}'")
                    return str(cursor.fetchone()[1])
            finally:
                connection.close()
        return ""


def make_galera(hosts: Sequence[Host], directory: Path, *options: str) -> list[GaleraNode]:
    """Nodes with the same empty database; the first one is started alone, the others need `start()`."""
    nodes = [GaleraNode(host, hosts, directory / host.name, *options) for host in hosts]
    first = nodes[0]
    install_mariadb(first.cwd, first.cwd / "data")
    for node in nodes[1:]:
        shutil.copytree(first.cwd, node.cwd)
    subprocess.run(["chown", "--recursive", "mysql:mysql", *(str(node.cwd) for node in nodes)], check=True)
    for parent in (directory, *directory.parents):
        if parent.stat().st_uid == os.getuid() and parent.name.startswith("headline-"):
            parent.chmod(0o711)
    directory.chmod(0o711)
    first.bootstrap()
    return nodes


class Redis(HostServer):
    """A Redis on a host."""

    def __init__(self, host: Host, directory: Path, port: int, *options: str) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        command = ["redis-server", "--port", str(port), "--bind", "0.0.0.0", "--dir", str(directory)]
        command += ["--save", "", "--appendonly", "no", "--protected-mode", "no", *options]
        super().__init__(host, command, port=port, url=f"redis://{host.address}:{port}", cwd=directory)

    def client(self) -> Any:
        """A client of this server alone."""
        return redis.Redis(self.host.address, self.port, socket_timeout=1.0, socket_connect_timeout=1.0)


class Sentinel(HostServer):
    """A sentinel of the Redis that `primary` is at first."""

    def __init__(self, host: Host, directory: Path, primary: Redis) -> None:
        directory.mkdir(parents=True)
        (directory / "sentinel.conf").write_text(
            f"port 26379\nbind 0.0.0.0\nprotected-mode no\ndir {directory}\n"
            f"sentinel monitor news {primary.host.address} {primary.port} 2\n"
            "sentinel down-after-milliseconds news 1000\n"
            "sentinel failover-timeout news 3000\n"
        )
        command = ["redis-server", str(directory / "sentinel.conf"), "--sentinel"]
        super().__init__(host, command, port=26379, url="", cwd=directory)


class RedisSet:
    """The Redis servers of a configuration: those for the queue, and one for the cache."""

    def __init__(self, hosts: Sequence[Host], directory: Path) -> None:
        self.hosts = hosts
        self.directory = directory
        self.cache = Redis(hosts[0], directory / "cache", 6390)
        self.queue: list[Redis] = []
        self.others: list[HostServer] = []
        self.url = ""

    def start(self) -> None:
        """Start all of them."""
        for server in self.servers:
            server.start()

    @property
    def servers(self) -> list[HostServer]:
        """All servers."""
        return [self.cache, *self.queue, *self.others]

    def kill(self) -> None:
        """Stop all of them."""
        for server in self.servers:
            server.kill()

    def primaries(self) -> list[Redis]:
        """Those that say that they are primaries."""
        found = []
        for server in self.queue:
            with suppress(redis.RedisError), server.client() as client:
                if client.info("replication")["role"] == "master":
                    found.append(server)
        return found

    def flushall(self) -> None:
        """Empty the queue."""
        for server in self.primaries():
            with server.client() as client:
                client.flushall()


class SentinelSet(RedisSet):
    """A primary and two replicas, with a sentinel on each host."""

    def __init__(self, hosts: Sequence[Host], directory: Path) -> None:
        super().__init__(hosts, directory)
        primary = Redis(hosts[0], directory / hosts[0].name, 6379)
        follow = ["--replicaof", primary.host.address, str(primary.port)]
        self.queue = [primary, *(Redis(host, directory / host.name, 6379, *follow) for host in hosts[1:])]
        self.others = [Sentinel(host, directory / f"sentinel-{host}", primary) for host in hosts]
        self.url = f"redis+sentinel://{','.join(f'{host.address}:26379' for host in hosts)}/news/0"

    def start(self) -> None:
        super().start()
        for sentinel in self.others:
            with redis.Redis(sentinel.host.address, sentinel.port) as client:
                eventually(lambda client=client: _knows_all(client, len(self.hosts)))  # type: ignore[misc]


def _knows_all(client: Any, size: int) -> bool:
    state = client.sentinel_master("news")
    return int(state["num-other-sentinels"]) == size - 1 and int(state["num-slaves"]) == size - 1


class ClusterSet(RedisSet):
    """Three primaries, each with a replica on another host."""

    def __init__(self, hosts: Sequence[Host], directory: Path) -> None:
        super().__init__(hosts, directory)
        options = ["--cluster-enabled", "yes", "--cluster-node-timeout", "2000"]
        self.queue = [
            Redis(host, directory / f"{host}-{port}", port, *options) for port in (7001, 7002) for host in hosts
        ]
        self.url = f"redis+cluster://{','.join(f'{host.address}:7001' for host in hosts)}"

    def start(self) -> None:
        super().start()
        addresses = [f"{server.host.address}:{server.port}" for server in self.queue]
        command = ["redis-cli", "--cluster", "create", *addresses, "--cluster-replicas", "1", "--cluster-yes"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        eventually(lambda: all(map(_is_whole, self.queue)))


def _is_whole(server: Redis) -> bool:
    with server.client() as client:
        return bool(client.execute_command("CLUSTER INFO").get("cluster_state") == "ok")


REDIS_SETS = {"Sentinel": SentinelSet, "Cluster": ClusterSet}
