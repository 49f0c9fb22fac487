"""The API of webhooks: endpoints, their log, tests, replays and secrets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.conf import settings
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema, extend_schema_field, extend_schema_view
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from articles.api.fields import InstantField
from articles.api.screens import ScreenViewSet
from articles.limits import ADDRESS_LENGTH, DESCRIPTION_LENGTH, MOST_IDS
from articles.models import Channel, Delivery, Endpoint, Event
from articles.text import base_language
from articles.webhooks import replay, replay_since, rotate_secret, send_test, with_health
from scheduling.api.bounded_fields import BoundedChoicesField, BoundedListField, BoundedSlugField
from scheduling.api.strict import EmptyBody, Strict


class SortedChoicesField(BoundedChoicesField):
    """Some of the choices, as a list in their order."""

    def to_internal_value(self, data: Any) -> Any:
        """The list. Raises `ValidationError`."""
        chosen = super().to_internal_value(data)
        return [one for one in self.choices if one in chosen]

    def to_representation(self, value: Any) -> Any:
        """The list."""
        return [one for one in self.choices if one in value]


class WebhookHealthSerializer(serializers.Serializer[Any]):
    """The last 24 hours."""

    delivered = serializers.IntegerField()
    retrying = serializers.IntegerField()
    failed = serializers.IntegerField(help_text=_("For good: no further attempt."))
    median_ms = serializers.IntegerField(allow_null=True, help_text=_("From the event to the first attempt."))


class EndpointSerializer(Strict, serializers.ModelSerializer[Endpoint]):
    """A URL to which events are sent."""

    url = serializers.CharField(max_length=ADDRESS_LENGTH)
    description = serializers.CharField(max_length=DESCRIPTION_LENGTH, required=False, allow_blank=True)
    kinds = SortedChoicesField(Event.Kind.choices, required=False, help_text=_("Empty: all that it may hear of."))
    channels = BoundedSlugField(
        slug_field="slug", queryset=Channel.objects.all(), many=True, required=False, help_text=_("Empty: all.")
    )
    languages = SortedChoicesField(
        [(base_language(code), name) for code, name in settings.LANGUAGES], required=False, help_text=_("Empty: all.")
    )
    enabled = serializers.BooleanField(required=False, default=True)
    failing_since = InstantField(read_only=True, allow_null=True)
    health = serializers.SerializerMethodField()

    class Meta:
        model = Endpoint
        fields = [
            "id", "url", "description", "kinds", "channels", "languages", "is_full", "hears_newsroom", "enabled",
            "failing_since", "health",
        ]  # fmt: skip

    @extend_schema_field(WebhookHealthSerializer)
    def get_health(self, endpoint: Any) -> Mapping[str, Any]:
        """Of the last 24 hours."""
        if not hasattr(endpoint, "health"):
            with_health([endpoint])
        data: Mapping[str, Any] = WebhookHealthSerializer(endpoint.health).data
        return data


class EndpointSecretSerializer(EndpointSerializer):
    """A webhook with its secret, which is shown once."""

    secret = serializers.CharField(read_only=True, help_text=_("It verifies signatures, and is never shown again."))

    class Meta(EndpointSerializer.Meta):
        fields = [*EndpointSerializer.Meta.fields, "secret"]


class DeliverySerializer(serializers.ModelSerializer[Delivery]):
    """An event for a webhook, and the last attempt to send it."""

    event = serializers.CharField(source="event.kind", allow_null=True, default=None, help_text=_("Null: a test."))
    sent_as = serializers.CharField(source="kind", help_text=_("What was said: the truth at that moment."))
    due_at = InstantField(help_text=_("The next attempt, while it is pending."))
    sent_at = InstantField(allow_null=True)

    class Meta:
        model = Delivery
        fields = [
            "id", "event", "object_id", "state", "attempts", "due_at", "sent_at", "sent_as", "code", "ms", "late_ms",
            "error", "body", "response",
        ]  # fmt: skip
        read_only_fields = fields


class ReplaySerializer(Strict):
    """What to send again: these deliveries, or all since a time."""

    deliveries = BoundedListField(
        child=serializers.IntegerField(min_value=1, max_value=2**63 - 1), required=False, max_length=MOST_IDS
    )
    since = InstantField(required=False, help_text=_("Also events from before the webhook."))

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """One of both."""
        if len(attrs) != 1:
            raise ValidationError(_("Give either deliveries or a time."))
        return attrs


class ReplayedSerializer(serializers.Serializer[Any]):
    """How many are sent again."""

    count = serializers.IntegerField()


@extend_schema_view(
    list=extend_schema(operation_id="desk_webhooks_list", summary="Webhooks with their health"),
    retrieve=extend_schema(operation_id="desk_webhooks_retrieve", summary="One webhook"),
    create=extend_schema(
        operation_id="desk_webhooks_create", summary="Add a webhook", responses={201: EndpointSecretSerializer}
    ),
    partial_update=extend_schema(
        operation_id="desk_webhooks_partial_update", summary="Change, pause or resume a webhook"
    ),
    destroy=extend_schema(operation_id="desk_webhooks_destroy", summary="Delete a webhook and its log"),
)
class EndpointViewSet(ScreenViewSet):
    """Webhooks, for users who may manage them."""

    serializer_class = EndpointSerializer
    queryset = Endpoint.objects.prefetch_related("channels")
    unversioned = frozenset({"failing_since", "health"})
    is_secret = frozenset({"create", "rotate_secret"})

    def paginate_queryset(self, queryset: Any) -> Any:
        """With the health of a page of webhooks, read at once."""
        page = super().paginate_queryset(queryset)
        if page and isinstance(page[0], Endpoint):  # not a log
            with_health(page)
        return page

    def create(self, request: Request) -> Response:
        """Store a new webhook; the response has its secret, once."""
        answer = super().create(request)
        endpoint = Endpoint.objects.get(pk=answer.data["id"])
        answer.data = {**answer.data, "secret": endpoint.secret}
        return answer

    @extend_schema(
        operation_id="desk_webhooks_deliveries", summary="The log of a webhook, newest first",
        responses=DeliverySerializer(many=True),
    )  # fmt: skip
    @action(detail=True, methods=["get"], ordering=("-id",), parameters=["cursor", "page_size"])
    def deliveries(self, request: Request, pk: int) -> Response:
        """With what was sent, and what came back."""
        page = self.paginate_queryset(self.get_object().deliveries.select_related("event"))
        return self.get_paginated_response(DeliverySerializer(page, many=True).data)

    @extend_schema(
        operation_id="desk_webhooks_test", summary="Send a test", request=None, responses={202: DeliverySerializer}
    )
    @action(detail=True, methods=["post"])
    def test(self, request: Request, pk: int) -> Response:
        """A worker sends it at once; the log has the answer."""
        endpoint, _nothing = self.get_object(), self.checked(EmptyBody)
        delivery = self.if_match(endpoint, lambda: send_test(endpoint, by=request.user))
        return Response(DeliverySerializer(delivery).data, status=status.HTTP_202_ACCEPTED)

    @extend_schema(
        operation_id="desk_webhooks_replay", summary="Send events again", request=ReplaySerializer,
        responses={202: ReplayedSerializer},
    )  # fmt: skip
    @action(detail=True, methods=["post"])
    def replay(self, request: Request, pk: int) -> Response:
        """With the same ids as before."""
        endpoint, asked = self.get_object(), self.checked(ReplaySerializer)
        again: Callable[..., int] = replay_since if "since" in asked else replay
        which = asked["since"] if "since" in asked else asked["deliveries"]
        count = self.if_match(endpoint, lambda: again(endpoint, which, by=request.user))
        return Response({"count": count}, status=status.HTTP_202_ACCEPTED)

    @extend_schema(
        operation_id="desk_webhooks_rotate_secret", summary="Rotate the secret", request=None,
        responses=EndpointSecretSerializer,
    )  # fmt: skip
    @action(detail=True, methods=["post"], url_path="rotate-secret")
    def rotate_secret(self, request: Request, pk: int) -> Response:
        """For a day messages are signed with both."""
        endpoint, _nothing = self.get_object(), self.checked(EmptyBody)
        self.if_match(endpoint, lambda: rotate_secret(endpoint, by=request.user))
        return Response({**self.get_serializer(endpoint).data, "secret": endpoint.secret})
