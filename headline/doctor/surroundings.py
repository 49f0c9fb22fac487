"""Checks of what surrounds the servers: workers' clocks, cron, disk, keys, mail and CDN."""

from __future__ import annotations

import shutil
import stat
import statistics
import subprocess
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from smtplib import SMTPException
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.mail import get_connection
from django.db import DatabaseError, connection
from django.utils.translation import gettext as _

from articles.cache import refused_purges
from headline import env
from headline.doctor.findings import Area, DoctorFinding, Level
from scheduling.conf import conf
from scheduling.database import read_database_clock
from scheduling.models import WorkerHeartbeat
from scheduling.problems import CLOCK_LIMIT

if TYPE_CHECKING:  # it imports MySQLdb, which an installation on SQLite may lack
    from scheduling.database.mysql.servers import Server

_JOBS = f"# django-cronjobs for {settings.CRONTAB_DJANGO_PROJECT_NAME}"
_CRON_PATIENCE = 180  # seconds; the jobs write to their log each minute
_SCARCE, _FULL = 2 * 1024**3, 200 * 1024**2  # bytes
_GIGABYTE = 1024**3
_OTHERS_MAY_READ = stat.S_IRGRP | stat.S_IROTH
_PROBE_TAG = "doctor"  # no response shows it


def check_clocks() -> Iterator[DoctorFinding]:
    """The clocks of the workers' machines, and of the nodes of the database."""
    advice = _("Run a time service such as chrony on that machine and on the database's.")
    alive = WorkerHeartbeat.objects.alive(read_database_clock())
    for name, milliseconds in alive.order_by("name").values_list("name", "clock_offset_ms"):
        if abs(seconds := milliseconds / 1000) > conf.CLOCK_TOLERANCE:
            text = _("The database's clock differs from that of the worker %(name)s by %(seconds)+.1f seconds.")
            yield DoctorFinding(Area.CLOCK, _level_of(seconds), text % {"name": name, "seconds": seconds}, advice)
    found = {server: offset for server in _nodes() if (offset := _offset_of(server)) is not None}
    for (name, _port), offset in found.items():
        if abs(seconds := offset - statistics.median_low(found.values())) > conf.CLOCK_TOLERANCE:
            text = _("The clock of the database node %(name)s differs from the others' by %(seconds)+.1f seconds.")
            yield DoctorFinding(Area.CLOCK, _level_of(seconds), text % {"name": name, "seconds": seconds}, advice)


def _level_of(seconds: float) -> Level:
    return Level.WARNING if abs(seconds) < CLOCK_LIMIT else Level.FAILURE


def _nodes() -> Sequence[Server]:
    servers: Sequence[Server] = connection.settings_dict["OPTIONS"].get("servers", ())
    return servers


def _offset_of(server: Server) -> float | None:
    """Seconds by which the clock of a database node is ahead of this machine's; None if it takes no statements."""
    node = connection.copy()
    node.settings_dict["OPTIONS"]["servers"] = [server]
    try:
        with node.cursor() as cursor:
            return max(_read_clock(cursor) - time.time() for _ in range(3))
    except DatabaseError:
        return None
    finally:
        node.close()


def _read_clock(cursor: Any) -> float:
    cursor.execute("SELECT UTC_TIMESTAMP(6)")
    moment: datetime = cursor.fetchone()[0]
    return moment.replace(tzinfo=UTC).timestamp()


def check_cron() -> Iterator[DoctorFinding]:
    """If the cron jobs are installed, cron runs them."""
    if not has_cron_jobs() or _age(settings.CRON_LOG) < _CRON_PATIENCE:
        return
    text = _("The cron jobs are installed, but have not run for three minutes.")
    advice = _("Check that cron runs, and read %(file)s.") % {"file": settings.CRON_LOG}
    yield DoctorFinding(Area.CRON, Level.WARNING, text, advice)


