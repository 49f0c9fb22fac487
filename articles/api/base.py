"""The base view of the newsroom's API: permissions, list filters and errors."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, cast

from rest_framework import status
from rest_framework.exceptions import APIException
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.settings import api_settings
from rest_framework.views import APIView
from rest_framework.viewsets import GenericViewSet

from articles.api.picked_fields import PickedFields
from articles.audit import set_actor
from articles.exceptions import (
    AlertChanged,
    ArticleError,
    ChangeAltered,
    DecodingBusy,
    EditConflict,
    Gone,
    ImageInUse,
    InUse,
    LockedByAnother,
    NotAllowed,
    NoteChanged,
    NotStored,
    PixelsUsedUp,
    RescheduledByOther,
    RevisionChanged,
    TooLong,
    WrongState,
)
from articles.permissions import READ_WITH
from scheduling.api.versions import VersionedView

STATUS_OF: dict[type[ArticleError], int] = {
    NotAllowed: status.HTTP_403_FORBIDDEN,
    Gone: status.HTTP_404_NOT_FOUND,
    WrongState: status.HTTP_409_CONFLICT,
    EditConflict: status.HTTP_409_CONFLICT,
    LockedByAnother: status.HTTP_409_CONFLICT,
    RevisionChanged: status.HTTP_409_CONFLICT,
    RescheduledByOther: status.HTTP_409_CONFLICT,
    NoteChanged: status.HTTP_409_CONFLICT,
    ChangeAltered: status.HTTP_409_CONFLICT,
    TooLong: status.HTTP_413_REQUEST_ENTITY_TOO_LARGE,
    DecodingBusy: status.HTTP_503_SERVICE_UNAVAILABLE,
    PixelsUsedUp: status.HTTP_429_TOO_MANY_REQUESTS,
    ImageInUse: status.HTTP_409_CONFLICT,
    AlertChanged: status.HTTP_409_CONFLICT,
    InUse: status.HTTP_409_CONFLICT,
    NotStored: status.HTTP_507_INSUFFICIENT_STORAGE,
    ArticleError: status.HTTP_400_BAD_REQUEST,
}

if TYPE_CHECKING:
    View = GenericViewSet[Any]
else:
    View = GenericViewSet


class ErrorResponse(APIException):
    """An `ArticleError` as a response, with the error's code."""

    def __init__(self, error: ArticleError) -> None:
        self.status_code = next(STATUS_OF[kind] for kind in type(error).mro() if kind in STATUS_OF)
        self.wait = error.retry_after  # DRF's exception handler sends it as `Retry-After`
        super().__init__(str(error), code=error.code)


class HasReadPermission(BasePermission):
    """Staff with any of the view's `read_permissions`. The services authorise each transition."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        """Whether the user may use the view."""
        permissions: Collection[str] = view.read_permissions  # type: ignore[attr-defined]
        return request.user.is_staff and any(map(request.user.has_perm, permissions))


class NewsroomView(PickedFields, VersionedView, View):
    """A resource of the newsroom. `filter_class` validates a list's filters, `filter_list` applies them."""

    permission_classes = (*cast(Any, api_settings.DEFAULT_PERMISSION_CLASSES), HasReadPermission)
    read_permissions: Collection[str] = READ_WITH

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Set the actor for the audit log, now that the request is authenticated."""
        super().initial(request, *args, **kwargs)
        set_actor(request.user)

    def handle_exception(self, exc: Exception) -> Response:
        """Convert an `ArticleError` to a response."""
        return super().handle_exception(ErrorResponse(exc) if isinstance(exc, ArticleError) else exc)

    def filter_queryset(self, queryset: Any) -> Any:
        """Apply the filters to lists."""
        return self.filter_list(queryset, self.asked()) if self.action == "list" else queryset

    def filter_list(self, queryset: Any, filters: dict[str, Any]) -> Any:
        """Apply validated `filters`."""
        return queryset
