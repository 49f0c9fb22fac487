"""What all resources of the newsroom have in common: who comes in, how lists are narrowed, how it refuses."""

from __future__ import annotations

from collections.abc import Callable, Collection
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeVar, cast

from django.db.models import Model
from django.shortcuts import get_object_or_404
from django.utils.http import parse_etags
from django.utils.translation import gettext_lazy as _
from rest_framework import status
from rest_framework.exceptions import APIException, ValidationError
from rest_framework.permissions import BasePermission
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.settings import api_settings
from rest_framework.views import APIView
from rest_framework.viewsets import GenericViewSet

from articles.audit import READ_WITH, set_actor
from articles.exceptions import (
    ArticleError,
    ArticleGone,
    EditConflict,
    ImageGone,
    ImageInUse,
    LockedByAnother,
    NotAllowed,
    NotStored,
    RevisionChanged,
    RevisionGone,
    TooLong,
    WrongState,
)
from scheduling.services import lock_by_ids, retried
from scheduling.unknown_fields import StrictView

IF_MATCH = "If-Match"

STATUS_OF: dict[type[ArticleError], int] = {
    NotAllowed: status.HTTP_403_FORBIDDEN,
    ArticleGone: status.HTTP_404_NOT_FOUND,
    WrongState: status.HTTP_409_CONFLICT,
    EditConflict: status.HTTP_409_CONFLICT,
    LockedByAnother: status.HTTP_409_CONFLICT,
    RevisionChanged: status.HTTP_409_CONFLICT,
    RevisionGone: status.HTTP_404_NOT_FOUND,
    TooLong: status.HTTP_413_REQUEST_ENTITY_TOO_LARGE,
    ImageInUse: status.HTTP_409_CONFLICT,
    ImageGone: status.HTTP_404_NOT_FOUND,
    NotStored: status.HTTP_507_INSUFFICIENT_STORAGE,
    ArticleError: status.HTTP_400_BAD_REQUEST,
}

if TYPE_CHECKING:
    View = GenericViewSet[Any]
else:
    View = GenericViewSet


R = TypeVar("R")


class Refused(APIException):
    """An error of the newsroom as an answer, with its own code."""

    def __init__(self, error: ArticleError) -> None:
        self.status_code = next(STATUS_OF[kind] for kind in type(error).mro() if kind in STATUS_OF)
        super().__init__(str(error), code=error.code)


class MayRead(BasePermission):
    """Staff with any of the permissions that the view is `read_with`; the services decide about each step."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        """Whether the user is one of them."""
        wanted: Collection[str] = view.read_with  # type: ignore[attr-defined]
        return request.user.is_staff and any(map(request.user.has_perm, wanted))


class VersionChanged(APIException):
    """What `If-Match` names is not the present version; nothing was changed."""

    status_code = status.HTTP_412_PRECONDITION_FAILED
    default_code = "version_changed"
    default_detail = _("It has been changed since; load it again and look at what is new.")


class NewsroomView(StrictView, View):
    """A resource of the newsroom; `filter_class` reads what a list is to be narrowed by, `narrowed` does it."""

    permission_classes = (*cast(Any, api_settings.DEFAULT_PERMISSION_CLASSES), MayRead)
    read_with: Collection[str] = READ_WITH
    is_versioned = False

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """The audit record learns who it is, now that the token has been read."""
        super().initial(request, *args, **kwargs)
        set_actor(request.user)
        if IF_MATCH in request.headers and not (self.is_versioned and self.detail):
            raise ValidationError({IF_MATCH: [_("There are no versions here.")]}, code="no_versions")

    def handle_exception(self, exc: Exception) -> Response:
        """Answer the newsroom's own errors."""
        return super().handle_exception(Refused(exc) if isinstance(exc, ArticleError) else exc)

    def shown(self, pk: Any, status: int = status.HTTP_200_OK) -> Response:
        """One of the resource as it is now, with its version."""
        data = self.get_serializer(get_object_or_404(self.get_queryset(), pk=pk)).data
        return Response(data, status, headers={"ETag": version_of(data)})

    def unchanged(self, instance: Model, act: Callable[[], R]) -> R:
        """Act on the version that `If-Match` names, if it names any, or not at all."""
        wanted = self.request.headers.get(IF_MATCH)
        return act() if wanted is None else self._act_on(wanted, instance, act)

    @retried
    def _act_on(self, wanted: str, instance: Model, act: Callable[[], R]) -> R:
        list(lock_by_ids(type(instance), [instance.pk]).values_list("pk"))
        if wanted.strip() != "*" and self.shown(instance.pk).headers["ETag"] not in parse_etags(wanted):
            raise VersionChanged
        return act()

    def filter_queryset(self, queryset: Any) -> Any:
        """Only what the parameters ask for, in a list."""
        return self.narrowed(queryset, self.asked()) if self.action == "list" else queryset

    def narrowed(self, queryset: Any, wanted: dict[str, Any]) -> Any:
        """Those of `queryset` that are `wanted`."""
        return queryset


def version_of(data: Any) -> str:
    """The entity tag of what is shown: another one as soon as anything of it is."""
    return f'"{sha256(JSONRenderer().render(data)).hexdigest()[:32]}"'
