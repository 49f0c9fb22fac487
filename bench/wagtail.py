"""Wagtail's database and site."""

from __future__ import annotations

from bench.stand import Servers

SCHEDULED = "Wagtail's publish_scheduled"
PAGES = "bench.peers.wagtail_pages"


def environment(servers: Servers) -> dict[str, str]:
    """The environment of Wagtail's processes; its database is created at the first use."""
    env: dict[str, str] = servers.once("wagtail", lambda: _create(servers))
    return env


def _create(servers: Servers) -> dict[str, str]:
    env = {
        "WAGTAIL_DATABASE_URL": servers.database("wagtail"),
        "DJANGO_SETTINGS_MODULE": "bench.peers.wagtail_site.settings",
    }
    servers.call_peer("-m", "django", "migrate", "--verbosity", "0", "--skip-checks", env=env)
    servers.call_peer("-m", PAGES, "home", env=env)
    return env


def publish_scheduled(servers: Servers, count: int) -> float:
    """Schedule so many pages, and publish them by its command; returns the seconds of the latter."""
    env = environment(servers)
    servers.call_peer("-m", PAGES, "scheduled", count, env=env)
    return float(servers.run_peer(PAGES, "publish", env=env))
