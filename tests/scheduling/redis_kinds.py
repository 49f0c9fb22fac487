"""Real servers for each kind of Redis URL."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import redis

from tests.harness import Server, eventually, free_port, start_redis

HOST = "127.0.0.1"
PASSWORD = "p@ss:word"  # noqa: S105
QUOTED = "p%40ss%3Aword"


@dataclass
class Installation:
    """Servers, their URL, and a client that sees all their keys."""

    url: str
    servers: list[Server]
    client: Any

    def kill(self) -> None:
        """Kill all servers."""
        for server in self.servers:
            server.kill()


def plain(directory: Path) -> Installation:
    """`redis://` with a password."""
    server = start_redis(directory, "--requirepass", PASSWORD)
    return Installation(
        f"redis://:{QUOTED}@{HOST}:{server.port}/3", [server], redis.Redis(HOST, server.port, 3, PASSWORD)
    )


def tls(directory: Path) -> Installation:
    """`rediss://` with a self-signed certificate."""
    key, certificate = directory / "key.pem", directory / "certificate.pem"
    directory.mkdir(parents=True, exist_ok=True)
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", f"/CN={HOST}"]
    command += ["-addext", f"subjectAltName=IP:{HOST}", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    options = ["--tls-cert-file", str(certificate), "--tls-key-file", str(key), "--tls-auth-clients", "no"]
    server = start_redis(directory, *options, tls=True)
    url = f"rediss://{HOST}:{server.port}/0?ssl_ca_certs={certificate}"
    return Installation(url, [server], redis.Redis.from_url(url))


def unix(directory: Path) -> Installation:
    """`unix://`"""
    path = directory / "redis.sock"
    server = start_redis(directory, "--unixsocket", str(path))
    url = f"unix://{path}?db=2"
    return Installation(url, [server], redis.Redis.from_url(url))


def sentinel(directory: Path) -> Installation:
    """`redis+sentinel://` with a master, a replica and a sentinel; the first sentinel of the URL does not exist."""
    secrets = ["--requirepass", PASSWORD, "--masterauth", PASSWORD]
    master = start_redis(directory / "master", *secrets)
    replica = start_redis(directory / "replica", *secrets, "--replicaof", HOST, str(master.port))
    watcher = _start_sentinel(directory / "sentinel", master)
    with redis.Redis(HOST, watcher.port) as client:
        eventually(lambda: [r for r in client.sentinel_slaves("news") if not r["is_disconnected"]])
        eventually(lambda: _is_in_step(replica))
    url = f"redis+sentinel://:{QUOTED}@{HOST}:{free_port()},{HOST}:{watcher.port}/news/4"
    return Installation(url, [master, replica, watcher], redis.Redis(HOST, master.port, 4, PASSWORD))


def _start_sentinel(directory: Path, master: Server) -> Server:
    directory.mkdir(parents=True)
    port = free_port()
    (directory / "sentinel.conf").write_text(
        f"port {port}\nbind {HOST}\ndir {directory}\n"
        f"sentinel monitor news {HOST} {master.port} 1\n"
        f"sentinel auth-pass news {PASSWORD}\n"
        "sentinel down-after-milliseconds news 500\n"
        "sentinel failover-timeout news 3000\n"
    )
    command = ["redis-server", str(directory / "sentinel.conf"), "--sentinel"]
    return Server(command, port=port, url="", cwd=directory).start()


def _is_in_step(replica: Server) -> bool:
    with redis.Redis(HOST, replica.port, password=PASSWORD) as client:
        return bool(client.info("replication")["master_link_status"] == "up")


def cluster(directory: Path) -> Installation:
    """`redis+cluster://` with three masters."""
    nodes = [
        start_redis(
            directory / str(number),
            *("--cluster-enabled", "yes", "--cluster-node-timeout", "1000", "--cluster-port", str(free_port())),
        )
        for number in range(3)
    ]
    addresses = [f"{HOST}:{node.port}" for node in nodes]
    command = ["redis-cli", "--cluster", "create", *addresses, "--cluster-replicas", "0", "--cluster-yes"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    eventually(lambda: all(_cluster_is_whole(node) for node in nodes))
    client = redis.RedisCluster(HOST, nodes[0].port)
    return Installation(f"redis+cluster://{','.join(addresses[:2])}", nodes, client)


def _cluster_is_whole(node: Server) -> bool:
    with redis.Redis(HOST, node.port) as client:
        return bool(client.execute_command("CLUSTER INFO").get("cluster_state") == "ok")


KINDS: dict[str, Callable[[Path], Installation]] = {
    "redis": plain,
    "rediss": tls,
    "unix": unix,
    "redis+sentinel": sentinel,
    "redis+cluster": cluster,
}


class Installations:
    """Starts each kind at its first use, and stops all together."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._started: dict[str, Installation] = {}
        self._stack = ExitStack()

    def __getitem__(self, kind: str) -> Installation:
        if kind not in self._started:
            self._started[kind] = installation = KINDS[kind](self._directory / kind)
            self._stack.callback(installation.kill)
            self._stack.callback(installation.client.close)
        return self._started[kind]

    def close(self) -> None:
        self._stack.close()
