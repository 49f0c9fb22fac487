"""The API of saved views of the article list."""

from __future__ import annotations

from typing import Any

from django.db.models import Q, QuerySet
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import mixins, serializers, status
from rest_framework.decorators import action
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from articles.api.base import NewsroomView
from articles.api.screens import form_errors
from articles.desk.articles.saved_views import TOO_LONG, ViewForm, move_view, plain_query, save_view
from articles.limits import ADDRESS_LENGTH, VIEW_QUERY_LENGTH
from articles.models import SavedView
from scheduling.api.strict import Strict


class SavedViewSerializer(Strict, serializers.ModelSerializer[SavedView]):
    """Filters of the newsroom's list under a name."""

    owner = serializers.CharField(source="owner.username", read_only=True)
    query = serializers.CharField(
        max_length=ADDRESS_LENGTH, help_text=_("The query of the list's address; what it does not know is left out.")
    )

    class Meta:
        model = SavedView
        fields = ["id", "name", "query", "shared", "position", "owner"]
        read_only_fields = ["position"]

    def validate_query(self, query: str) -> str:
        """Normalised, as the list stores it. Raises `ValidationError`."""
        plain = plain_query(QueryDict(query.removeprefix("?")))
        if len(plain) > VIEW_QUERY_LENGTH:
            raise ValidationError(TOO_LONG, code="max_length")
        return plain


class MoveSerializer(Strict):
    """By how many places."""

    by = serializers.IntegerField(min_value=-1000, max_value=1000, help_text=_("Negative means earlier."))


@extend_schema_view(
    list=extend_schema(operation_id="desk_views_list", summary="Your saved views, and those that others share"),
    retrieve=extend_schema(operation_id="desk_views_retrieve", summary="One saved view"),
)
class SavedViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, NewsroomView):
    """Saved views; only their owner changes them."""

    read_permissions = ("articles.view_article",)
    serializer_class = SavedViewSerializer
    queryset = SavedView.objects.select_related("owner")
    lookup_value_converter = "int"
    ordering = ("id",)
    is_versioned = True

    def get_queryset(self) -> QuerySet[SavedView]:
        """One's own, and to read also shared ones."""
        views: QuerySet[SavedView] = super().get_queryset()
        own = Q(owner=self.request.user.pk)
        return views.filter(own | Q(shared=True) if self.request.method == "GET" else own)

    def retrieve(self, request: Request, pk: int) -> Response:
        """The view; its `ETag` can be sent as `If-Match` with changes."""
        return self.respond_with(pk)

    @extend_schema(operation_id="desk_views_create", summary="Save a view")
    def create(self, request: Request) -> Response:
        """Only its owner sees it, unless it is shared."""
        form = self.get_serializer(data=request.data)
        form.is_valid(raise_exception=True)
        return self.respond_with(self._save(form.validated_data), status.HTTP_201_CREATED)

    @extend_schema(operation_id="desk_views_partial_update", summary="Change a saved view")
    def partial_update(self, request: Request, pk: int) -> Response:
        """Its name, its filters, and whether it is shared."""
        view = self.get_object()
        form = self.get_serializer(view, data=request.data, partial=True)
        form.is_valid(raise_exception=True)
        self.if_match(view, lambda: self._save(form.validated_data, pk=view.pk))
        return self.respond_with(pk)

    @extend_schema(operation_id="desk_views_destroy", summary="Delete a saved view")
    def destroy(self, request: Request, pk: int) -> Response:
        """An own one."""
        view = self.get_object()
        self.if_match(view, view.delete)
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(operation_id="desk_views_move", summary="Move a saved view", request=MoveSerializer)
    @action(detail=True, methods=["post"])
    def move(self, request: Request, pk: int) -> Response:
        """Earlier or later among one's own."""
        view, values = self.get_object(), self.checked(MoveSerializer)
        self.if_match(view, lambda: move_view(request.user, view.pk, by=values["by"]))
        return self.respond_with(pk)

    def _save(self, values: dict[str, Any], pk: int | None = None) -> Any:
        def form_of(view: SavedView) -> ViewForm:
            return ViewForm({"name": view.name, "shared": view.shared, **values}, instance=view)

        form = save_view(self.request.user, form_of, pk=pk, query=values.get("query"))
        if form.errors:
            raise ValidationError(form_errors(form))
        return form.instance.pk
