"""A Debian without systemd in namespaces of this machine, and a shell in it."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

from tests.harness import Process, Workspace, eventually

CACHE = Path("/var/cache/headline-tests")
"""Where roots are kept for later runs, which do not change them."""

# Mounts of a namespace end with its last process, however that ends. Slaves: what is unmounted here stays elsewhere.
_UNSHARE = ("unshare", "--mount", "--propagation", "slave", "--pid", "--fork", "--kill-child")
_MOUNT = """\
set -e
mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$2/root"
"""
_START = f"""\
{_MOUNT}
mount --rbind --make-rslave /dev "$2/root/dev"
mount -t proc proc "$2/root/proc"
[ "$3" ] || ip link set lo up
exec chroot "$2/root" sh -c 'echo started; sleep infinity & wait'
"""
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_LONGEST = 3600.0  # seconds after which a download hangs


class Disk(Workspace):
    """A directory for the files of machines, about two gigabytes; a context manager."""

    def __init__(self) -> None:
        CACHE.mkdir(exist_ok=True)
        super().__init__(CACHE)


class NoMachine(Exception):
    """Here no machine can be made."""


def check_possible() -> None:
    """NoMachine, with the reason, if a machine cannot be made here."""
    if os.geteuid():
        raise NoMachine("A root of Debian is made by root only.")
    if missing := [name for name in ("debootstrap", "unshare", "nsenter") if shutil.which(name) is None]:
        raise NoMachine(f"A root of Debian needs {', '.join(missing)}.")
    with Disk() as disk:
        for name in ("lower", "upper", "work", "root"):
            (disk.path / name).mkdir()
        command = [*_UNSHARE, "sh", "-c", _MOUNT, "sh", str(disk.path / "lower"), str(disk.path)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise NoMachine(f"Namespaces and overlays do not work here: {done.stdout.strip()}")


def debian(packages: Iterable[str]) -> Path:
    """A root of Debian 12, the minimum with these packages. Downloaded the first time; NoMachine if that fails."""
    chosen = ",".join(sorted(packages))
    root = CACHE / f"bookworm-{hashlib.sha256(chosen.encode()).hexdigest()[:12]}"
    CACHE.mkdir(exist_ok=True)
    with open(CACHE / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not root.exists():
            with Disk() as disk:
                part = disk.path / "root"
                _bootstrap(part, chosen)
                part.rename(root)
    return root


def _bootstrap(root: Path, packages: str) -> None:
    command = ["debootstrap", "--variant=minbase", f"--include={packages}", "bookworm", str(root)]
    with Process([*_UNSHARE, "--mount-proc", *command]) as process:
        if process.wait(_LONGEST):
            raise NoMachine(f"debootstrap failed:\n{process.output}")
    policy = root / "usr/sbin/policy-rc.d"  # packages start no services while they are installed
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)


class Machine:
    """A machine whose disk begins as `base`; what changes is in `directory`. A context manager."""

    def __init__(self, base: Path, directory: Path, *, online: bool) -> None:
        """`online`: in this machine's network; otherwise in one of its own, without a way out."""
        for name in ("upper", "work", "root"):
            (directory / name).mkdir(parents=True, exist_ok=True)
        self._online = online
        network = [] if online else ["--net"]
        start = ["sh", "-c", _START, "sh", str(base), str(directory), "online" if online else ""]
        self._command = [*_UNSHARE, *network, *start]
        self._resources = ExitStack()

    def __enter__(self) -> Machine:
        process = self._resources.enter_context(Process(self._command))
        process.wait_for("started", timeout=120)
        (self._pid,) = process.children()
        self._shell = subprocess.Popen(
            [*self._enter(), "bash"],
            env=self._environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        if self._online:
            self._share_names()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Return when all its processes have ended, and with them its mounts."""
        self._resources.close()
        eventually(lambda: not Path(f"/proc/{self._pid}").exists())
        self._shell.communicate()

    def _enter(self) -> list[str]:
        return ["nsenter", f"--target={self._pid}", "--mount", "--net", "--pid", "--root", "--wd"]

    def _environment(self) -> dict[str, str]:
        options = {name: os.environ[name] for name in os.environ if name.startswith("PIP_")}
        return {**options, "PATH": _PATH, "HOME": "/root", "LANG": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}

    def _share_names(self) -> None:
        """The names and the certificate authorities by which this machine knows others."""
        for name in ("/etc/resolv.conf", "/etc/hosts", "/etc/ssl/certs/ca-certificates.crt"):
            if Path(name).exists():
                self.write(name, Path(name).read_text(encoding="utf-8"))

    def start(self, script: str, *, user: str) -> Process:
        """Start a script as a user, in a process group whose number is in /tmp/group; it ends with the machine."""
        self._place("/tmp/script", f"echo $$ > /tmp/group\n{script}\n")
        self.check(f"touch /tmp/group && chown {user} /tmp/group")
        as_user = [
            "setsid",
            "setpriv",
            f"--reuid={user}",
            f"--regid={user}",
            "--init-groups",
            "env",
            f"HOME=/home/{user}",
        ]
        process = Process([*self._enter(), *as_user, "bash", "/tmp/script"], env=self._environment())
        return self._resources.enter_context(process)

    def write(self, path: str, text: str, *, mode: int = 0o644) -> None:
        """Write a file; an existing one keeps its owner and mode."""
        name = "/tmp/written"
        self._place(name, text, mode)
        self.check(f"mkdir --parents {Path(path).parent}")
        self.check(f"test -e {path} && cat {name} > {path} || cp --preserve=mode {name} {path}")

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
