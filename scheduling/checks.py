"""System checks for settings and servers that would make tasks late, lost or run twice.

Settings are always checked; servers only by `migrate` and `check --database default`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error, Tags, register
from django.db import connection, router
from django.utils.translation import gettext as _

from scheduling import problems
from scheduling.conf import Settings, conf
from scheduling.exceptions import QueueUnavailable
from scheduling.identity import database_location
from scheduling.queues import make_queue
from scheduling.redis_addresses import server_and_database

_MAY_BE_ZERO = frozenset({"SWEEP_GRACE", "SUSPECT_AFTER", "LOG_RETENTION_DAYS"})
_SCHEMES = ("redis", "rediss", "unix", "redis+sentinel", "redis+cluster")
_ORDERED = (
    ("REFRESH_INTERVAL", "PRELOAD_WINDOW", "Otherwise tasks become due between two refreshes without a hint in Redis."),
    ("STOP_TIMEOUT", "SILENCE", "Otherwise a worker that finishes its work counts as hanging."),
    ("SWEEP_GRACE", "OVERDUE_ALARM", "Otherwise tasks count as overdue before the sweep requeues them."),
    ("LEASE", "MAX_LEASE", "Otherwise the usual lease is longer than the longest."),
    ("BACKOFF", "MAX_BACKOFF", "Otherwise the first wait before a retry is longer than the longest."),
)
_MAX_PROMOTE_LIMIT = 5000  # members; Lua's `unpack` ends at some 8000

_OLDEST_MARIADB = (10, 6)  # SKIP LOCKED
_OLDEST_MYSQL = (8, 0, 1)  # the same
_OLDEST_REDIS = (6, 2)  # LPOP with a count
_NEWEST_TESTED = {"MariaDB": (11, 8), "MySQL": (9, 7), "Redis": (8, 0), "Valkey": (9, 1)}
"""By `make databases`."""
_OTHER_DATABASES = ("Aurora", "OceanBase", "Percona", "PolarDB", "TiDB", "Vitess")
_BRANDS = {"valkey_version": "Valkey", "dragonfly_version": "Dragonfly", "redict_version": "Redict"}
"""Of Redis-compatible servers, by the field of INFO with their own version."""
_SYNC_ALL = 7  # the bits of `wsrep_sync_wait` for SELECT, UPDATE and DELETE, and INSERT
_VARIABLES = (
    *("tx_isolation", "transaction_isolation", "sql_mode", "character_set_connection", "character_set_database"),
    *("innodb_autoinc_lock_mode", "wsrep_on", "wsrep_sync_wait"),
)


@register
def check_settings(app_configs: object, **options: Any) -> list[CheckMessage]:
    """Types and sizes of `SCHEDULING_*`, and that they fit together."""
    return list(_check_values()) or [*_check_order(), *_check_spelling(), *_check_names(), *_check_cache()]


def _check_values() -> Iterator[CheckMessage]:
    for name, kind in Settings.__annotations__.items():
        value = getattr(conf, name)
        if kind == "str" and not isinstance(value, str):
            yield Error(f"SCHEDULING_{name} is {value!r}.", hint="Give it a text.", id="scheduling.E001")
        elif kind != "str" and not _is_size(value, whole=kind == "int", may_be_zero=name in _MAY_BE_ZERO):
            hint = f"Give it {'a whole' if kind == 'int' else 'a'} number above 0."
            yield Error(f"SCHEDULING_{name} is {value!r}.", hint=hint, id="scheduling.E001")


def _is_size(value: object, *, whole: bool, may_be_zero: bool) -> bool:
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
        return False
    return 0 < value < float("inf") or (may_be_zero and value == 0)


def _check_order() -> Iterator[CheckMessage]:
    for smaller, greater, hint in _ORDERED:
        if getattr(conf, smaller) >= getattr(conf, greater):
            message = f"SCHEDULING_{smaller} is not less than SCHEDULING_{greater}."
            yield Error(message, hint=hint, id="scheduling.E002")
    if conf.PROMOTE_LIMIT > _MAX_PROMOTE_LIMIT:
        hint = f"A script moves {_MAX_PROMOTE_LIMIT} members at most."
        yield Error(f"SCHEDULING_PROMOTE_LIMIT is {conf.PROMOTE_LIMIT}.", hint=hint, id="scheduling.E002")


def _check_spelling() -> Iterator[CheckMessage]:
    for name in dir(settings):
        if name.startswith("SCHEDULING_") and name.removeprefix("SCHEDULING_") not in Settings.__annotations__:
            hint = "scheduling/conf.py lists the settings there are."
            yield checks.Warning(f"{name} is no setting.", hint=hint, id="scheduling.W003")


def _check_names() -> Iterator[CheckMessage]:
    if not re.fullmatch(r"[\w.:-]+", conf.KEY_PREFIX):
        hint = "Use letters, digits and . : - only: a brace would send a topic's keys to different nodes of a cluster."
        yield Error(f"SCHEDULING_KEY_PREFIX is {conf.KEY_PREFIX!r}.", hint=hint, id="scheduling.E004")
    if conf.REDIS_URL and conf.REDIS_URL.partition("://")[0] not in _SCHEMES:
        hint = f"Begin it with one of {', '.join(_SCHEMES)}, then ://."
        yield Error("SCHEDULING_REDIS_URL has an unknown form.", hint=hint, id="scheduling.E005")


def _check_cache() -> Iterator[CheckMessage]:
    for alias, cache in settings.CACHES.items():
        locations = cache.get("LOCATION") or ()
        for url in [locations] if isinstance(locations, str) else locations:
            if conf.REDIS_URL and server_and_database(url) == server_and_database(conf.REDIS_URL):
                hint = "Give the cache a database number of its own: cache.clear() would empty the queue."
                message = f"The cache {alias!r} lives in the queue's Redis database."
                yield Error(message, hint=hint, id="scheduling.E006")


@register
def check_routing(app_configs: object, **options: Any) -> list[CheckMessage]:
    """No model may be read from a replica: it lags, and its clock is not the primary's."""
    split = [model for model in apps.get_models() if router.db_for_read(model) != router.db_for_write(model)]
    hint = "Have your DATABASE_ROUTERS read it from the primary, whose clock decides what is due and what readers see."
    return [Error(f"{model._meta.label} is read from a replica.", hint=hint, id="scheduling.E015") for model in split]


