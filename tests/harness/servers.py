"""Real servers on free ports.

A `Server` keeps its port and its directory when it is stopped and started again, so that a test can take the
database or Redis away and give it back. It dies with the process that started it; the directory is the caller's.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.harness.processes import Process
from tests.harness.waiting import eventually

HOST = "127.0.0.1"


def free_port() -> int:
    """A free TCP port."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


class Server:
    """A server program; `start()` returns when it accepts connections on `port`."""

    greeting = b"PING\r\n"
    """Any answer to it will do: MariaDB greets first, Redis says PONG, a TLS server complains."""

    def __init__(self, command: Sequence[str], *, port: int, url: str, cwd: Path) -> None:
        self.command = list(command)
        self.port = port
        self.url = url
        self.cwd = cwd
        self.process: Process | None = None

    def start(self) -> Server:
        """Start it; AssertionError with its output when it ends instead of listening."""
        self.launch()
        self.wait_until_ready()
        return self

    def launch(self, *options: str) -> None:
        """Start it, this time with further options, and do not wait for it."""
        self.process = Process([*self.command, *options], cwd=self.cwd)

    def wait_until_ready(self) -> None:
        """Return when it responds; AssertionError with its output when it ends instead."""
        process = self.process
        assert process is not None
        eventually(lambda: self._responses() or not process.alive(), message=f"{self.command[0]} does not answer")
        assert process.alive(), f"{self.command[0]} did not start:\n{process.output}"

    def _responses(self) -> bool:
        try:
            with socket.create_connection((HOST, self.port), timeout=1) as connection:
                connection.sendall(self.greeting)
                response = connection.recv(64)
        except OSError as error:
            return isinstance(error, ConnectionResetError)
        return not response.startswith(b"-LOADING")

    def stop(self) -> None:
        """Shut it down; harmless if it is not running."""
        if self.process is not None and self.process.alive():
            self.process.stop()

    def kill(self) -> None:
        """Kill it; harmless if it is not running."""
        if self.process is not None:
            self.process.kill()

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """It responds to nothing while the block lasts."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    def restart(self) -> None:
        """Stop and start it on the same port and data."""
        self.stop()
        self.start()


class WebServer(Server):
    """One that speaks HTTP."""

    greeting = b"GET / HTTP/1.0\r\n\r\n"


def start_mariadb(directory: Path, *options: str, copy_of: Server | None = None) -> Server:
    """A MariaDB with its own data in `directory` and an empty database `headline`; durable like a real one.

    It is a MySQL if the environment has `TEST_DATABASE=mysql`. With `copy_of`, which must be stopped, it begins with
    the data of that server.
    """
    data, port = directory / "data", free_port()
    program = "mysqld" if os.environ.get("TEST_DATABASE") == "mysql" else "mariadbd"
    if copy_of:
        shutil.copytree(copy_of.cwd, directory, ignore=shutil.ignore_patterns("*.sock", "*.pid", "auto.cnf"))
    else:
        (_install_mysql if program == "mysqld" else install_mariadb)(directory, data)
    command = [program, "--no-defaults", *_as_root(), f"--datadir={data}", f"--port={port}", *DATABASE_OPTIONS]
    command += ["--mysqlx=OFF", "--secure-file-priv=NULL"] if program == "mysqld" else ["--innodb-log-file-size=64M"]
    command += [f"--init-file={directory / 'init.sql'}", f"--socket={directory / 'mariadb.sock'}"]
    command += [f"--pid-file={directory / 'mariadb.pid'}", f"--tmpdir={directory}", *options]
    url = f"mysql://headline:password-of-tests@{HOST}:{port}/headline"
    return Server(command, port=port, url=url, cwd=directory).start()


DATABASE_OPTIONS = (
    f"--bind-address={HOST}",
    "--character-set-server=utf8mb4",
    "--innodb-flush-log-at-trx-commit=1",
    "--innodb-autoinc-lock-mode=2",
    "--innodb-buffer-pool-size=128M",
    "--performance-schema=OFF",
    "--skip-name-resolve",
    "--skip-log-bin",
    "--max-connections=200",
)

# Run at each start, before the first connection is accepted.
_DATABASE_INIT = """\
CREATE DATABASE IF NOT EXISTS headline CHARACTER SET utf8mb4;
CREATE USER IF NOT EXISTS headline@'%' IDENTIFIED BY 'password-of-tests';
GRANT ALL ON *.* TO headline@'%' WITH GRANT OPTION;
"""


def _as_root() -> list[str]:
    """The databases refuse to run as root unless asked to; for other users the option has no effect."""
    return ["--user=root"] if Path("/proc/self").stat().st_uid == 0 else []


def _install_mysql(directory: Path, data: Path) -> None:
    _install(directory, ["mysqld", "--no-defaults", *_as_root(), f"--datadir={data}", "--initialize-insecure"])


def install_mariadb(directory: Path, data: Path) -> None:
    """Create MariaDB's own tables, and `init.sql` beside them."""
    command = ["mariadb-install-db", "--no-defaults", *_as_root(), f"--datadir={data}", "--skip-test-db"]
    command += ["--auth-root-authentication-method=normal", "--innodb-log-file-size=64M"]
    _install(directory, command)


def _install(directory: Path, command: list[str]) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "init.sql").write_text(_DATABASE_INIT)
    # A server that starts removes what others keep in the temporary directory it shares with them.
    env = {**os.environ, "TMPDIR": str(directory)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, f"{command[0]} failed:\n{done.stdout}{done.stderr}"


def start_redis(directory: Path, *options: str, tls: bool = False) -> Server:
    """A Redis without persistence; `options` are redis-server's own, such as `"--appendonly", "yes"`.

    With `tls` its only port speaks TLS; the certificates are among the options.
    """
    directory.mkdir(parents=True, exist_ok=True)
    port = free_port()
    ports = ["--port", "0", "--tls-port", str(port)] if tls else ["--port", str(port)]
    command = ["redis-server", *ports, "--bind", HOST, "--dir", str(directory), "--databases", "64"]
    command += ["--save", "", "--appendonly", "no", *options]
    return Server(command, port=port, url=f"redis{'s' * tls}://{HOST}:{port}", cwd=directory).start()


def start_varnish(directory: Path, vcl: str, *options: str) -> WebServer:
    """A Varnish with this configuration, in the language of Varnish."""
    directory.mkdir(parents=True, exist_ok=True)
    port = free_port()
    (directory / "varnish.vcl").write_text(vcl)
    command = ["varnishd", "-F", "-j", "none", "-n", str(directory / "work"), "-a", f"{HOST}:{port}", "-T", "none"]
    command += ["-f", str(directory / "varnish.vcl"), "-s", "malloc,64M", *options]
    server = WebServer(command, port=port, url=f"http://{HOST}:{port}", cwd=directory)
    server.start()
    return server
