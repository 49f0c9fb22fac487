"""Resources that the newsroom's own forms check and store, so that screens and programs follow the same rules."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, cast

from django.contrib import admin
from django.db.models import Model
from django.http import Http404, HttpRequest
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import OpenApiResponse
from rest_framework import mixins, status
from rest_framework.exceptions import ErrorDetail, ValidationError
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer
from rest_framework.settings import api_settings
from rest_framework.views import APIView

from articles.api.base import NewsroomView
from articles.exceptions import InUse, NotAllowed
from articles.review import waits
from scheduling.database import duplicates_collide, retried


def or_waits(serializer: type[BaseSerializer[Any]]) -> dict[int, Any]:
    """The documented responses to a change that may wait for another person."""
    waiting = _("Under the two-person rule: readers see the change once another person has approved it.")
    return {200: serializer, 202: OpenApiResponse(serializer, description=waiting)}


class MayOpenScreen(BasePermission):
    """Whether the user may open the list of the model."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        """As in the sidebar."""
        screen: Any = view.screen  # type: ignore[attr-defined]
        return bool(screen.has_view_or_change_permission(view.plain_request) or screen.has_add_permission(request))  # type: ignore[attr-defined]


class OnScreen(NewsroomView):
    """A view of a model that has a screen."""

    @property
    def screen(self) -> Any:
        """The admin of the model."""
        return admin.site.get_model_admin(cast(Any, self).queryset.model)

    @property
    def plain_request(self) -> HttpRequest:
        """Django's request, which the admin takes, as the authenticated user."""
        request = self.request._request
        request.user = self.request.user
        return request


class ListedScreen(mixins.ListModelMixin, mixins.RetrieveModelMixin, OnScreen):
    """A list and its rows, for users who may open the screen."""

    permission_classes = (*cast(Any, api_settings.DEFAULT_PERMISSION_CLASSES), MayOpenScreen)
    lookup_value_converter = "int"
    ordering: tuple[str, ...] = ("id",)
    is_versioned = True

    def retrieve(self, request: Request, pk: int) -> Response:
        """The row; its `ETag` can be sent as `If-Match` with changes."""
        return self.respond_with(pk)


class ScreenViewSet(ListedScreen):
    """The same, with adding, changing and deleting."""

    named_in_form: Mapping[str, str] = {}
    """Fields of the form that have another name here."""

    def create(self, request: Request) -> Response:
        """Store a new row."""
        return self.respond_with(self._save().pk, status.HTTP_201_CREATED)

    def partial_update(self, request: Request, pk: int) -> Response:
        """Change the fields that are sent; 202 if what readers see waits for another person."""
        row = self.get_object()
        self.if_match(row, lambda: self._save(row.pk))
        return self.respond_with(pk, status.HTTP_202_ACCEPTED if waits(row) else status.HTTP_200_OK)

    def destroy(self, request: Request, pk: int) -> Response:
        """Delete a row; 409 if something keeps it."""
        row = self.get_object()
        self.if_match(row, lambda: delete_on(self.screen, self.plain_request, row))
        return Response(status=status.HTTP_204_NO_CONTENT)

    def in_form(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The values as the fields of the form take them: related rows by their key."""
        return {name: _key_of(value) for name, value in values.items()}

    @retried
    def _save(self, pk: int | None = None) -> Model:
        """Store what is sent in a new row, or in this one as it is now; as the form of the screen does.

        Each attempt reads the row, as a form changes the one that it is given before anything is stored.
        Raises `NotAllowed`, `Http404`, `ValidationError`, and the errors of the service.
        """
        request, screen, is_new = self.plain_request, self.screen, pk is None
        row = None if is_new else screen.lock_row(pk)
        if not is_new and row is None:
            raise Http404
        if not (screen.has_add_permission(request) if is_new else screen.has_change_permission(request, row)):
            raise NotAllowed
        form = self._checked_form(row)
        saved: Model = screen.save_form(request, form, change=not is_new)
        with duplicates_collide():  # the next attempt finds the other row, and the form says so
            screen.save_model(request, saved, form, not is_new)
            screen.save_related(request, form, [], not is_new)
        log = screen.log_addition if is_new else screen.log_change
        log(request, saved, screen.construct_change_message(request, form, [], is_new))
        return saved

    def _checked_form(self, row: Model | None) -> Any:
        """The form of the screen with what is sent. Raises `ValidationError`."""
        sent = self.get_serializer(row, data=self.request.data, partial=row is not None)
        sent.is_valid(raise_exception=True)
        kind = self.screen.get_form(self.plain_request, row, change=row is not None)
        unchanged = kind(instance=row)
        stored = self.in_form({name: unchanged[name].value() for name in unchanged.fields})
        values = self.in_form(sent.validated_data)
        for name in values.keys() - unchanged.fields.keys():
            if row is None or values.pop(name) != _key_of(getattr(row, name)):  # the stored one may be sent
                raise NotAllowed
        data = stored | values
        hidden = [name for name, field in unchanged.fields.items() if field.show_hidden_initial]
        form = kind(data | {unchanged.add_initial_prefix(name): stored[name] for name in hidden}, instance=row)
        if not form.is_valid():
            errors = form_errors(form)
            raise ValidationError({self.named_in_form.get(name, name): found for name, found in errors.items()})
        return form


@retried
def delete_on(screen: Any, request: HttpRequest, row: Model) -> None:
    """Delete a row as it is now, as its screen does, unless something keeps it. Raises `InUse` and `NotAllowed`."""
    stored: Model | None = screen.lock_row(row.pk)
    if stored is None:
        return
    if not screen.has_delete_permission(request, stored):
        raise NotAllowed
    _shown, _counts, lacking, protected = screen.get_deleted_objects([stored], request)
    if protected:
        raise InUse(" ".join(map(str, protected)))
    if lacking:
        raise NotAllowed
    screen.log_deletions(request, type(row)._default_manager.filter(pk=row.pk))
    screen.delete_model(request, stored)


def _key_of(value: Any) -> Any:
    if isinstance(value, Model):
        return value.pk
    if isinstance(value, Collection) and not isinstance(value, str):
        return [_key_of(one) for one in value]
    return value


def form_errors(form: Any) -> dict[str, list[ErrorDetail]]:
    """The errors of a form as those of a serializer."""
    return {
        api_settings.NON_FIELD_ERRORS_KEY if name == "__all__" else name: [
            ErrorDetail(message, error.code or "invalid") for error in errors for message in error.messages
        ]
        for name, errors in form.errors.as_data().items()
    }
