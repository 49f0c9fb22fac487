"""The newsroom's API of channels and tags."""

from __future__ import annotations

from typing import Any, ClassVar

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import serializers

from articles.api.screens import ScreenViewSet, or_waits
from articles.limits import LABEL_LENGTH
from articles.models import Channel, Tag
from scheduling.api.strict import Strict

_OWN_CHECKS: dict[str, Any] = {"validators": []}  # those of the form


class LabelFilterSerializer(serializers.Serializer[Any]):
    """Filters of channels and tags."""

    slug = serializers.CharField(max_length=LABEL_LENGTH, required=False, help_text=_("The one with this slug."))
    q = serializers.CharField(max_length=LABEL_LENGTH, required=False, help_text=_("A part of the name."))


class DeskChannelSerializer(Strict, serializers.ModelSerializer[Channel]):
    """A channel, enabled or not."""

    class Meta:
        model = Channel
        fields = ["id", "name", "slug", "description", "position", "enabled"]
        extra_kwargs: ClassVar = {"name": _OWN_CHECKS, "slug": _OWN_CHECKS}


class DeskTagSerializer(Strict, serializers.ModelSerializer[Tag]):
    """A tag."""

    class Meta:
        model = Tag
        fields = ["id", "name", "slug"]
        extra_kwargs: ClassVar = {"name": _OWN_CHECKS, "slug": _OWN_CHECKS}


class LabelViewSet(ScreenViewSet):
    """What channels and tags share."""

    filter_class = LabelFilterSerializer

    def filter_list(self, queryset: Any, filters: dict[str, Any]) -> Any:
        """Filter by slug or a part of the name."""
        if "slug" in filters:
            queryset = queryset.filter(slug=filters["slug"])
        return queryset.filter(name__icontains=filters["q"]) if filters.get("q") else queryset


@extend_schema_view(
    list=extend_schema(operation_id="desk_channels_list", parameters=[LabelFilterSerializer], summary="All channels"),
    retrieve=extend_schema(operation_id="desk_channels_retrieve", summary="One channel"),
    create=extend_schema(operation_id="desk_channels_create", summary="Add a channel"),
    partial_update=extend_schema(
        operation_id="desk_channels_partial_update",
        summary="Change a channel",
        responses=or_waits(DeskChannelSerializer),
    ),
    destroy=extend_schema(operation_id="desk_channels_destroy", summary="Delete a channel without articles"),
)
class DeskChannelViewSet(LabelViewSet):
    """The channels of the site, also disabled ones."""

    serializer_class = DeskChannelSerializer
    queryset = Channel.objects.all()


@extend_schema_view(
    list=extend_schema(operation_id="desk_tags_list", parameters=[LabelFilterSerializer], summary="Tags"),
    retrieve=extend_schema(operation_id="desk_tags_retrieve", summary="One tag"),
    create=extend_schema(operation_id="desk_tags_create", summary="Add a tag"),
    partial_update=extend_schema(
        operation_id="desk_tags_partial_update", summary="Rename a tag", responses=or_waits(DeskTagSerializer)
    ),
    destroy=extend_schema(operation_id="desk_tags_destroy", summary="Delete a tag, also from its articles"),
)
class DeskTagViewSet(LabelViewSet):
    """Tags; those of approved articles need the permission to approve."""

    serializer_class = DeskTagSerializer
    queryset = Tag.objects.all()