@register(Tags.database)
def check_database(app_configs: object, databases: Collection[str] | None, **options: Any) -> list[CheckMessage]:
    """The database supports SKIP LOCKED, READ COMMITTED, strict mode and utf8mb4; workers do not share locks."""
    if connection.alias not in (databases or ()):
        return []
    if connection.vendor == "sqlite":
        return []
    if connection.vendor != "mysql":
        message = _("The engine does not support %(name)s.") % {"name": connection.display_name}
        return [Error(message, hint=_("Use MariaDB, MySQL or SQLite."), id="scheduling.E010")]
    return [*_check_version(), *_check_brand(), *_check_variables(), *_check_tables()]


def _check_version() -> Iterator[CheckMessage]:
    is_mariadb: bool = connection.mysql_is_mariadb  # type: ignore[attr-defined]
    version: tuple[int, ...] = connection.mysql_version  # type: ignore[attr-defined]
    if version < (_OLDEST_MARIADB if is_mariadb else _OLDEST_MYSQL):
        name = f"{'MariaDB' if is_mariadb else 'MySQL'} {'.'.join(map(str, version))}"
        hint = _("Workers need SKIP LOCKED: MariaDB from 10.6, MySQL from 8.0.1.")
        yield Error(_("%(name)s is too old.") % {"name": name}, hint=hint, id="scheduling.E010")


def _check_brand() -> Iterator[CheckMessage]:
    described = _describe_server().lower()
    other = next((name for name in _OTHER_DATABASES if name.lower() in described), "")
    name = other or ("MariaDB" if connection.mysql_is_mariadb else "MySQL")  # type: ignore[attr-defined]
    yield from _check_tested(name, connection.mysql_version[:2], id="scheduling.W018")  # type: ignore[attr-defined]


def _describe_server() -> str:
    """What it says of itself, such as "8.0.36-28 Percona Server (GPL)"; Aurora has a variable of its own."""
    names = ("version", "version_comment", "aurora_version")
    with connection.cursor() as cursor:
        cursor.execute("SHOW GLOBAL VARIABLES WHERE Variable_name IN %s", [names])
        return " ".join(f"{name} {value}" for name, value in cursor.fetchall())


def _check_tested(name: str, version: tuple[int, ...], *, id: str) -> Iterator[CheckMessage]:  # noqa: A002 (Django's word)
    newest = _NEWEST_TESTED.get(name)
    if newest is None or version > newest:
        hint = _("docs/settings.md names those that are. Try it with a copy of your data before you rely on it.")
        message = _("%(name)s is not tested.") % {"name": f"{name} {'.'.join(map(str, version))}"}
        yield checks.Warning(message, hint=hint, id=id)


