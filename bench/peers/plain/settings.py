"""Settings of the plain project."""

from __future__ import annotations

import os
from urllib.parse import urlsplit

_database = urlsplit(os.environ["DATABASE_URL"])

SECRET_KEY = "a-key-that-guards-nothing-here"
ALLOWED_HOSTS = ["*"]
USE_TZ = True
TIME_ZONE = "UTC"
INSTALLED_APPS = ["bench.peers.plain", "django_tasks_db"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.mysql",
        "NAME": _database.path[1:],
        "HOST": _database.hostname,
        "PORT": _database.port,
        "USER": _database.username,
        "PASSWORD": _database.password,
        "CONN_MAX_AGE": None,
        "OPTIONS": {"charset": "utf8mb4", "isolation_level": "read committed"},
    }
}
TASKS = {"default": {"BACKEND": "django_tasks_db.DatabaseBackend"}}
