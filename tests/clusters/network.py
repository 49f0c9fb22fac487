"""A network of hosts, which are network namespaces; this process's own namespace routes between them.

`make clusters` starts pytest in a network namespace without a way out, so nothing outside can be met or changed.
"""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType

from tests.harness import Process, eventually, python

OWN_ADDRESS = "10.77.0.1"
"""The address of this namespace, with the mail server, the CDN and the load balancer."""

_DELAYED = "77"  # routing table of packets between data centres
_DEVICE = "tun77"


class Host:
    """A host with an address; commands run in it behind `prefix`."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.name = f"host{number}"
        self.address = f"10.77.{number}.2"
        self.subnet = f"10.77.{number}.0/24"
        self.prefix = ("nsenter", f"--net=/run/netns/{self.name}", "--")

    def __str__(self) -> str:
        return self.name


class Network:
    """Hosts in namespaces, each with a link to this one; a context manager."""

    def __init__(self, size: int) -> None:
        self.hosts = [Host(number) for number in range(1, size + 1)]
        self._resources = ExitStack()

    def __enter__(self) -> Network:
        Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
        _ip("addr", "add", f"{OWN_ADDRESS}/32", "dev", "lo")
        self._resources.callback(_ip, "addr", "del", f"{OWN_ADDRESS}/32", "dev", "lo")
        for host in self.hosts:
            self._add(host)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._resources.close()

    def _add(self, host: Host) -> None:
        link, gateway = f"to{host.name}", f"10.77.{host.number}.1"
        _ip("netns", "add", host.name)
        self._resources.callback(_ip, "netns", "del", host.name)
        _ip("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", host.name)
        self._resources.callback(_ip, "link", "del", link)  # that of a deleted namespace is removed some time later
        _ip("addr", "add", f"{gateway}/24", "dev", link)
        _ip("link", "set", link, "up")
        inside = ["-n", host.name]
        _ip(*inside, "addr", "add", f"{host.address}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            _ip(*inside, "link", "set", device, "up")
        _ip(*inside, "route", "add", "default", "via", gateway)

    @contextmanager
    def cut(self, *links: tuple[Host, Host]) -> Iterator[None]:
        """While the block lasts, drop all packets between these hosts, in both directions and without an answer."""
        rules = [
            ("from", one.subnet, "to", other.subnet, "blackhole")
            for pair in links
            for one, other in itertools.permutations(pair)
        ]
        with ExitStack() as stack:
            for rule in rules:
                _ip("rule", "add", *rule)
                stack.callback(_ip, "rule", "del", *rule)
            yield

    def isolate(self, host: Host) -> Iterable[tuple[Host, Host]]:
        """The links of a host."""
        return [(host, other) for other in self.hosts if other is not host]

    @contextmanager
    def delayed(self, centre: Sequence[Host], round_trip: float) -> Iterator[None]:
        """While the block lasts, packets between the hosts of `centre` and all others take half of `round_trip`."""
        with ExitStack() as stack:
            command = [python, "-m", "tests.clusters.delay", _DEVICE, str(round_trip / 2)]
            stack.enter_context(Process(command)).wait_for("forwards")
            eventually(lambda: Path(f"/sys/class/net/{_DEVICE}").exists() or _exists(_DEVICE))
            _ip("link", "set", _DEVICE, "up")
            for device in ("all", _DEVICE):
                Path(f"/proc/sys/net/ipv4/conf/{device}/rp_filter").write_text("0")
            _ip("route", "add", "default", "dev", _DEVICE, "table", _DELAYED)
            for one, other in itertools.permutations(self.hosts, 2):
                if (one in centre) != (other in centre):
                    rule = ("iif", f"to{one.name}", "to", other.subnet, "lookup", _DELAYED)
                    _ip("rule", "add", *rule)
                    stack.callback(_ip, "rule", "del", *rule)
            yield


def _exists(device: str) -> bool:
    return not subprocess.run(["ip", "link", "show", device], capture_output=True, check=False).returncode


def _ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"ip {' '.join(words)}: {done.stderr}"
