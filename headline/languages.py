"""The language of a request: the chosen one, from a cookie, or the browser's."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponseBase
from django.middleware.locale import LocaleMiddleware
from django.utils.cache import patch_vary_headers


class ChosenLanguageMiddleware(LocaleMiddleware):
    """Django's middleware, plus `Vary: Cookie`, because its cookie selects the language."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """The response; HTML varies by cookie. Images and feeds do not depend on the choice."""
        if "Content-Language" in response.headers:  # the view has set the language
            return response
        if response.headers.get("Content-Type", "").startswith("text/html"):
            patch_vary_headers(response, ("Cookie",))
        return super().process_response(request, response)
