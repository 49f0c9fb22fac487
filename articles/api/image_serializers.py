"""Serializers of images, for readers and the newsroom."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from articles.api.fields import InstantField
from articles.images import absolute
from articles.limits import ADDRESS_LENGTH, ALT_LENGTH, CAPTION_LENGTH, CREDIT_LENGTH, IMAGE_TITLE_LENGTH, SEARCH_LENGTH
from articles.models import MODERN, Image
from scheduling.api.strict import Strict


class RenditionSerializer(serializers.Serializer[Any]):
    """An image in one size and format."""

    url = serializers.URLField()
    width = serializers.IntegerField(help_text=_("Pixels."))
    type = serializers.CharField(help_text=_("Such as image/webp."))


class ReaderImageSerializer(serializers.ModelSerializer[Image]):
    """An image with what readers see."""

    url = serializers.SerializerMethodField(help_text=_("Of a rendition of medium size."))
    versions = serializers.SerializerMethodField(help_text=_("In every size and format, the best format first."))

    class Meta:
        model = Image
        fields = [
            "id", "url", "alt", "caption", "credit", "width", "height", "focus_x", "focus_y", "versions",
        ]  # fmt: skip
        read_only_fields = fields

    @extend_schema_field(serializers.URLField())
    def get_url(self, image: Image) -> str:
        """An absolute URL."""
        return absolute(image.preview)

    @extend_schema_field(RenditionSerializer(many=True))
    def get_versions(self, image: Image) -> list[dict[str, Any]]:
        """All renditions, with absolute URLs."""
        return [
            {"url": absolute(image.address(f"{width}.{kind}")), "width": width, "type": f"image/{kind}"}
            for kind in MODERN
            for width in image.widths
        ]


class ImageUseSerializer(serializers.Serializer[Any]):
    """An article that uses an image."""

    id = serializers.IntegerField()
    title = serializers.CharField()


class ImageSerializer(Strict, ReaderImageSerializer):
    """An image in the image library."""

    title = serializers.CharField(max_length=IMAGE_TITLE_LENGTH, required=False)
    alt = serializers.CharField(max_length=ALT_LENGTH, required=False, help_text=_("Describes the image; never empty."))
    uploaded_by = serializers.StringRelatedField[Any](read_only=True, allow_null=True)
    created_at = InstantField(read_only=True)
    is_favourite = serializers.SerializerMethodField(help_text=_("Of the signed-in user."))
    used_in = serializers.SerializerMethodField(
        help_text=_("The newest 50 articles that use it; an image in use cannot be deleted.")
    )

    class Meta(ReaderImageSerializer.Meta):
        fields = [
            *ReaderImageSerializer.Meta.fields,
            "title", "format", "size", "uploaded_by", "created_at", "is_favourite", "used_in",
        ]  # fmt: skip
        read_only_fields = ["id", "width", "height", "format", "size"]

    def get_is_favourite(self, image: Image) -> bool:
        """Whether it is a favourite of the signed-in user."""
        return self.context["request"].user in image.favoured_by.all()

    @extend_schema_field(ImageUseSerializer(many=True))
    def get_used_in(self, image: Image) -> list[dict[str, Any]]:
        """The articles' ids and headlines."""
        return [{"id": use.article_id, "title": use.article.title} for use in image.newest_uses]  # type: ignore[attr-defined]


class TextsSerializer(Strict):
    """The texts of a new image."""

    alt = serializers.CharField(max_length=ALT_LENGTH, help_text=_("Describes the image for users who cannot see it."))
    title = serializers.CharField(
        max_length=IMAGE_TITLE_LENGTH, required=False, help_text=_("Left out: the file's name.")
    )
    caption = serializers.CharField(max_length=CAPTION_LENGTH, required=False)
    credit = serializers.CharField(max_length=CREDIT_LENGTH, required=False)


class UploadSerializer(TextsSerializer):
    """A file with its texts."""

    file = serializers.FileField(help_text=_("JPEG, PNG, WebP, AVIF or a still GIF, of at most 20 MB."))


class AddressSerializer(TextsSerializer):
    """Where a file is, with its texts."""

    address = serializers.CharField(max_length=ADDRESS_LENGTH, help_text=_("A public address of HTTP or HTTPS."))


class FavouriteSerializer(Strict):
    """Whether an image is a favourite of the signed-in user."""

    is_favourite = serializers.BooleanField()


class ImageFilterSerializer(serializers.Serializer[Any]):
    """Filters of the image library."""

    q = serializers.CharField(max_length=SEARCH_LENGTH, required=False, help_text=_("Words in title, texts or credit."))
    favourite = serializers.BooleanField(required=False, help_text=_("Only favourites of the signed-in user."))
    own = serializers.BooleanField(required=False, help_text=_("Only images the signed-in user uploaded."))
    unused = serializers.BooleanField(required=False, help_text=_("Only images that no article and no front uses."))
