"""The language of a request: the one chosen, kept in a cookie that nobody gets before choosing, or the browser's."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponseBase
from django.middleware.locale import LocaleMiddleware
from django.utils.cache import patch_vary_headers


class ChosenLanguageMiddleware(LocaleMiddleware):
    """Django's, which does not tell caches that its cookie decides as well."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """The answer; caches keep a page apart for each choice. Pictures and feeds are the same for all of them."""
        if "Content-Language" in response.headers:  # it was not the reader's choice
            return response
        if response.headers.get("Content-Type", "").startswith("text/html"):
            patch_vary_headers(response, ("Cookie",))
        return super().process_response(request, response)
