"""Program: a TUN device that delays each packet; for kernels without tc's netem."""

from __future__ import annotations

import fcntl
import os
import select
import struct
import sys
import time
from collections import deque

_TUNSETIFF = 0x400454CA
_IFF_TUN, _IFF_NO_PI = 0x0001, 0x1000
_LARGEST = 65536


def main(device: str, seconds: float) -> None:
    """Forward packets until this process is stopped."""
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tun, _TUNSETIFF, struct.pack("16sH", device.encode(), _IFF_TUN | _IFF_NO_PI))
    print("forwards", flush=True)  # noqa: T201
    waiting: deque[tuple[float, bytes]] = deque()
    while True:
        patience = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        if select.select([tun], [], [], patience)[0]:
            waiting.append((time.monotonic() + seconds, os.read(tun, _LARGEST)))
        while waiting and waiting[0][0] <= time.monotonic():
            os.write(tun, waiting.popleft()[1])


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
