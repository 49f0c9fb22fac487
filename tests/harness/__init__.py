"""Real servers and processes for tests, chaos tests and benchmarks."""

from tests.harness.processes import (
    Process as Process,
    PythonProcess as PythonProcess,
    base_dir as base_dir,
    children as children,
    python as python,
    run_python as run_python,
)
from tests.harness.servers import (
    HOST as HOST,
    Server as Server,
    free_port as free_port,
    start_mariadb as start_mariadb,
    start_redis as start_redis,
    start_varnish as start_varnish,
)
from tests.harness.stand import Stand as Stand, connect as connect, rows as rows
from tests.harness.waiting import PATIENCE as PATIENCE, eventually as eventually
from tests.harness.workspace import Workspace as Workspace
