"""The project's settings for tests, with the app `tests.probe`."""

from __future__ import annotations

import json
import os

os.environ.setdefault("DJANGO_DEBUG", "on")  # linters, too, start from nothing

from headline.settings import *  # noqa: E402, F403
from headline.settings import CACHES, INSTALLED_APPS, REDIS_CACHE_URL  # noqa: E402

INSTALLED_APPS = [*INSTALLED_APPS, "tests.probe"]

# Safe hashes are slow on purpose.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

# Every test client would begin with a walk over all static files; this looks for the one that is asked for.
WHITENOISE_AUTOREFRESH = True

# A browser need not ask for them again on each page of a test.
WHITENOISE_MAX_AGE = 3600

# Tests look into Redis by names that they know.
SCHEDULING_KEY_PREFIX = "sched"

# A busy machine is no dead Redis.
if REDIS_CACHE_URL:
    CACHES["responses"]["OPTIONS"]["SOCKET_TIMEOUT"] = 5.0

# Other values for a process that a test starts, as JSON: {"SCHEDULING_REFRESH_INTERVAL": 0.4}.
globals().update(json.loads(os.environ.get("TEST_SETTINGS", "{}")))
