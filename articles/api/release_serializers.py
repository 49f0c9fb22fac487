"""Serializers of releases."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from articles import releases
from articles.api.fields import AtOnceField, InstantField, StatusesField
from articles.models import Article, FrontVersion, Release, ReleaseMember
from scheduling.api.strict import Strict


class ReleaseMemberSerializer(serializers.ModelSerializer[ReleaseMember]):
    """An article in a release; `article` is null if it was deleted."""

    article = serializers.PrimaryKeyRelatedField[Article](read_only=True, allow_null=True)
    title = serializers.CharField(source="__str__", read_only=True)

    class Meta:
        model = ReleaseMember
        fields = ["id", "article", "title", "action"]
        read_only_fields = fields


class ReleaseFrontSerializer(serializers.ModelSerializer[FrontVersion]):
    """A version of a front in a release."""

    title = serializers.CharField(source="__str__", read_only=True)

    class Meta:
        model = FrontVersion
        fields = ["id", "front", "number", "title"]
        read_only_fields = fields


class ReleaseSerializer(Strict, serializers.ModelSerializer[Release]):
    """A release with its articles. Its status and time change only through the actions."""

    created_by = serializers.StringRelatedField[Any](read_only=True, allow_null=True)
    publish_at = InstantField(read_only=True, allow_null=True)
    published_at = InstantField(
        read_only=True, allow_null=True, help_text=_("When all its articles actually went live.")
    )
    created_at = InstantField(read_only=True)
    updated_at = InstantField(read_only=True)
    members = ReleaseMemberSerializer(many=True, read_only=True)
    fronts = ReleaseFrontSerializer(
        source="front_versions", many=True, read_only=True, help_text=_("Versions of fronts that go live with it.")
    )

    class Meta:
        model = Release
        fields = [
            "id", "name", "status", "reason", "publish_at", "published_at", "created_by", "created_at", "updated_at",
            "members", "fronts",
        ]  # fmt: skip
        read_only_fields = ["status", "reason"]

    def create(self, validated_data: dict[str, Any]) -> Release:
        """A new release of the signed-in user."""
        return releases.create_release(**validated_data)

    def update(self, instance: Release, validated_data: dict[str, Any]) -> Release:
        """Only the name can be changed."""
        if "name" in validated_data:
            releases.rename_release(instance, **validated_data)
        return instance


class ReleaseFilterSerializer(serializers.Serializer[Any]):
    """Filters of the release list."""

    status = StatusesField(
        Release.Status, required=False, help_text=_("By number, or by word, such as `scheduled`. May be repeated.")
    )


class NewMemberSerializer(Strict):
    """An article to add, and the action of the release on it."""

    article = serializers.PrimaryKeyRelatedField(
        queryset=Article.objects.all(), pk_field=serializers.IntegerField(min_value=1, max_value=2**63 - 1)
    )
    action = serializers.ChoiceField(
        choices=ReleaseMember.Action.choices,
        required=False,
        help_text=_("Left out: the action that fits the article's state."),
    )


class NewReleaseFrontSerializer(Strict):
    """A draft of a front to add."""

    version = serializers.PrimaryKeyRelatedField(
        queryset=FrontVersion.objects.select_related("front__channel"),
        pk_field=serializers.IntegerField(min_value=1, max_value=2**63 - 1),
    )


class ReleaseTimeSerializer(Strict):
    """When the release is published."""

    publish_at = InstantField(help_text=_("With an offset. Up to a minute past means now."))
    at_once = AtOnceField()


class ProblemSerializer(serializers.Serializer[Any]):
    """A blocking issue; `member` and `front` are null if it concerns the whole release."""

    member = ReleaseMemberSerializer(allow_null=True)
    front = ReleaseFrontSerializer(allow_null=True)
    code = serializers.CharField()
    message = serializers.CharField()


class EffectSerializer(serializers.Serializer[Any]):
    """What a dry run did to one article or front."""

    member = ReleaseMemberSerializer(allow_null=True)
    front = ReleaseFrontSerializer(allow_null=True)
    before = serializers.CharField()
    after = serializers.CharField()


class DryRunSerializer(serializers.Serializer[Any]):
    """The result of a dry run: blocking issues, or the effects."""

    problems = ProblemSerializer(many=True)
    effects = EffectSerializer(many=True)
