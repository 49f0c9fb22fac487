"""What anybody may read, as JSON."""

from __future__ import annotations

import re
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.signing import BadSignature
from django.db.models import QuerySet
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from articles.api.fields import AddressInstantField, InstantField
from articles.api.image_serializers import ReaderImageSerializer
from articles.images import absolute, with_renditions
from articles.listing import Cursor, live_authors, live_tags
from articles.models import Article, Channel, Correction, FeedEntry, Tag
from articles.search import highlighted, snippet
from articles.text import clean_html

GONE = [choice for choice in FeedEntry.State.choices if choice[0] != FeedEntry.State.LIVE]


class ChannelSerializer(serializers.ModelSerializer[Channel]):
    """A section of the site."""

    class Meta:
        model = Channel
        fields = ["name", "slug", "description"]


class TagSerializer(serializers.ModelSerializer[Tag]):
    """A word that ties articles together."""

    class Meta:
        model = Tag
        fields = ["name", "slug"]


class CorrectionSerializer(serializers.ModelSerializer[Correction]):
    """What was wrong before."""

    published_at = InstantField(source="shown_since", read_only=True)

    class Meta:
        model = Correction
        fields = ["note", "published_at"]
        read_only_fields = fields


class HeadlineSerializer(serializers.ModelSerializer[Article]):
    """A live article without its body."""

    channel = ChannelSerializer(allow_null=True, read_only=True)
    tags = TagSerializer(many=True, read_only=True)
    cover = ReaderImageSerializer(
        source="covers", many=True, read_only=True, help_text=_("None, one or three pictures.")
    )
    byline = serializers.CharField(
        source="signed", read_only=True, help_text=_("Who wrote it; empty when nobody is to be named.")
    )
    url = serializers.SerializerMethodField(help_text=_("The article's page on the site."))
    publish_at = InstantField(read_only=True)
    published_at = InstantField(
        read_only=True, allow_null=True, help_text=_("When it really went live; null until the task has noted it.")
    )
    updated_at = InstantField(
        source="modified_at", read_only=True, help_text=_("When readers last saw something new of it.")
    )

    class Meta:
        model = Article
        fields = [
            "id", "title", "slug", "summary", "byline", "channel", "tags", "url", "cover",
            "publish_at", "published_at", "updated_at",
        ]  # fmt: skip
        read_only_fields = fields

    def get_url(self, article: Article) -> str:
        """An absolute address."""
        return f"{settings.SITE_URL.rstrip('/')}{article.get_absolute_url()}"


class BodyField(serializers.CharField):
    """The body, fit to be shown."""

    def to_representation(self, value: str) -> str:
        """Clean HTML with its pictures."""
        return with_renditions(clean_html(value), address=absolute)


class HighlightSerializer(serializers.Serializer[Any]):
    """Where an article has what was looked for: escaped HTML with the words in `<mark>`."""

    title = serializers.CharField()
    text = serializers.CharField()


class ListedSerializer(HeadlineSerializer):
    """A live article in a list."""

    highlight = serializers.SerializerMethodField(help_text=_("With `q`: headline and text around what was found."))
    body = BodyField(required=False, help_text=_("With `updated_since` alone."))
    corrections = CorrectionSerializer(many=True, required=False, help_text=_("With `updated_since` alone."))

    class Meta(HeadlineSerializer.Meta):
        fields = [*HeadlineSerializer.Meta.fields, "highlight", "body", "corrections"]
        read_only_fields = fields

    def get_fields(self) -> dict[str, Any]:
        """Those of a headline alone, unless changes are followed; all of them in the API's document."""
        fields = super().get_fields()
        is_short = self.context.get("follows") is False
        return {name: field for name, field in fields.items() if not is_short or name not in ("body", "corrections")}

    @extend_schema_field(HighlightSerializer(allow_null=True))
    def get_highlight(self, article: Article) -> dict[str, str] | None:
        """None unless something was looked for."""
        if (query := self.context["query"]) is None:
            return None
        return {"title": highlighted(article.title, query), "text": snippet(article, query)}


class LiveArticleSerializer(HeadlineSerializer):
    """A live article, whole."""

    body = BodyField(read_only=True, help_text=_("HTML without scripts, styles and frames."))
    corrections = CorrectionSerializer(many=True, read_only=True)

    class Meta(HeadlineSerializer.Meta):
        fields = [*HeadlineSerializer.Meta.fields, "body", "corrections"]
        read_only_fields = fields


