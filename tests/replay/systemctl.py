#!/usr/bin/python3
"""A stand-in for systemctl where systemd does not run: starts units as their files say, and Debian's by init scripts.

Of the units' keys, those are followed that decide what runs, as which user and with which directories.
"""

from __future__ import annotations

import os
import pwd
import shlex
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

UNITS, RUN, LOGS = Path("/etc/systemd/system"), Path("/run/systemctl"), Path("/var/log")


class Unit:
    """A unit of ours, such as `headline-worker@1`."""

    def __init__(self, name: str) -> None:
        self.name = name if "." in name else f"{name}.service"
        stem, _, self.instance = self.name.removesuffix(".service").partition("@")
        self.file = UNITS / (f"{stem}@.service" if self.instance else self.name)
        self.pid_file, self.log = RUN / self.name, LOGS / f"{self.name}.log"
        lines = self.file.read_text(encoding="utf-8").splitlines() if self.file.exists() else []
        self.values = dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))

    def command(self, key: str) -> list[str]:
        return shlex.split(self.values[key].replace("%i", self.instance))

    def pid(self) -> int:
        return int(self.pid_file.read_text()) if self.pid_file.exists() else 0

    def start(self) -> None:
        if self.name.endswith(".timer") or self.runs():
            return
        user = pwd.getpwnam(self.values["User"])
        self._make_directory("/run", "RuntimeDirectory", user)
        self._make_directory("/var/lib", "StateDirectory", user)
        if self.values.get("Type") == "oneshot":
            for key in ("ExecStart", "ExecStartPost"):
                subprocess.run(self.command(key), check=True, **self._options(user))
            return
        with self.log.open("ab") as log, Readiness(user, notifies=self.values.get("Type") == "notify") as ready:
            options = self._options(user)
            options["env"] |= ready.environment
            process = subprocess.Popen(
                self.command("ExecStart"), stdin=subprocess.DEVNULL, stdout=log, stderr=log, **options
            )
            self.pid_file.write_text(str(process.pid))
            ready.wait()

    def _make_directory(self, parent: str, key: str, user: pwd.struct_passwd) -> None:
        if key in self.values:
            path = Path(parent) / self.values[key]
            path.mkdir(exist_ok=True)
            path.chmod(int(self.values.get(f"{key}Mode", "755"), 8))
            os.chown(path, user.pw_uid, user.pw_gid)

    def _options(self, user: pwd.struct_passwd) -> dict[str, Any]:
        variables = dict([self.values["Environment"].split("=", 1)])
        return {
            "cwd": self.values["WorkingDirectory"],
            "env": {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": user.pw_dir, **variables},
            "user": user.pw_uid,
            "group": user.pw_gid,
            "extra_groups": [],
            "start_new_session": True,
        }

    def runs(self) -> bool:
        try:
            state = Path(f"/proc/{self.pid()}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return False
        return bool(self.pid()) and state != "Z"

    def stop(self) -> None:
        if self.runs():
            os.kill(self.pid(), signal.SIGTERM)
        while self.runs():
            time.sleep(0.05)
        self.pid_file.unlink(missing_ok=True)

    def restart(self) -> None:
        self.stop()
        self.start()

    def reload(self) -> None:
        subprocess.run([word.replace("$MAINPID", str(self.pid())) for word in self.command("ExecReload")], check=True)


class Readiness:
    """The socket by which a service of the type notify says that it is ready."""

    def __init__(self, user: pwd.struct_passwd, *, notifies: bool) -> None:
        self._notifies = notifies
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        path = RUN / "notify"
        path.unlink(missing_ok=True)
        self._socket.bind(str(path))
        os.chown(path, user.pw_uid, user.pw_gid)
        self.environment = {"NOTIFY_SOCKET": str(path)} if notifies else {}

    def wait(self) -> None:
        self._socket.settimeout(120)
        while self._notifies and b"READY=1" not in self._socket.recv(4096):
            pass

    def __enter__(self) -> Readiness:
        return self

    def __exit__(self, *error: object) -> None:
        self._socket.close()


def main(action: str, *names: str) -> None:
    RUN.mkdir(exist_ok=True)
    for name in names:
        unit = Unit(name)
        if not unit.file.exists():
            subprocess.run(["service", name, action], check=True)
        elif action == "enable":
            unit.start()  # the documentation enables with --now
        else:
            getattr(unit, action)()


if __name__ == "__main__":
    main(*(word for word in sys.argv[1:] if not word.startswith("--")))
