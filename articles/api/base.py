"""The base view of the newsroom's API: permissions, list filters, errors and `If-Match`."""

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

from articles.audit import set_actor
from articles.exceptions import (
    ArticleError,
    ArticleGone,
    ChangeAltered,
    ChangeGone,
    EditConflict,
    ImageGone,
    ImageInUse,
    InUse,
    LockedByAnother,
    NotAllowed,
    NoteChanged,
    NoteGone,
    NotStored,
    RescheduledByOther,
    RevisionChanged,
    RevisionGone,
    TooLong,
    WrongState,
)
from articles.permissions import READ_WITH
from scheduling.services import lock_by_ids, retried
from scheduling.unknown_fields import StrictView

IF_MATCH = "If-Match"
FIELDS, PICKED = "fields", ("list", "retrieve")
"""The parameter that picks fields, and the actions that take it."""

STATUS_OF: dict[type[ArticleError], int] = {
    NotAllowed: status.HTTP_403_FORBIDDEN,
    ArticleGone: status.HTTP_404_NOT_FOUND,
    WrongState: status.HTTP_409_CONFLICT,
    EditConflict: status.HTTP_409_CONFLICT,
    LockedByAnother: status.HTTP_409_CONFLICT,
    RevisionChanged: status.HTTP_409_CONFLICT,
    RescheduledByOther: status.HTTP_409_CONFLICT,
    NoteChanged: status.HTTP_409_CONFLICT,
    NoteGone: status.HTTP_404_NOT_FOUND,
    ChangeGone: status.HTTP_404_NOT_FOUND,
    ChangeAltered: status.HTTP_409_CONFLICT,
    RevisionGone: status.HTTP_404_NOT_FOUND,
    TooLong: status.HTTP_413_REQUEST_ENTITY_TOO_LARGE,
    ImageInUse: status.HTTP_409_CONFLICT,
    InUse: status.HTTP_409_CONFLICT,
    ImageGone: status.HTTP_404_NOT_FOUND,
    NotStored: status.HTTP_507_INSUFFICIENT_STORAGE,
    ArticleError: status.HTTP_400_BAD_REQUEST,
}

if TYPE_CHECKING:
    View = GenericViewSet[Any]
else:
    View = GenericViewSet


R = TypeVar("R")


class ErrorResponse(APIException):
    """An `ArticleError` as a response, with the error's code."""

    def __init__(self, error: ArticleError) -> None:
        self.status_code = next(STATUS_OF[kind] for kind in type(error).mro() if kind in STATUS_OF)
        super().__init__(str(error), code=error.code)


class HasReadPermission(BasePermission):
    """Staff with any of the view's `read_permissions`. The services authorise each transition."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        """Whether the user may use the view."""
        permissions: Collection[str] = view.read_permissions  # type: ignore[attr-defined]
        return request.user.is_staff and any(map(request.user.has_perm, permissions))


class VersionChanged(APIException):
    """`If-Match` does not name the current version; nothing was changed."""

    status_code = status.HTTP_412_PRECONDITION_FAILED
    default_code = "version_changed"
    default_detail = _("It has changed since you loaded it; load it again and check what is new.")


class NewsroomView(StrictView, View):
    """A resource of the newsroom. `filter_class` validates a list's filters, `filter_list` applies them."""

    permission_classes = (*cast(Any, api_settings.DEFAULT_PERMISSION_CLASSES), HasReadPermission)
    read_permissions: Collection[str] = READ_WITH
    is_versioned = False
    takes_fields = True

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Set the actor for the audit log, now that the request is authenticated."""
        super().initial(request, *args, **kwargs)
        set_actor(request.user)
        if self._picks:
            self._refuse_unknown_names()
        if IF_MATCH in request.headers and not (self.is_versioned and self.detail):
            raise ValidationError({IF_MATCH: [_("This URL does not support If-Match.")]}, code="no_versions")

    def handle_exception(self, exc: Exception) -> Response:
        """Convert an `ArticleError` to a response."""
        return super().handle_exception(ErrorResponse(exc) if isinstance(exc, ArticleError) else exc)

    def respond_with(self, pk: Any, status: int = status.HTTP_200_OK) -> Response:
        """The current representation of an object, with its `ETag`."""
        data = self.get_serializer(get_object_or_404(self.get_queryset(), pk=pk)).data
        return Response(data, status, headers={"ETag": etag_of(data)})

    def known_parameters(self) -> list[str]:
        """With `fields`, where rows are read."""
        known = super().known_parameters()
        return sorted({*known, FIELDS}) if self.action in PICKED else known

    def finalize_response(self, request: Request, response: Response, *args: Any, **kwargs: Any) -> Response:
        """Leave out the fields that are not asked for; the `ETag` is still that of the whole row."""
        if self._picks and response.status_code == status.HTTP_200_OK:
            is_page = self.action == "list" and "results" in response.data
            for row in response.data["results"] if is_page else [response.data]:
                for name in row.keys() - set(request.query_params[FIELDS].split(",")):
                    del row[name]
        return super().finalize_response(request, response, *args, **kwargs)

    @property
    def _picks(self) -> bool:
        return getattr(self, "action", None) in PICKED and FIELDS in self.request.query_params

    def _refuse_unknown_names(self) -> None:
        """Raise `ValidationError` for names in `fields` that are none of a row's."""
        known = [str(name) for name in cast(Any, self.get_serializer_class())().fields]
        for name in self.request.query_params[FIELDS].split(","):
            if name not in known:
                text = _("There is no field “%(name)s”. Known are: %(names)s.")
                names = {"name": name[:80], "names": ", ".join(known)}
                raise ValidationError({FIELDS: [text % names]}, code="unknown_field")

    def if_match(self, instance: Model, action: Callable[[], R]) -> R:
        """Run `action`, but only on the version in `If-Match` if the request has one. Raises `VersionChanged`."""
        header = self.request.headers.get(IF_MATCH)
        return action() if header is None else self._run_on_version(header, instance, action)

    @retried
    def _run_on_version(self, header: str, instance: Model, action: Callable[[], R]) -> R:
        list(lock_by_ids(type(instance), [instance.pk]).values_list("pk"))
        if header.strip() != "*" and self.respond_with(instance.pk).headers["ETag"] not in parse_etags(header):
            raise VersionChanged
        return action()

    def filter_queryset(self, queryset: Any) -> Any:
        """Apply the filters to lists."""
        return self.filter_list(queryset, self.asked()) if self.action == "list" else queryset

    def filter_list(self, queryset: Any, filters: dict[str, Any]) -> Any:
        """Apply validated `filters`."""
        return queryset


def etag_of(data: Any) -> str:
    """The entity tag of a representation; not of `updated_at`, which stays when an article goes live by the clock."""
    return f'"{sha256(JSONRenderer().render(data)).hexdigest()[:32]}"'
