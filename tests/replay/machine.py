"""A Debian without systemd in namespaces of this machine, and a shell in it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from types import TracebackType

from tests.harness import Process, eventually

_START = """\
set -e
mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$2/root"
mount --bind /dev "$2/root/dev"
mount -t proc proc "$2/root/proc"
[ "$3" ] || ip link set lo up
exec chroot "$2/root" sh -c 'echo started; sleep infinity & wait'
"""


def make_base(directory: Path) -> None:
    """A root of Debian 12 as its installer leaves it, without services; downloads packages."""
    part = directory.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    packages = "--include=ca-certificates,curl,iproute2"
    subprocess.run(["debootstrap", "--variant=minbase", packages, "bookworm", str(part)], check=True)
    policy = part / "usr/sbin/policy-rc.d"  # packages start no services while they are installed
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)
    part.rename(directory)


class Machine:
    """A machine whose disk begins as `base`; what changes is in `directory`. A context manager."""

    def __init__(self, base: Path, directory: Path, *, online: bool) -> None:
        """`online`: in this machine's network; otherwise in one of its own, without a way out."""
        self.root = directory / "root"
        for name in ("upper", "work", "root"):
            (directory / name).mkdir(parents=True, exist_ok=True)
        network = [] if online else ["--net"]
        start = ["sh", "-c", _START, "sh", str(base), str(directory), "online" if online else ""]
        self._process = Process(["unshare", "--mount", "--pid", "--fork", "--kill-child", *network, *start])

    def __enter__(self) -> Machine:
        self._process.wait_for("started")
        (self._pid,) = self._process.children()
        names = (name for name in os.environ if name.startswith("PIP_"))
        environment = {name: os.environ[name] for name in names} | {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": "/root",
            "LANG": "C.UTF-8",
            "DEBIAN_FRONTEND": "noninteractive",
        }
        enter = ["nsenter", f"--target={self._pid}", "--mount", "--net", "--pid", "--root", "--wd", "bash"]
        self._shell = subprocess.Popen(
            enter, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        eventually(lambda: not Path(f"/proc/{self._pid}").exists())
        self._shell.communicate()

    def write(self, path: str, text: str, *, mode: int = 0o644) -> None:
        """Write a file; an existing one keeps its owner and mode."""
        name = "/tmp/written"
        self._place(name, text, mode)
        self.run(f"test -e {path} && cat {name} > {path} || cp --preserve=mode {name} {path}")

    def copy(self, directory: Path, path: str) -> None:
        """Copy a directory of this machine."""
        subprocess.run(["cp", "--recursive", str(directory), f"/proc/{self._pid}/root{path}"], check=True)

    def _place(self, path: str, text: str, mode: int = 0o644) -> None:
        file = Path(f"/proc/{self._pid}/root{path}")
        file.write_text(text, encoding="utf-8")
        file.chmod(mode)

    def run(self, command: str) -> tuple[int, str]:
        """Run a command in the shell; its exit code and its output."""
        self._place("/tmp/command", f"{command}\n")
        assert self._shell.stdin is not None
        assert self._shell.stdout is not None
        self._shell.stdin.write('source /tmp/command < /dev/null; code=$?; echo; echo "<<$code>>"\n')
        self._shell.stdin.flush()
        output = ""
        for line in self._shell.stdout:
            if found := re.fullmatch(r"<<(\d+)>>\n", line):
                return int(found[1]), output.removesuffix("\n")
            output += line
        raise AssertionError(f"The shell ended during {command}:\n{output}")

    def check(self, command: str) -> str:
        """Run a command that must succeed; its output."""
        code, output = self.run(command)
        assert code == 0, f"{command} exited with {code}:\n{output}"
        return output
