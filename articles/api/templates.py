"""The API of article templates."""

from __future__ import annotations

from typing import Any, ClassVar

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import serializers

from articles.api.fields import TagField
from articles.api.screens import ScreenViewSet
from articles.models import ArticleTemplate, Channel
from scheduling.api.bounded_fields import BoundedSlugField
from scheduling.api.strict import Strict


class TemplateSerializer(Strict, serializers.ModelSerializer[ArticleTemplate]):
    """What a new article may begin with."""

    channel = BoundedSlugField(
        slug_field="slug", queryset=Channel.objects.all(), allow_null=True, required=False,
        help_text=_("Slug of a channel; null for articles of any."),
    )  # fmt: skip
    tags = TagField(many=True, required=False)

    class Meta:
        model = ArticleTemplate
        fields = ["id", "name", "channel", "title", "summary", "body", "tags"]
        validators: ClassVar[list[Any]] = []  # the form has its own


@extend_schema_view(
    list=extend_schema(operation_id="desk_templates_list", summary="Article templates"),
    retrieve=extend_schema(operation_id="desk_templates_retrieve", summary="One article template"),
    create=extend_schema(operation_id="desk_templates_create", summary="Add an article template"),
    partial_update=extend_schema(operation_id="desk_templates_partial_update", summary="Change an article template"),
    destroy=extend_schema(operation_id="desk_templates_destroy", summary="Delete an article template"),
)
class TemplateViewSet(ScreenViewSet):
    """Texts and tags that new articles may begin with."""

    serializer_class = TemplateSerializer
    queryset = ArticleTemplate.objects.select_related("channel").prefetch_related("tags")
