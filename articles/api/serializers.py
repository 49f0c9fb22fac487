"""Articles and channels as JSON."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from articles import services
from articles.api.fields import InstantField
from articles.html import clean_html
from articles.models import Article, Channel, Tag
from articles.services.scheduling import refuse_empty_span

Status = Article.Status


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


class HeadlineSerializer(serializers.ModelSerializer[Article]):
    """A live article without its body."""

    channel = ChannelSerializer(allow_null=True, read_only=True)
    tags = TagSerializer(many=True, read_only=True)
    byline = serializers.SerializerMethodField(help_text=_("Who wrote it; empty when nobody is to be named."))
    url = serializers.SerializerMethodField(help_text=_("The article's page on the site."))
    publish_at = InstantField(read_only=True)
    published_at = InstantField(
        read_only=True, allow_null=True, help_text=_("When it really went live; null until the task has noted it.")
    )
    updated_at = InstantField(read_only=True)

    class Meta:
        model = Article
        fields = [
            "id", "title", "slug", "summary", "byline", "channel", "tags", "url",
            "publish_at", "published_at", "updated_at",
        ]  # fmt: skip
        read_only_fields = fields

    def get_byline(self, article: Article) -> str:
        """The byline, or else the author's full name; never a log-in."""
        return article.byline or (article.author.get_full_name() if article.author else "")

    def get_url(self, article: Article) -> str:
        """An absolute address."""
        return f"{settings.SITE_URL.rstrip('/')}{article.get_absolute_url()}"


class LiveArticleSerializer(HeadlineSerializer):
    """A live article, whole."""

    body = serializers.SerializerMethodField(help_text=_("HTML without scripts, styles and frames."))

    class Meta(HeadlineSerializer.Meta):
        fields = [*HeadlineSerializer.Meta.fields, "body"]
        read_only_fields = fields

    def get_body(self, article: Article) -> str:
        """The body, fit to be shown."""
        return clean_html(article.body)


class LiveFilterSerializer(serializers.Serializer[Any]):
    """Which live articles to list."""

    channel = serializers.CharField(max_length=80, required=False, help_text=_("Slug of a channel."))
    q = serializers.CharField(max_length=100, required=False, help_text=_("Words in headline, summary or body."))
    since = InstantField(required=False, help_text=_("Published at or after this time."))
    until = InstantField(required=False, help_text=_("Published before this time."))


class DeskFilterSerializer(LiveFilterSerializer):
    """Which articles of the newsroom to list."""

    status = serializers.MultipleChoiceField(choices=Status.choices, required=False, help_text=_("May be repeated."))
    own = serializers.BooleanField(required=False, help_text=_("Only articles of the signed-in user."))


class DeskArticleSerializer(serializers.ModelSerializer[Article]):
    """An article as the newsroom sees it. Its status changes through the actions alone."""

    channel = serializers.SlugRelatedField(
        slug_field="slug", queryset=Channel.objects.enabled(), allow_null=True, required=False
    )
    tags = serializers.SlugRelatedField(slug_field="slug", queryset=Tag.objects.all(), many=True, required=False)
    author = serializers.StringRelatedField[Any](read_only=True, allow_null=True)
    publish_at = InstantField(allow_null=True, required=False)
    unpublish_at = InstantField(allow_null=True, required=False)
    embargo_until = InstantField(allow_null=True, required=False)
    seen = InstantField(
        write_only=True, required=False,
        help_text=_("The `updated_at` you started from: the change is refused if somebody saved since."),
    )  # fmt: skip
    published_at = InstantField(read_only=True, allow_null=True)
    created_at = InstantField(read_only=True)
    updated_at = InstantField(read_only=True)

    class Meta:
        model = Article
        fields = [
            "id", "title", "slug", "summary", "body", "channel", "tags", "author", "byline", "status",
            "status_reason", "publish_at", "unpublish_at", "embargo_until", "published_at", "created_at",
            "updated_at", "seen",
        ]  # fmt: skip
        read_only_fields = ["status", "status_reason"]

    def create(self, validated_data: dict[str, Any]) -> Article:
        """A new draft of the signed-in user."""
        tags = validated_data.pop("tags", ())
        validated_data.pop("seen", None)
        with transaction.atomic():
            article = Article(**validated_data)
            refuse_empty_span(article)
            article.save()
            article.tags.set(tags)
        return article

    def update(self, instance: Article, validated_data: dict[str, Any]) -> Article:
        """Change what was sent, and nothing else."""
        tags, by = validated_data.pop("tags", None), validated_data.pop("by")
        seen = validated_data.pop("seen", None)
        with transaction.atomic():
            services.edit(instance, by=by, changes=validated_data, seen=seen)
            if tags is not None:
                instance.tags.set(tags)
        return instance


class ScheduleSerializer(serializers.Serializer[Any]):
    """When the article goes live."""

    publish_at = InstantField(help_text=_("With an offset; now or earlier means at once."))


class RefusalSerializer(serializers.Serializer[Any]):
    """Why the article is refused."""

    reason = serializers.CharField(max_length=500)