def has_cron_jobs() -> bool:
    """Whether this user's crontab has Headline's jobs."""
    if shutil.which(settings.CRONTAB_EXECUTABLE) is None:
        return False
    command = [settings.CRONTAB_EXECUTABLE, "-l"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 (a setting)
    return _JOBS in done.stdout


def _age(file: Path) -> float:
    return time.time() - file.stat().st_mtime if file.exists() else float("inf")


def check_disk() -> Iterator[DoctorFinding]:
    """Free space where this machine stores data."""
    for directory in _directories():
        free = shutil.disk_usage(directory).free
        if free < _SCARCE:
            level = Level.WARNING if free > _FULL else Level.FAILURE
            text = _("Only %(free).1f GB are free in %(directory)s.")
            advice = _("Delete old backups and logs there, or enlarge the disk.")
            yield DoctorFinding(Area.DISK, level, text % {"free": free / _GIGABYTE, "directory": directory}, advice)


def free_space() -> str:
    """Free space of each directory."""
    text = _("%(free).1f GB are free in %(directory)s.")
    free = ((directory, shutil.disk_usage(directory).free / _GIGABYTE) for directory in _directories())
    return " ".join(text % {"free": size, "directory": directory} for directory, size in free)


def _directories() -> list[Path]:
    """One directory of each file system with data."""
    found = [Path(settings.DATA_DIR)]
    if connection.vendor == "sqlite":
        found.append(Path(connection.settings_dict["NAME"]).parent)
    return list({directory.stat().st_dev: directory for directory in reversed(found)}.values())


def check_keys() -> Iterator[DoctorFinding]:
    """Files with secrets are private, and passwords are encrypted on their way."""
    for file in filter(None, (env.FILE, settings.CRON_COPY)):
        if file.exists() and file.stat().st_mode & _OTHERS_MAY_READ:
            text = _("Other users of this machine may read the secrets in %(file)s.") % {"file": file}
            yield DoctorFinding(Area.KEYS, Level.WARNING, text, _("Run chmod 600 on it."))
    if settings.SITE_URL.startswith("http://") and not settings.DEBUG:
        text = _("SITE_URL begins with http://, so passwords and sessions travel unencrypted.")
        yield DoctorFinding(
            Area.KEYS, Level.WARNING, text, _("Put a proxy with TLS in front and set SITE_URL to https://…")
        )


def check_variables() -> Iterator[DoctorFinding]:
    """A setting reads each variable; a misspelt one would have no effect."""
    for name, meant in env.unread().items():
        text = _("No setting reads the variable %(name)s.") % {"name": name}
        if meant:
            advice = _("Did you mean %(name)s? Correct or remove it.") % {"name": meant}
        elif name.startswith("SCHEDULING_"):
            advice = _("Settings of this name stand in headline/settings.py; remove the variable.")
        else:
            advice = _("Correct or remove it; docs/settings.md lists all.")
        yield DoctorFinding(Area.SETTINGS, Level.WARNING, text, advice)


def check_mail() -> Iterator[DoctorFinding]:
    """Mails are sent."""
    if sends_mail():
        return
    text = _("EMAIL_URL is not set: notifications and password links are not mailed.")
    yield DoctorFinding(Area.MAIL, Level.WARNING, text, _("Set EMAIL_URL, such as smtp+tls://user:password@host:587."))


def sends_mail() -> bool:
    """Whether a mail server is configured."""
    return "smtp" in settings.EMAIL_BACKEND


def connect_to_mail_server() -> Iterator[DoctorFinding]:
    """The mail server accepts the log-in; no mail is sent."""
    if not sends_mail():
        return
    server = get_connection()
    try:
        server.open()
        server.close()
    except (OSError, SMTPException) as error:
        text = _("The mail server %(host)s refuses: %(error)s") % {"host": settings.EMAIL_HOST, "error": _short(error)}
        advice = _("Correct EMAIL_URL, or ask the server's administrator.")
        yield DoctorFinding(Area.MAIL, Level.FAILURE, text, advice)


def purge_cdn() -> Iterator[DoctorFinding]:
    """Each proxy accepts a purge, of a key that no page has."""
    for host, error in refused_purges(_PROBE_TAG).items():
        text = _("%(host)s refuses a purge: %(error)s") % {"host": host, "error": _short(error)}
        advice = _("Correct CDN_PURGE_URLS, CDN_PURGE_METHOD and CDN_PURGE_HEADER, or the access list of the proxy.")
        yield DoctorFinding(Area.CDN, Level.FAILURE, text, advice)


def _short(error: Exception) -> str:
    """The error in one line without secrets."""
    return env.redact(" ".join((str(error) or type(error).__name__).split()))[:300]