def _check_variables() -> Iterator[CheckMessage]:
    with connection.cursor() as cursor:
        cursor.execute("SHOW SESSION VARIABLES WHERE Variable_name IN %s", [_VARIABLES])
        variables: dict[str, str] = dict(cursor.fetchall())
    isolation = variables.get("transaction_isolation") or variables["tx_isolation"]
    if isolation != "READ-COMMITTED":
        hint = _('Set OPTIONS["isolation_level"] to "read committed": workers would lock gaps and block each other.')
        yield Error(_("The isolation level is %(level)s.") % {"level": isolation}, hint=hint, id="scheduling.E011")
    if "STRICT_" not in variables["sql_mode"]:
        hint = _("Add STRICT_TRANS_TABLES to sql_mode: values that do not fit would be truncated.")
        yield Error(_("The database is not in strict mode."), hint=hint, id="scheduling.E012")
    for name in ("character_set_connection", "character_set_database"):
        if variables[name] != "utf8mb4":
            hint = _('Set OPTIONS["charset"], or the database\'s CHARACTER SET, to utf8mb4: emoji would be lost.')
            yield Error(_is(name, variables[name]), hint=hint, id="scheduling.E013")
    if variables["innodb_autoinc_lock_mode"] != "2":
        hint = _("Start the server with innodb_autoinc_lock_mode = 2: workers wait for each other's INSERT ... SELECT.")
        message = _is("innodb_autoinc_lock_mode", variables["innodb_autoinc_lock_mode"])
        yield checks.Warning(message, hint=hint, id="scheduling.W016")
    if variables.get("wsrep_on") == "ON" and int(variables["wsrep_sync_wait"]) & _SYNC_ALL != _SYNC_ALL:
        hint = _("Set wsrep_sync_wait = 7 on each Galera node: others would read what was replaced, and cache it.")
        yield Error(_is("wsrep_sync_wait", variables["wsrep_sync_wait"]), hint=hint, id="scheduling.E017")


def _is(name: str, value: str) -> str:
    return _("%(name)s is %(value)s.") % {"name": name, "value": value}


def _check_tables() -> Iterator[CheckMessage]:
    ours = [model._meta.db_table for model in apps.get_app_config("scheduling").get_models()]
    sql = "SELECT table_name, engine, table_collation FROM information_schema.tables"
    with connection.cursor() as cursor:
        cursor.execute(f"{sql} WHERE table_schema = DATABASE() AND table_name IN %s", [ours])  # noqa: S608 (no input)
        tables: list[tuple[str, str, str]] = list(cursor.fetchall())
    for table, engine, collation in tables:
        if not collation.startswith("utf8mb4"):
            hint = f"ALTER TABLE {table} CONVERT TO CHARACTER SET utf8mb4."
            message = _("The table %(table)s is in %(collation)s.") % {"table": table, "collation": collation}
            yield Error(message, hint=hint, id="scheduling.E013")
        if engine != "InnoDB":
            hint = _("ALTER TABLE %(table)s ENGINE = InnoDB: only it locks rows and rolls back.") % {"table": table}
            message = _("The table %(table)s uses the storage engine %(engine)s.") % {"table": table, "engine": engine}
            yield Error(message, hint=hint, id="scheduling.E014")


@register(Tags.database)
def check_redis(app_configs: object, databases: Collection[str] | None, **options: Any) -> list[CheckMessage]:
    """Redis answers, is new enough, does not evict keys, and serves no other installation."""
    if not conf.REDIS_URL or connection.alias not in (databases or ()):
        return []
    queue = make_queue(conf.REDIS_URL)
    try:
        info = queue.server_info()
    except QueueUnavailable as error:
        found = problems.found({"redis": problems.state_of(error)})
        return [
            checks.Warning(f"{problem.text} ({error})", hint=str(problem.advice), id="scheduling.W020")
            for problem in found
        ]
    finally:
        queue.close()
    return [
        *_check_redis_version(info),
        *_check_eviction(info.get("maxmemory_policy", "")),
        *_check_neighbours(info.get("neighbours", "")),
    ]


def _check_redis_version(info: Mapping[str, str]) -> Iterator[CheckMessage]:
    """Others, such as Valkey, name the version of Redis with which they are compatible, and their own."""
    version = info.get("redis_version", "")
    if (numbers := _numbers(version)) and numbers < _OLDEST_REDIS:
        hint = _("Use Redis %(version)s or newer.") % {"version": ".".join(map(str, _OLDEST_REDIS))}
        yield Error(_("%(name)s is too old.") % {"name": f"Redis {version}"}, hint=hint, id="scheduling.E021")
    brand, own = next(((name, info[key]) for key, name in _BRANDS.items() if info.get(key)), ("Redis", version))
    if own:
        yield from _check_tested(brand, _numbers(own), id="scheduling.W024")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)[:2]))


def _check_eviction(policy: str) -> Iterator[CheckMessage]:
    """The volatile policies only evict keys that expire, of which the queue has only short locks."""
    if policy.startswith("allkeys-"):
        hint = _("Set maxmemory-policy to noeviction: tasks whose hints are evicted run late, from the database.")
        message = _("Redis may evict the queue: maxmemory-policy is %(policy)s.") % {"policy": policy}
        yield checks.Warning(message, hint=hint, id="scheduling.W022")


def _check_neighbours(others: str) -> Iterator[CheckMessage]:
    if others:
        hint = _(
            "Their keys are separate. Give each its own Redis, or, if both are one database behind several servers, "
            "set REDIS_KEY_PREFIX to the same name for all."
        )
        message = _("This Redis serves %(other)s as well as %(own)s.") % {"other": others, "own": database_location()}
        yield checks.Warning(message, hint=hint, id="scheduling.W023")
