"""The API of the audit log, which is read only."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import serializers

from articles.api.fields import AddressInstantField, InstantField
from articles.api.screens import ListedScreen
from articles.limits import ACTION_LENGTH
from articles.models import AuditEntry

_ID: dict[str, Any] = {"required": False, "min_value": 1, "max_value": 2**63 - 1}
_LOOKUPS = {
    "article": "article_id",
    "release": "release_id",
    "user": "user_id",
    "action": "action",
    "source": "source",
    "since": "at__gte",
    "until": "at__lt",
}


class AuditFilterSerializer(serializers.Serializer[Any]):
    """Filters of the audit log."""

    article = serializers.IntegerField(**_ID, help_text=_("Id of an article."))
    release = serializers.IntegerField(**_ID, help_text=_("Id of a release."))
    user = serializers.IntegerField(**_ID, help_text=_("Id of a user."))
    action = serializers.CharField(
        max_length=ACTION_LENGTH, required=False, help_text=_("Such as `approve` or `add_token`.")
    )
    source = serializers.ChoiceField(AuditEntry.Source.choices, required=False, help_text=_("Where it came in."))  # type: ignore[assignment]
    since = AddressInstantField(required=False, help_text=_("At or after this time."))
    until = AddressInstantField(required=False, help_text=_("Before this time."))


class AuditEntrySerializer(serializers.ModelSerializer[AuditEntry]):
    """An action: by which user, from which source and when."""

    at = InstantField(read_only=True)
    user = serializers.IntegerField(source="user_id", read_only=True, allow_null=True)
    article = serializers.IntegerField(source="article_id", read_only=True, allow_null=True)
    title = serializers.CharField(source="article_title", read_only=True)
    release = serializers.IntegerField(source="release_id", read_only=True, allow_null=True)
    old_time = InstantField(read_only=True, allow_null=True)
    new_time = InstantField(read_only=True, allow_null=True)
    reason = serializers.CharField(read_only=True)
    details = serializers.DictField(read_only=True)

    class Meta:
        model = AuditEntry
        fields = [
            "id", "at", "action", "source", "user", "user_name", "article", "title", "release", "release_name",
            "old_status", "new_status", "old_time", "new_time", "revision", "reason", "details",
        ]  # fmt: skip
        read_only_fields = fields


@extend_schema_view(
    list=extend_schema(
        operation_id="desk_audit_list", parameters=[AuditFilterSerializer], summary="The audit log, latest first"
    ),
    retrieve=extend_schema(operation_id="desk_audit_retrieve", summary="One audit entry"),
)
class AuditViewSet(ListedScreen):
    """The audit log. An article's earlier rows remain after it is deleted."""

    serializer_class = AuditEntrySerializer
    filter_class = AuditFilterSerializer
    queryset = AuditEntry.objects.all()
    ordering = ("-id",)
    is_versioned = False

    def filter_list(self, queryset: Any, filters: dict[str, Any]) -> Any:
        """Filter by subject, user, action, source and time."""
        return queryset.filter(**{_LOOKUPS[name]: value for name, value in filters.items()})
