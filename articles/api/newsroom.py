"""What all resources of the newsroom have in common: who comes in, how lists are narrowed, how it refuses."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from rest_framework import status
from rest_framework.exceptions import APIException
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer
from rest_framework.settings import api_settings
from rest_framework.views import APIView
from rest_framework.viewsets import GenericViewSet

from articles.exceptions import (
    ArticleError,
    ArticleGone,
    ClaimedByAnother,
    MaterialGone,
    MaterialUsed,
    NotAllowed,
    NotStored,
    RevisionChanged,
    RevisionGone,
    StaleEdit,
    TooLong,
    WrongState,
)
from articles.services.recording import come_in
from articles.services.rights import READ_WITH

STATUS_OF: dict[type[ArticleError], int] = {
    NotAllowed: status.HTTP_403_FORBIDDEN,
    ArticleGone: status.HTTP_404_NOT_FOUND,
    WrongState: status.HTTP_409_CONFLICT,
    StaleEdit: status.HTTP_409_CONFLICT,
    ClaimedByAnother: status.HTTP_409_CONFLICT,
    RevisionChanged: status.HTTP_409_CONFLICT,
    RevisionGone: status.HTTP_404_NOT_FOUND,
    TooLong: status.HTTP_413_REQUEST_ENTITY_TOO_LARGE,
    MaterialUsed: status.HTTP_409_CONFLICT,
    MaterialGone: status.HTTP_404_NOT_FOUND,
    NotStored: status.HTTP_507_INSUFFICIENT_STORAGE,
    ArticleError: status.HTTP_400_BAD_REQUEST,
}

if TYPE_CHECKING:
    View = GenericViewSet[Any]
else:
    View = GenericViewSet


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


class NewsroomView(View):
    """A resource of the newsroom; `filter_class` reads what a list is to be narrowed by, `narrowed` does it."""

    permission_classes = (*api_settings.DEFAULT_PERMISSION_CLASSES, MayRead)
    read_with: Collection[str] = READ_WITH
    filter_class: type[BaseSerializer[Any]] | None = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """The audit record learns who it is, now that the token has been read."""
        super().initial(request, *args, **kwargs)
        come_in(request.user)

    def handle_exception(self, exc: Exception) -> Response:
        """Answer the newsroom's own errors."""
        return super().handle_exception(Refused(exc) if isinstance(exc, ArticleError) else exc)

    def filter_queryset(self, queryset: Any) -> Any:
        """Only what the parameters ask for, in a list."""
        if self.action != "list" or self.filter_class is None:
            return queryset
        form = self.filter_class(data=self.request.query_params)
        form.is_valid(raise_exception=True)
        return self.narrowed(queryset, form.validated_data)

    def narrowed(self, queryset: Any, wanted: dict[str, Any]) -> Any:
        """Those of `queryset` that are `wanted`."""
        return queryset
