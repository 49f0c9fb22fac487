"""Real servers and processes for tests, chaos tests and benchmarks."""

from tests.harness.processes import Process, PythonProcess, base_dir, children, python, run_python
from tests.harness.servers import HOST, Server, free_port, start_mariadb, start_redis, start_varnish
from tests.harness.stand import Stand, connect, rows
from tests.harness.waiting import PATIENCE, eventually
from tests.harness.workspace import Workspace

__all__ = [
    "HOST",
    "PATIENCE",
    "Process",
    "PythonProcess",
    "Server",
    "Stand",
    "Workspace",
    "base_dir",
    "children",
    "connect",
    "eventually",
    "free_port",
    "python",
    "rows",
    "run_python",
    "start_mariadb",
    "start_redis",
    "start_varnish",
]
