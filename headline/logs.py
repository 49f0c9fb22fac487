"""How a line of the log looks."""

from __future__ import annotations

import logging
import time


class UTCFormatter(logging.Formatter):
    """`2030-01-31T12:00:00.123Z WARNING scheduling.worker: …`: sorted by time whatever zone the machine is in."""

    converter = staticmethod(time.gmtime)
    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"
