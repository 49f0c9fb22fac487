"""Gunicorn's configuration: the metrics of all its processes add up in /metrics; its log lines look like Headline's."""

import os
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from threading import BoundedSemaphore

from gunicorn.glogging import Logger

forwarder_headers = ""  # no client behind a proxy on this machine chooses SCRIPT_NAME or PATH_INFO

_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
_own = "" if os.environ.get(_VARIABLE) else tempfile.mkdtemp(prefix="headline-metrics-")
os.environ.setdefault(_VARIABLE, _own)  # before prometheus_client is imported, which looks at it once


def _log_format():
    """Headline's module, but not as an import: processes that a reload starts must import it again."""
    spec = spec_from_file_location("log_format", Path(__file__).with_name("headline") / "log_format.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _form():
    """`LOG_FORMAT`, which the web processes check."""
    file = os.environ.get("ENV_FILE")
    lines = Path(file).read_text(encoding="utf-8").splitlines() if file and Path(file).is_file() else []
    stored = dict(line.split("=", 1) for line in lines if "=" in line)
    return os.environ.get("LOG_FORMAT") or stored.get("LOG_FORMAT", "").strip()


class logger_class(Logger):  # noqa: N801 (the name of the setting)
    """Gunicorn's lines in Headline's format; access lines have no query, which may contain secrets."""

    def setup(self, cfg):
        super().setup(cfg)
        formats = _log_format()
        self.use(formats.JSONFormatter() if _form() == "json" else formats.TextFormatter())

    def use(self, formatter):
        """Format lines by this from now on."""
        for handler in [*self.error_log.handlers, *self.access_log.handlers]:
            handler.setFormatter(formatter)

    def access(self, resp, req, environ, request_time):
        """One line for each request, if `--access-logfile` is given."""
        if not self.access_log_enabled:
            return
        method, path, status = environ["REQUEST_METHOD"], environ["RAW_URI"].partition("?")[0], resp.status_code
        duration = round(request_time.total_seconds() * 1000, 1)
        fields = {"method": method, "path": path, "status": status, "duration_ms": duration}
        text = "%(method)s %(path)s %(status)s %(duration_ms)s ms"
        self.access_log.info(text, fields, extra=fields)


def post_worker_init(worker):
    """From now on, lines have the id of their request, and no secret of the environment; and requests may wait."""
    from django.conf import settings

    from headline import admission, slow_bodies
    from headline.logs import formatter

    worker.log.use(formatter(settings.LOG_FORMAT))
    if hasattr(worker, "tpool"):
        admission.threads.start(worker.cfg.threads)
        waiting = admission.WAITING + slow_bodies.AT_ONCE
        worker.tpool = ThreadPoolExecutor(worker.cfg.threads + waiting)  # it has no thread yet
        worker.handle = _closing(worker.handle)


_WAITING_TO_CLOSE = 8
"""Threads in which to wait; without it, unread bytes of a client may cost it the end of its answer."""


def _closing(handle):
    """`handle` that also closes a connection. Gunicorn waits for two seconds until its client goes, in the thread that
    accepts connections: a few clients that stay would hold up all others."""
    places = BoundedSemaphore(_WAITING_TO_CLOSE)

    def handle_and_close(conn):
        is_kept = handle(conn)
        if is_kept is False:
            may_wait = places.acquire(blocking=False)
            try:
                conn.close(graceful=may_wait)
            finally:
                if may_wait:
                    places.release()
            conn.close = lambda graceful=False: None  # which Gunicorn calls next, in that thread
        return is_kept

    return handle_and_close


def child_exit(server, worker):
    """What a process that has ended says of the present counts no more; what it has counted stays."""
    from prometheus_client import multiprocess

    multiprocess.mark_process_dead(worker.pid)


def on_exit(server):
    """Nothing is left behind."""
    if _own:
        shutil.rmtree(_own, ignore_errors=True)
