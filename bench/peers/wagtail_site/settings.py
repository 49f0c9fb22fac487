"""Settings of Wagtail's site: sites, cached templates and pages in Redis, no debugging."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import urlsplit

_database = urlsplit(os.environ.get("WAGTAIL_DATABASE_URL", "mysql://localhost/wagtail"))

SECRET_KEY = "a-key-that-guards-nothing-here"
ALLOWED_HOSTS = ["*"]
USE_TZ = True
TIME_ZONE = "UTC"
ROOT_URLCONF = "bench.peers.wagtail_site.urls"
WSGI_APPLICATION = "bench.peers.wagtail_site.wsgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
STATIC_URL = "/static/"
WAGTAIL_SITE_NAME = "News"
WAGTAILADMIN_BASE_URL = "http://127.0.0.1"
INSTALLED_APPS = [
    "bench.peers.wagtail_site",
    "wagtailcache",
    "wagtail.contrib.redirects",
    "wagtail.users",
    "wagtail.documents",
    "wagtail.images",
    "wagtail.search",
    "wagtail.admin",
    "wagtail",
    "modelcluster",
    "taggit",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
]
MIDDLEWARE = [
    "wagtailcache.cache.UpdateCacheMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "wagtail.contrib.redirects.middleware.RedirectMiddleware",
    "wagtailcache.cache.FetchFromCacheMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [Path(__file__).parent / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.mysql",
        "NAME": _database.path[1:],
        "HOST": _database.hostname,
        "PORT": _database.port or 3306,
        "USER": _database.username,
        "PASSWORD": _database.password,
        "CONN_MAX_AGE": None,
        "OPTIONS": {"charset": "utf8mb4"},
    }
}
CACHES = {
    "default": {
        "BACKEND": "django_redis.cache.RedisCache",
        "LOCATION": os.environ.get("WAGTAIL_CACHE_URL", ""),
        "TIMEOUT": 3600,
    }
}
WAGTAILSEARCH_BACKENDS = {"default": {"BACKEND": "wagtail.search.backends.database", "AUTO_UPDATE": False}}
