"""Versions of all software in a run."""

from __future__ import annotations

import re
import subprocess
import sys

from bench.stand import PEER_PYTHON, Servers

PEERS = (
    "Django", "celery", "dramatiq", "django-tasks-db", "wagtail", "wagtail-cache", "pywebpush", "gunicorn", "redis",
)  # fmt: skip


def versions(servers: Servers) -> str:
    """Python, servers, and the peers' packages."""
    ((mariadb,),) = servers.rows("SELECT VERSION()")
    info = servers.client(0).info("server")
    python = ".".join(map(str, sys.version_info[:3]))
    return f"Python {python}, MariaDB {mariadb.partition('-')[0]}, Redis {info['redis_version']}, {peers()}, {wrk()}"


def peers() -> str:
    """The packages of the peers' environment."""
    command = [str(PEER_PYTHON), "-m", "pip", "--disable-pip-version-check", "freeze"]
    frozen = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    installed = dict(line.split("==") for line in frozen.splitlines() if "==" in line)
    return ", ".join(f"{name} {installed[name]}" for name in PEERS)


def wrk() -> str:
    """The load generator."""
    said = subprocess.run(["wrk", "-v"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"wrk (?:debian/)?([\d.]+)", said)
    return f"wrk {found[1] if found else 'unknown'}"
