"""Serializers of the readers' API."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db.models import QuerySet
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from articles.api.fields import AddressInstantField, ArticleAddressField, InstantField, NumbersField
from articles.api.image_serializers import ReaderImageSerializer
from articles.distribution import checkpoint_number
from articles.images import absolute, with_renditions
from articles.limits import ADDRESS_LENGTH, CURSOR_LENGTH, LABEL_LENGTH, SEARCH_LENGTH, SLUG_LENGTH
from articles.listing import Cursor, InvalidCursor, live_authors, live_tags
from articles.models import Article, Channel, Correction, Event, Tag, Text
from articles.pages import Links
from articles.search import highlighted, snippet
from articles.text import clean_html, with_live_links

READER_ORDERS = ("published_at", "-published_at")
NAMING = {"ids", "slug", "address", "ordering"}
"""Parameters that name articles, or their order."""

GONE = [choice for choice in Event.State.choices if choice[0] != Event.State.LIVE]


class ChannelSerializer(serializers.ModelSerializer[Channel]):
    """A channel."""

    class Meta:
        model = Channel
        fields = ["name", "slug", "description"]


class TagSerializer(serializers.ModelSerializer[Tag]):
    """A tag."""

    class Meta:
        model = Tag
        fields = ["name", "slug"]


class CorrectionSerializer(serializers.ModelSerializer[Correction]):
    """A correction of a published article."""

    published_at = InstantField(source="shown_since", read_only=True)

    class Meta:
        model = Correction
        fields = ["note", "published_at"]
        read_only_fields = fields


class HeadlineSerializer(serializers.ModelSerializer[Article]):
    """A live article without its body."""

    channel = ChannelSerializer(allow_null=True, read_only=True)
    tags = TagSerializer(many=True, read_only=True)
    cover = ReaderImageSerializer(source="covers", many=True, read_only=True, help_text=_("None, one or three images."))
    byline = serializers.CharField(
        source="signed", read_only=True, help_text=_("Who wrote it; empty if no author is named.")
    )
    url = serializers.SerializerMethodField(help_text=_("The article's page on the site."))
    publish_at = InstantField(read_only=True)
    published_at = InstantField(source="out_since", read_only=True, help_text=_("From when readers could see it."))
    updated_at = InstantField(source="modified_at", read_only=True, help_text=_("When it last changed for readers."))

    class Meta:
        model = Article
        fields = [
            "id", *(name for name in Text.FIELDS if name not in ("body", "cover_mode")), "url",
            "publish_at", "published_at", "updated_at",
        ]  # fmt: skip
        read_only_fields = fields

    def get_url(self, article: Article) -> str:
        """An absolute URL."""
        return f"{settings.SITE_URL.rstrip('/')}{article.get_absolute_url()}"


class BodyField(serializers.CharField):
    """The sanitised body; `links` in the context has the live articles that it may lead to."""

    def to_representation(self, value: str) -> str:
        """Sanitised HTML with the renditions of its images."""
        links: Links = self.context.get("links", Links())
        return with_live_links(with_renditions(clean_html(value), address=absolute), links.live)


class HighlightSerializer(serializers.Serializer[Any]):
    """Headline and text around the matches, as escaped HTML with the matches in `<mark>`."""

    title = serializers.CharField()
    text = serializers.CharField()


class ListedSerializer(HeadlineSerializer):
    """A live article in a list."""

    highlight = serializers.SerializerMethodField(help_text=_("With `q`: headline and text with the matches."))
    body = BodyField(required=False, help_text=_("Only with `updated_since`."))
    corrections = CorrectionSerializer(many=True, required=False, help_text=_("Only with `updated_since`."))

    class Meta(HeadlineSerializer.Meta):
        fields = [*HeadlineSerializer.Meta.fields, "highlight", "body", "corrections"]
        read_only_fields = fields

    def get_fields(self) -> dict[str, Any]:
        """Omit body and corrections, except in the change feed and in the OpenAPI schema."""
        fields = super().get_fields()
        is_short = self.context.get("follows") is False
        return {name: field for name, field in fields.items() if not is_short or name not in ("body", "corrections")}

    @extend_schema_field(HighlightSerializer(allow_null=True))
    def get_highlight(self, article: Article) -> dict[str, str] | None:
        """None without a search."""
        if (query := self.context["query"]) is None:
            return None
        return {"title": highlighted(article.title, query), "text": snippet(article, query)}


class LiveArticleSerializer(HeadlineSerializer):
    """A live article with its body."""

    body = BodyField(read_only=True, help_text=_("HTML without scripts, styles and frames."))
    corrections = CorrectionSerializer(many=True, read_only=True)

    class Meta(HeadlineSerializer.Meta):
        fields = [*HeadlineSerializer.Meta.fields, "body", "corrections"]
        read_only_fields = fields


@extend_schema_field({"type": "string", "maxLength": CURSOR_LENGTH})
class CursorField(serializers.Field[Cursor, str, str, Cursor]):
    """A signed cursor."""

    def to_internal_value(self, data: str) -> Cursor:
        """The cursor. Raises `ValidationError` for an invalid signature."""
        try:
            return Cursor.decode(data)
        except InvalidCursor as error:
            raise serializers.ValidationError(_("Take it from `next`, unchanged.")) from error


class ArticleFilterSerializer(serializers.Serializer[Any]):
    """Filters of an article list."""

    channel = serializers.CharField(max_length=LABEL_LENGTH, required=False, help_text=_("Slug of a channel."))
    q = serializers.CharField(
        max_length=SEARCH_LENGTH, required=False, help_text=_("Words in headline, summary or body.")
    )
    tag = serializers.CharField(max_length=LABEL_LENGTH, required=False, help_text=_("Slug of a tag."))
    author = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=2**63 - 1,
        help_text=_("Id of an author, as in the URL of the author's feed."),
    )
    since = AddressInstantField(required=False, help_text=_("Published at or after this time."))
    until = AddressInstantField(required=False, help_text=_("Published before this time."))

    def validate_channel(self, slug: str) -> int:
        """Its primary key."""
        return _pk_of(Channel.objects.all(), _NO_CHANNEL, slug=slug)

    def validate_tag(self, slug: str) -> int:
        """Its primary key."""
        return _pk_of(Tag.objects.all(), _NO_TAG, slug=slug)

    def validate_author(self, pk: int) -> int:
        """The same."""
        return _pk_of(get_user_model()._default_manager.all(), _NO_AUTHOR, pk=pk)


@extend_schema_field({"type": "string", "maxLength": CURSOR_LENGTH})
class StartField(AddressInstantField):
    """Where to start in the change feed: at a checkpoint or a time."""

    def to_internal_value(self, value: Any) -> Any:
        """A sequence number of the feed, or an instant. Raises `ValidationError`."""
        try:
            return checkpoint_number(str(value))
        except InvalidCursor:
            return super().to_internal_value(value)


class RemovalSerializer(serializers.ModelSerializer[Event]):
    """An article that readers no longer see."""

    id = serializers.IntegerField(source="object_id", read_only=True)
    kind = serializers.ChoiceField(source="state", choices=GONE, read_only=True)
    at = InstantField(source="happened_at", read_only=True, help_text=_("When readers last saw it."))

    class Meta:
        model = Event
        fields = ["id", "kind", "at"]
        read_only_fields = fields


class LiveFilterSerializer(ArticleFilterSerializer):
    """Filters of the live articles. Only tags and authors of live articles are known, as on the site."""

    ids = NumbersField(required=False, help_text=_("Ids, separated by commas, at most 100."))
    slug = serializers.CharField(max_length=SLUG_LENGTH, required=False, help_text=_("Those with this slug."))
    address = ArticleAddressField(
        max_length=ADDRESS_LENGTH,
        required=False,
        help_text=_("The one with this address on the site, also a former one."),
    )
    ordering = serializers.ChoiceField(
        READER_ORDERS, required=False, help_text=_("`published_at`: the oldest first. The newest, if left out.")
    )
    older = CursorField(required=False, help_text=_("Where the next window of search results starts, from `next`."))
    updated_since = StartField(
        required=False,
        help_text=_(
            "Articles published, changed and removed since then, in that order: a `checkpoint`, or a time to start "
            "with. Not with other filters."
        ),
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Refuse filters with `updated_since`: an article that stops matching could not be reported as removed.

        Words are not looked for among named articles: the search has an order and windows of its own.
        """
        for name, others in (("updated_since", attrs.keys() - {"updated_since"}), ("q", attrs.keys() & NAMING)):
            if name in attrs and others:
                message = _("Cannot be combined with %(names)s.") % {"names": ", ".join(sorted(others))}
                raise serializers.ValidationError({name: message}, code="not_with_filters")
        return attrs

    def validate_channel(self, slug: str) -> int:
        """Its primary key."""
        return _pk_of(Channel.objects.enabled(), _NO_CHANNEL, slug=slug)

    def validate_tag(self, slug: str) -> int:
        """Its primary key."""
        return _pk_of(live_tags(), _NO_TAG, slug=slug)

    def validate_author(self, pk: int) -> int:
        """The same."""
        return _pk_of(live_authors(), _NO_AUTHOR, pk=pk)


_NO_CHANNEL = _("There is no channel “%(value)s”. Channels: %(known)s.")
_NO_TAG = _("There is no tag “%(value)s”.")
_NO_AUTHOR = _("There is no author %(value)s.")
_LISTED = 50
"""Channels that an error message lists."""


def _pk_of(rows: QuerySet[Any], message: Promise, **lookup: Any) -> int:
    """The primary key of the row that matches `lookup`. Raises `ValidationError` with `message`."""
    if found := rows.filter(**lookup).values_list("pk", flat=True).first():
        return int(found)
    (value,) = lookup.values()
    known = ", ".join(rows.values_list("slug", flat=True)[:_LISTED]) if message is _NO_CHANNEL else ""
    raise serializers.ValidationError(message % {"value": value, "known": known or "–"}, code="unknown")
