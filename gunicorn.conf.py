"""Gunicorn's configuration: the metrics of all its processes add up in /metrics."""

import os
import shutil
import tempfile

_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
_own = "" if os.environ.get(_VARIABLE) else tempfile.mkdtemp(prefix="headline-metrics-")
os.environ.setdefault(_VARIABLE, _own)  # before prometheus_client is imported, which looks at it once


def child_exit(server, worker):
    """What a process that has ended says of the present counts no more; what it has counted stays."""
    from prometheus_client import multiprocess

    multiprocess.mark_process_dead(worker.pid)


def on_exit(server):
    """Nothing is left behind."""
    if _own:
        shutil.rmtree(_own, ignore_errors=True)
