"""The API of the signed-in user's notifications."""

from __future__ import annotations

from typing import Any, cast

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import mixins, serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.settings import api_settings

from articles.api.base import NewsroomView
from articles.api.fields import InstantField
from articles.limits import MOST_READ
from articles.models import Notification, NotificationPreference
from articles.permissions import lock_account
from scheduling.api.bounded_fields import BoundedListField
from scheduling.api.strict import Strict
from scheduling.database import database_now, retried

Kind = Notification.Kind


class NotificationFilterSerializer(serializers.Serializer[Any]):
    """Filters of the notifications."""

    unread = serializers.BooleanField(required=False, help_text=_("Only those that were not read yet."))
    kind = serializers.ChoiceField(Kind.choices, required=False, help_text=_("Only of this kind."))


class NotificationSerializer(serializers.ModelSerializer[Notification]):
    """Something to know or to do."""

    article = serializers.IntegerField(source="article_id", read_only=True, allow_null=True)
    release = serializers.IntegerField(source="release_id", read_only=True, allow_null=True)
    reason = serializers.CharField(read_only=True)
    at = InstantField(read_only=True)
    read_at = InstantField(read_only=True, allow_null=True)

    class Meta:
        model = Notification
        fields = ["id", "kind", "article", "article_title", "release", "reason", "at", "read_at"]
        read_only_fields = fields


class ReadSerializer(Strict):
    """Which ones were read."""

    ids = BoundedListField(
        child=serializers.UUIDField(), required=False, max_length=MOST_READ, help_text=_("Left out: all.")
    )


class ReadResultSerializer(serializers.Serializer[Any]):
    """How many were marked."""

    read = serializers.IntegerField()


class ChoicesSerializer(Strict):
    """Which kinds are shown in the newsroom, and which are mailed."""

    desk = BoundedListField(child=serializers.ChoiceField(Kind.choices), required=False, max_length=len(Kind))
    mail = BoundedListField(child=serializers.ChoiceField(Kind.choices), required=False, max_length=len(Kind))


@extend_schema_view(
    list=extend_schema(
        operation_id="desk_notifications_list", parameters=[NotificationFilterSerializer],
        summary="Your notifications, latest first",
    ),
    retrieve=extend_schema(operation_id="desk_notifications_retrieve", summary="One notification"),
)  # fmt: skip
class NotificationViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, NewsroomView):
    """Notifications of the signed-in user."""

    permission_classes = tuple(cast(Any, api_settings.DEFAULT_PERMISSION_CLASSES))
    serializer_class = NotificationSerializer
    filter_class = NotificationFilterSerializer
    queryset = Notification.objects.all()
    lookup_value_converter = "str"
    ordering = ("-at", "-id")

    def get_queryset(self) -> QuerySet[Notification]:
        """The user's own."""
        return Notification.objects.in_desk_of(self.request.user)

    def filter_list(self, queryset: Any, filters: dict[str, Any]) -> Any:
        """Filter by kind and whether they were read."""
        queryset = queryset.unread() if filters.get("unread") else queryset
        return queryset.filter(kind=filters["kind"]) if "kind" in filters else queryset

    @extend_schema(
        operation_id="desk_notifications_read", summary="Mark as read", request=ReadSerializer,
        responses=ReadResultSerializer,
    )  # fmt: skip
    @action(detail=False, methods=["post"])
    def read(self, request: Request) -> Response:
        """These, or all."""
        values, unread = self.checked(ReadSerializer), Notification.objects.in_desk_of(request.user).unread()
        chosen = unread.filter(pk__in=values["ids"]) if "ids" in values else unread
        return Response({"read": chosen.update(read_at=database_now())})

    @extend_schema(
        operation_id="desk_notifications_choices_retrieve", summary="Notification preferences",
        responses=ChoicesSerializer,
    )  # fmt: skip
    @action(detail=False, methods=["get"], pagination_class=None, filter_class=None, is_single=True, is_versioned=True)
    def choices(self, request: Request) -> Response:
        """Which kinds the signed-in user gets, and how; the `ETag` can be sent as `If-Match` with changes."""
        return self._respond_with_choice()

    @extend_schema(
        operation_id="desk_notifications_choices_partial_update", summary="Choose notifications",
        request=ChoicesSerializer, responses=ChoicesSerializer,
    )  # fmt: skip
    @choices.mapping.patch
    def choose(self, request: Request) -> Response:
        """What is sent is replaced."""
        values = self.checked(ChoicesSerializer)
        self.if_match(User(pk=request.user.pk), lambda: self._choose(values))
        return self._respond_with_choice()

    def shown(self, pk: Any) -> Any:
        """A notification, or the preferences."""
        return ChoicesSerializer(self._choice()).data if self.is_single else super().shown(pk)

    def _respond_with_choice(self) -> Response:
        return self.respond_with(self.request.user.pk)

    @retried
    def _choose(self, values: dict[str, Any]) -> None:
        lock_account(self.request.user)
        choice = self._choice()
        for name, kinds in values.items():
            setattr(choice, name, sorted(set(kinds)))
        choice.save()

    def _choice(self) -> NotificationPreference:
        pk = self.request.user.pk
        found = NotificationPreference.objects.filter(pk=pk).first()
        return found or NotificationPreference(pk=pk)
