"""Pictures as JSON, for readers and for the newsroom."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from articles.api.fields import InstantField
from articles.images import absolute
from articles.models import MODERN, Image
from scheduling.unknown_fields import Strict


class VersionSerializer(serializers.Serializer[Any]):
    """A picture in one size and format."""

    url = serializers.URLField()
    width = serializers.IntegerField(help_text=_("Pixels."))
    type = serializers.CharField(help_text=_("Such as image/webp."))


class ReaderImageSerializer(serializers.ModelSerializer[Image]):
    """A picture as readers see it."""

    url = serializers.SerializerMethodField(help_text=_("Of a version for the middle of a page."))
    versions = serializers.SerializerMethodField(help_text=_("In every size and format, the best format first."))

    class Meta:
        model = Image
        fields = [
            "id", "url", "alt", "caption", "credit", "width", "height", "focus_x", "focus_y", "versions",
        ]  # fmt: skip
        read_only_fields = fields

    @extend_schema_field(serializers.URLField())
    def get_url(self, image: Image) -> str:
        """An absolute address."""
        return absolute(image.preview)

    @extend_schema_field(VersionSerializer(many=True))
    def get_versions(self, image: Image) -> list[dict[str, Any]]:
        """Their absolute addresses."""
        return [
            {"url": absolute(image.address(f"{width}.{kind}")), "width": width, "type": f"image/{kind}"}
            for kind in MODERN
            for width in image.widths
        ]


class UserSerializer(serializers.Serializer[Any]):
    """An article that shows a picture, or may yet show it."""

    id = serializers.IntegerField()
    title = serializers.CharField()


class ImageSerializer(Strict, ReaderImageSerializer):
    """A picture as the newsroom sees it."""

    title = serializers.CharField(max_length=200, required=False)
    alt = serializers.CharField(max_length=500, required=False, help_text=_("What is to be seen; never empty."))
    uploaded_by = serializers.StringRelatedField[Any](read_only=True, allow_null=True)
    created_at = InstantField(read_only=True)
    is_favourite = serializers.SerializerMethodField(help_text=_("Of the signed-in user."))
    used_in = serializers.SerializerMethodField(
        help_text=_("The newest 50; as long as there are any, it is not deleted.")
    )

    class Meta(ReaderImageSerializer.Meta):
        fields = [
            *ReaderImageSerializer.Meta.fields,
            "title", "format", "size", "uploaded_by", "created_at", "is_favourite", "used_in",
        ]  # fmt: skip
        read_only_fields = ["id", "width", "height", "format", "size"]

    def get_is_favourite(self, image: Image) -> bool:
        """Whether the signed-in user marked it."""
        return self.context["request"].user in image.favoured_by.all()

    @extend_schema_field(UserSerializer(many=True))
    def get_used_in(self, image: Image) -> list[dict[str, Any]]:
        """The articles' ids and headlines."""
        return [{"id": use.article_id, "title": use.article.title} for use in image.newest_uses]  # type: ignore[attr-defined]


class UploadSerializer(Strict):
    """A file with what is to be said of it."""

    file = serializers.FileField(help_text=_("JPEG, PNG, WebP, AVIF or a still GIF, of at most 20 MB."))
    alt = serializers.CharField(max_length=500, help_text=_("What is to be seen, for those who do not see it."))
    title = serializers.CharField(max_length=200, required=False, help_text=_("Left out: the file's name."))
    caption = serializers.CharField(max_length=1000, required=False)
    credit = serializers.CharField(max_length=200, required=False)


class FavouriteSerializer(Strict):
    """Whether the signed-in user marks a picture."""

    is_favourite = serializers.BooleanField()


class ShelfFilterSerializer(serializers.Serializer[Any]):
    """Which pictures to list."""

    q = serializers.CharField(max_length=100, required=False, help_text=_("Words in title, texts or credit."))
    favourite = serializers.BooleanField(required=False, help_text=_("Only favourites of the signed-in user."))
    own = serializers.BooleanField(required=False, help_text=_("Only pictures the signed-in user uploaded."))
    unused = serializers.BooleanField(required=False, help_text=_("Only pictures that no article shows."))
