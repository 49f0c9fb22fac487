"""The newsroom's API of breaking alerts."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Model, QuerySet
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from articles.api.fields import InstantField
from articles.api.screens import ScreenViewSet, or_waits
from articles.limits import ALERT_LENGTH
from articles.models import DURATION, MINUTES, Alert, Article, Push, minutes_of
from articles.push import push_now
from scheduling.api.strict import EmptyBody, Strict
from scheduling.database import database_now


class AlertMinutesField(serializers.ChoiceField):
    """A duration that is offered, in minutes."""

    def __init__(self, **options: Any) -> None:
        super().__init__(MINUTES, **options)

    def to_internal_value(self, data: Any) -> Any:
        """The duration. Raises `ValidationError`."""
        return timedelta(minutes=int(super().to_internal_value(data)))

    def to_representation(self, value: Any) -> Any:
        """Minutes."""
        return minutes_of(value)


class AlertSerializer(Strict, serializers.ModelSerializer[Alert]):
    """A line on every page of the site, about an article that is live then."""

    article = serializers.PrimaryKeyRelatedField(
        queryset=Article.objects.all(),
        pk_field=serializers.IntegerField(min_value=1, max_value=2**63 - 1),
        validators=[],
        help_text=_("It cannot be changed later."),
    )
    text = serializers.CharField(max_length=ALERT_LENGTH)
    starts_at = InstantField(
        allow_null=True, required=False, help_text=_("Null: from the moment at which the article goes live.")
    )
    minutes = AlertMinutesField(source="lasts", required=False, default=DURATION, help_text=_("How long it is shown."))
    push = serializers.BooleanField(
        required=False, default=False, help_text=_("Also sent to readers who want it, once the article is published.")
    )
    in_quiet_hours = serializers.BooleanField(
        required=False, default=False, help_text=_("Whether it is pushed in quiet hours, too.")
    )
    enabled = serializers.BooleanField(required=False, default=True)
    state = serializers.ChoiceField(Alert.State.choices, read_only=True, help_text=_("What readers see of it now."))
    begins_at = InstantField(read_only=True, allow_null=True, help_text=_("From when readers see it."))
    ends_at = InstantField(read_only=True, allow_null=True, help_text=_("Until when readers see it."))

    class Meta:
        model = Alert
        fields = [
            "id", "article", "text", "starts_at", "minutes", "push", "in_quiet_hours", "enabled", "state", "begins_at",
            "ends_at",
        ]  # fmt: skip


class PushSerializer(serializers.ModelSerializer[Push]):
    """An alert on its way to readers who want it."""

    class Meta:
        model = Push
        fields = ["id", "text", "created_at"]
        read_only_fields = fields


@extend_schema_view(
    list=extend_schema(operation_id="desk_alerts_list", summary="Breaking alerts"),
    retrieve=extend_schema(operation_id="desk_alerts_retrieve", summary="One breaking alert"),
    create=extend_schema(operation_id="desk_alerts_create", summary="Set a breaking alert for an article"),
    partial_update=extend_schema(
        operation_id="desk_alerts_partial_update",
        summary="Change a breaking alert",
        responses=or_waits(AlertSerializer),
    ),
    destroy=extend_schema(operation_id="desk_alerts_destroy", summary="Delete a breaking alert"),
)
class AlertViewSet(ScreenViewSet):
    """Breaking alerts, for users who may publish."""

    serializer_class = AlertSerializer
    queryset = Alert.objects.select_related("article")
    named_in_form: Mapping[str, str] = {"lasts": "minutes"}

    @extend_schema(
        operation_id="desk_alerts_push", summary="Push a breaking alert once more", request=None,
        responses={202: PushSerializer},
    )  # fmt: skip
    @action(detail=True, methods=["post"])
    def push(self, request: Request, pk: int) -> Response:
        """To readers who want it, while the alert is live: for an article that was live before, or a follow-up.

        Sent again within a minute, as programs do that got no answer, the response has the same push.
        """
        alert, _nothing = self.get_object(), self.checked(EmptyBody)
        push = self.if_match(alert, lambda: push_now(alert, by=request.user))
        return Response(PushSerializer(push).data, status=status.HTTP_202_ACCEPTED)

    def get_queryset(self) -> QuerySet[Alert]:
        """With the state of each at the same instant."""
        return super().get_queryset().state_at(database_now())  # type: ignore[no-any-return,attr-defined]

    def in_form(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Times as wall times of UTC, durations in minutes."""
        named = super().in_form(values)
        if isinstance(lasts := named.get("lasts"), timedelta):
            named["lasts"] = AlertMinutesField().to_representation(lasts)
        if isinstance(moment := named.get("starts_at"), datetime):
            named["starts_at"] = moment.astimezone(UTC).replace(tzinfo=None).isoformat(" ")
        return named

    def _save(self, pk: int | None = None) -> Model:
        with timezone.override(UTC):  # whose wall times are unambiguous
            return super()._save(pk)
