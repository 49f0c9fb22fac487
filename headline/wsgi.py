"""The entry point for WSGI servers."""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING

from django.conf import settings
from django.core.wsgi import get_wsgi_application

from headline.admission import ReadersAdmission, threads
from headline.api.wire import ApiMiddleware
from headline.frames import with_room
from headline.request_id import RequestIdMiddleware
from headline.slow_bodies import SlowBodiesMiddleware
from headline.telemetry import start_tracing

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "headline.settings")
start_tracing(settings.OTEL_ENDPOINT)
application: WSGIApplication = with_room(get_wsgi_application())

if settings.REDIS_CACHE_URL:
    from articles.cache import CacheMiddleware  # the package needs a Django that is set up

    application = CacheMiddleware(application, waiting=threads.resting)

application = SlowBodiesMiddleware(ReadersAdmission(application))
application = ApiMiddleware(application, settings.CORS_ORIGINS)
application = RequestIdMiddleware(application)  # outermost, as copies of responses have no id

import_module(settings.ROOT_URLCONF)  # or the first request would wait for it
gc.freeze()  # loaded modules stay, so no collection has to scan them, which would hold a request up for 60 ms

# A request that computes hands the interpreter on five times as often: beside six of them, pages and probes take half
# as long or less, and the work as a whole some tenth more.
sys.setswitchinterval(0.001)
