"""A program for test_telemetry: failing views and logged errors, with the secret and the content in its arguments."""

from __future__ import annotations

import logging
import sys
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory
from django.urls import path

from headline.wsgi import application


def fail(request: HttpRequest, **values: str) -> HttpResponse:
    """Fail, with the secret in variables."""
    password = request.POST.get("password")
    raise RuntimeError("this view fails" if password != "" else password)


def main(secret: str, content: str) -> None:
    """Send the requests; the last one is a probe with a host that is not allowed."""
    headers = {
        "cookie": f"sessionid={secret}",
        "authorization": f"Token {secret}",
        "x-request-id": "an-id-of-the-proxy",
    }
    ask = RequestFactory(headers=headers, REMOTE_ADDR="203.0.113.77")
    posted = ask.post(f"/article/12/?q={secret}", {"password": secret})
    probe = ask.get("/healthz", headers={"host": "10.0.0.7"})
    for request in (ask.get(f"/preview/{secret}/?code={secret}"), posted, probe):
        list(application(request.environ, start_response))
    logger = logging.getLogger("scheduling.workers.worker")
    logger.error(f"cannot connect to mysql://headline:{secret}@db/news")  # noqa: G004 (as an error's text)
    logger.error("the article %s is late", content)
    for text in (f"{{'{content}@example.org': (550, 'no')}}", f"Duplicate entry '{content}' for key 'slug'"):
        try:
            raise ValueError(text)
        except ValueError:
            logger.exception("a task failed")


def start_response(status: str, headers: Any, exc_info: Any = None) -> Any:
    """Print the status."""
    sys.stdout.write(f"{status}\n")


if __name__ == "__main__":
    sys.modules["failing_views"] = sys.modules["__main__"]
    settings.ROOT_URLCONF = "failing_views"
    from headline.urls import urlpatterns as of_the_site

    urlpatterns = [path("preview/<str:token>/", fail), path("article/12/", fail), *of_the_site]
    main(*sys.argv[1:])
