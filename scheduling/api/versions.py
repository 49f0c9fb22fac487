"""Versions of an API's resources: their `ETag`, and changes that `If-Match` binds to one."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import Any, TypeVar

from django.db.models import Model
from django.http import HttpRequest, HttpResponseNotModified
from django.http.response import HttpResponseBase
from django.utils.http import parse_etags
from django.utils.translation import gettext_lazy as _
from rest_framework import status
from rest_framework.exceptions import APIException, ValidationError
from rest_framework.generics import get_object_or_404  # which takes ids of another kind for unknown ones
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from scheduling.api.strict import StrictView
from scheduling.database import lock_by_ids, retried

IF_MATCH = "If-Match"

R = TypeVar("R")


class VersionChanged(APIException):
    """`If-Match` does not name the current version; nothing was changed."""

    status_code = status.HTTP_412_PRECONDITION_FAILED
    default_code = "version_changed"
    default_detail = _("It has changed since you loaded it; “current” shows it as it is now.")

    def __init__(self, current: Any) -> None:
        super().__init__()
        self.current = current


class VersionedView(StrictView):
    """Sends versions, and takes them where `is_versioned`; elsewhere a version in a request is an error."""

    is_versioned = False
    is_single = False  # a resource of which there is one, so that its URL has no id
    sends_etags = True
    unversioned: frozenset[str] = frozenset()  # fields that change by themselves: no reason to refuse a change

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """The response; to GET with an `ETag`, or 304 if `If-None-Match` names it."""
        response = super().dispatch(request, *args, **kwargs)
        is_read = request.method in ("GET", "HEAD") and response.status_code == status.HTTP_200_OK
        is_whole = not (self.unversioned and "ETag" in response.headers)  # else the rest may be new
        return _unless_known(request, response) if is_read and is_whole and isinstance(response, Response) else response

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Raise `ValidationError` for a version that would be ignored."""
        super().initial(request, *args, **kwargs)
        if IF_MATCH in request.headers and not (self.is_versioned and (self.detail or self.is_single)):
            raise ValidationError({IF_MATCH: [_("This URL does not support If-Match.")]}, code="no_versions")

    def handle_exception(self, exc: Exception) -> Response:
        """Name the present version where another one was to be changed."""
        response = super().handle_exception(exc)
        if isinstance(exc, VersionChanged):
            response.data["current"] = exc.current
            response.headers["ETag"] = self._version_of(exc.current)
        return response

    def shown(self, pk: Any) -> Any:
        """The current representation of an object."""
        return self.get_serializer(get_object_or_404(self.get_queryset(), pk=pk)).data

    def respond_with(self, pk: Any, status: int = status.HTTP_200_OK) -> Response:
        """The current representation of an object, with its `ETag`."""
        data = self.shown(pk)
        return Response(data, status, headers={"ETag": self._version_of(data)})

    def _version_of(self, data: Any) -> str:
        names = data.keys() - self.unversioned if self.unversioned else ()
        return etag_of({name: data[name] for name in data if name in names} if names else data)

    def if_match(self, instance: Model, action: Callable[[], R]) -> R:
        """Run `action`, but only on the version in `If-Match` if the request has one. Raises `VersionChanged`."""
        header = self.request.headers.get(IF_MATCH)
        return action() if header is None else self._run_on_version(header, instance, action)

    @retried
    def _run_on_version(self, header: str, instance: Model, action: Callable[[], R]) -> R:
        list(lock_by_ids(type(instance), [instance.pk]).values_list("pk"))
        current = self.shown(instance.pk)
        if header.strip() != "*" and self._version_of(current) not in parse_etags(header):
            raise VersionChanged(current)
        return action()


def etag_of(data: Any) -> str:
    """The entity tag of a representation; not of `updated_at`, which stays when an article goes live by the clock."""
    return _tag(JSONRenderer().render(data))


def _tag(content: bytes) -> str:
    return f'"{sha256(content).hexdigest()[:32]}"'


def _unless_known(request: HttpRequest, response: Response) -> HttpResponseBase:
    """The response with an `ETag`, or 304 if the request names that."""
    if "ETag" not in response.headers:
        response.render()
        response.headers["ETag"] = _tag(response.content)
    known = {tag.removeprefix("W/") for tag in parse_etags(request.headers.get("If-None-Match", ""))}
    if known.isdisjoint((response.headers["ETag"], "*")):
        return response
    return HttpResponseNotModified(headers={"ETag": response.headers["ETag"]})
