"""A Django project with one view and no middleware, for comparison: `gunicorn bench.bare_view`."""

from __future__ import annotations

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpRequest, HttpResponse
from django.urls import path

settings.configure(
    ALLOWED_HOSTS=["*"],
    LOG_FORMAT="text",  # for gunicorn.conf.py, which it has in common with Headline
    MIDDLEWARE=[],
    ROOT_URLCONF=__name__,
    SECRET_KEY="a-key-that-guards-nothing-here",  # noqa: S106 (nothing is signed)
)


def view(request: HttpRequest) -> HttpResponse:
    """The least that a Django view can do."""
    return HttpResponse("ok")


urlpatterns = [path("", view)]
application = get_wsgi_application()
