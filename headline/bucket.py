"""Storage in an S3-compatible bucket that gives up an unresponsive server within seconds instead of minutes."""

from __future__ import annotations

from typing import Any

from botocore.config import Config
from storages.backends.s3 import S3Storage

LIMITS: dict[str, Any] = {
    "connect_timeout": 3,  # seconds
    "read_timeout": 15,  # seconds
    "retries": {"mode": "standard", "total_max_attempts": 2},
}


class Bucket(S3Storage):  # type: ignore[misc]  # django-storages has no types
    """The storage of django-storages with `LIMITS`."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.client_config: Any = vars(self)["client_config"].merge(Config(**LIMITS))