@extend_schema_field(OpenApiTypes.STR)
class CursorField(serializers.Field[Cursor, str, str, Cursor]):
    """A place between two articles, as addresses name it."""

    def to_internal_value(self, data: str) -> Cursor:
        """The place. Refuses one that was made by hand."""
        try:
            return Cursor.read(data)
        except BadSignature as error:
            raise serializers.ValidationError(_("Take it from `next`, unchanged.")) from error


class ArticleFilterSerializer(serializers.Serializer[Any]):
    """Which articles to list."""

    channel = serializers.CharField(max_length=80, required=False, help_text=_("Slug of a channel."))
    q = serializers.CharField(max_length=100, required=False, help_text=_("Words in headline, summary or body."))
    tag = serializers.CharField(max_length=80, required=False, help_text=_("Slug of a tag."))
    author = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=2**63 - 1,
        help_text=_("Number of an author, as in the address of his feed."),
    )
    since = AddressInstantField(required=False, help_text=_("Published at or after this time."))
    until = AddressInstantField(required=False, help_text=_("Published before this time."))

    def validate_channel(self, slug: str) -> int:
        """Its primary key."""
        return _known(Channel.objects.all(), _NO_CHANNEL, slug=slug)

    def validate_tag(self, slug: str) -> int:
        """Its primary key."""
        return _known(Tag.objects.all(), _NO_TAG, slug=slug)

    def validate_author(self, pk: int) -> int:
        """The same."""
        return _known(get_user_model()._default_manager.all(), _NO_AUTHOR, pk=pk)


@extend_schema_field(OpenApiTypes.STR)
class StartField(AddressInstantField):
    """Where to begin to follow changes: at a checkpoint, or at a time."""

    def to_internal_value(self, value: Any) -> Any:
        """A number of the feed, or an instant. Raises `ValidationError`."""
        found = CHECKPOINT.fullmatch(str(value))
        return int(found[1]) if found else super().to_internal_value(value)


CHECKPOINT = re.compile(r"c(0|[1-9]\d{0,17})", re.ASCII)


class RemovalSerializer(serializers.ModelSerializer[FeedEntry]):
    """An article that readers saw and do no longer."""

    id = serializers.IntegerField(source="article_id", read_only=True)
    kind = serializers.ChoiceField(source="state", choices=GONE, read_only=True)
    at = InstantField(read_only=True, help_text=_("When readers saw it last."))

    class Meta:
        model = FeedEntry
        fields = ["id", "kind", "at"]
        read_only_fields = fields


class LiveFilterSerializer(ArticleFilterSerializer):
    """Which live articles to list. What nothing live names does not exist here, as on the site."""

    older = CursorField(required=False, help_text=_("Where older ones begin, taken from `next`."))
    updated_since = StartField(
        required=False,
        help_text=_(
            "What readers saw come, change and go since then, in that order: a `checkpoint`, or a time to begin with. "
            "Not with other filters."
        ),
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Who follows a part would not hear that an article has left it."""
        if "updated_since" in attrs and (others := sorted(attrs.keys() - {"updated_since"})):
            message = _("Follow all changes, without %(names)s.") % {"names": ", ".join(others)}
            raise serializers.ValidationError({"updated_since": message}, code="not_with_filters")
        return attrs

    def validate_channel(self, slug: str) -> int:
        """Its primary key."""
        return _known(Channel.objects.enabled(), _NO_CHANNEL, slug=slug)

    def validate_tag(self, slug: str) -> int:
        """Its primary key."""
        return _known(live_tags(), _NO_TAG, slug=slug)

    def validate_author(self, pk: int) -> int:
        """The same."""
        return _known(live_authors(), _NO_AUTHOR, pk=pk)


_NO_CHANNEL = _("There is no channel “%(value)s”. Known are: %(known)s.")
_NO_TAG = _("There is no tag “%(value)s”.")
_NO_AUTHOR = _("There is no author %(value)s.")
_LISTED = 50
"""Channels that a refusal names."""


def _known(rows: QuerySet[Any], sentence: Promise, **wanted: Any) -> int:
    """The primary key of the one that is `wanted`. Raises `ValidationError`."""
    if found := rows.filter(**wanted).values_list("pk", flat=True).first():
        return int(found)
    (value,) = wanted.values()
    known = ", ".join(rows.values_list("slug", flat=True)[:_LISTED]) if sentence is _NO_CHANNEL else ""
    raise serializers.ValidationError(sentence % {"value": value, "known": known or "–"}, code="unknown")
