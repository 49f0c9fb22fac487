"""The API of changes of texts for readers that wait for another person."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import mixins, serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from articles.api.base import NewsroomView
from articles.api.fields import InstantField
from articles.limits import REASON_LENGTH, VERSION_LENGTH
from articles.models import ProposedChange
from articles.review import approve_change, comparisons, deciding_refusal, reject_change, version_of_change
from scheduling.api.strict import Strict


class ComparisonSerializer(serializers.Serializer[Any]):
    """A field before and after."""

    field = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]
    old = serializers.CharField()
    new = serializers.CharField()


class ProposedChangeSerializer(serializers.ModelSerializer[ProposedChange]):
    """A change that readers do not see yet."""

    subject_id = serializers.CharField(help_text=_("Of the article, channel, tag, image or user."))
    changes = ComparisonSerializer(many=True, help_text=_("All fields that readers will see."))
    version = serializers.CharField(help_text=_("To send with an approval."))
    may_approve = serializers.SerializerMethodField(help_text=_("Whether the signed-in user may approve it."))
    proposed_by = serializers.ListField(child=serializers.IntegerField(), help_text=_("IDs of its writers."))
    proposed_at = InstantField(read_only=True)

    class Meta:
        model = ProposedChange
        fields = [
            "id", "subject", "subject_id", "name", "changes", "version", "proposed_by", "proposed_at", "may_approve",
        ]  # fmt: skip
        read_only_fields = fields

    def to_representation(self, instance: ProposedChange) -> dict[str, Any]:
        """With what an approval is about, as it is now."""
        compared: Any = instance
        compared.changes = comparisons(instance)
        compared.version = version_of_change(compared.changes)
        return super().to_representation(instance)

    def get_may_approve(self, change: ProposedChange) -> bool:
        """As on the page."""
        return not deciding_refusal(change, self.context["request"].user)


class ChangeApprovalSerializer(Strict):
    """What was read."""

    version = serializers.CharField(max_length=VERSION_LENGTH)


class ChangeRejectionSerializer(Strict):
    """Why."""

    reason = serializers.CharField(
        max_length=REASON_LENGTH,
        required=False,
        default="",
        allow_blank=True,
        help_text=_("Needed unless you proposed it."),
    )


@extend_schema_view(
    list=extend_schema(operation_id="desk_proposed_changes_list", summary="Changes that wait for another person"),
    retrieve=extend_schema(operation_id="desk_proposed_changes_retrieve", summary="One change that waits"),
)
class ProposedChangeViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, NewsroomView):
    """Under the two-person rule: what one person has changed and readers do not see yet."""

    serializer_class = ProposedChangeSerializer
    queryset: QuerySet[ProposedChange] = ProposedChange.objects.all()
    lookup_value_converter = "int"
    ordering = ("id",)

    @extend_schema(
        operation_id="desk_proposed_changes_approve", summary="Approve a change", request=ChangeApprovalSerializer,
        responses={204: None},
    )  # fmt: skip
    @action(detail=True, methods=["post"])
    def approve(self, request: Request, pk: int) -> Response:
        """As it was read; 409 if it has changed since."""
        approve_change(pk, by=request.user, **self.checked(ChangeApprovalSerializer))
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(
        operation_id="desk_proposed_changes_reject", summary="Reject a change, or discard an own one",
        request=ChangeRejectionSerializer, responses={204: None},
    )  # fmt: skip
    @action(detail=True, methods=["post"])
    def reject(self, request: Request, pk: int) -> Response:
        """With a reason, unless it is your own."""
        reject_change(pk, by=request.user, **self.checked(ChangeRejectionSerializer))
        return Response(status=status.HTTP_204_NO_CONTENT)
