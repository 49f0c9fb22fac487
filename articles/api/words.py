"""The API of sensitive words and the review policy."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import Group
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from articles.api.base import NewsroomView
from articles.api.fields import InstantField
from articles.api.screens import ScreenViewSet
from articles.exceptions import NotAllowed
from articles.limits import (
    MOST_STAGES,
    MOST_WORD_LINES,
    SEARCH_LENGTH,
    STAGE_NAME_LENGTH,
    WORD_LENGTH,
    WORD_LINE_LENGTH,
)
from articles.models import ReviewPolicy, ReviewStage, SensitiveWord
from articles.review import StageChoice, add_words, choose_policy, choose_stages
from articles.text import plain_form
from scheduling.api.bounded_fields import BoundedListField, BoundedSlugField
from scheduling.api.strict import Strict
from scheduling.database import retried

Level = SensitiveWord.Level


class WordSerializer(Strict, serializers.ModelSerializer[SensitiveWord]):
    """A sensitive word or an allowed phrase."""

    text = serializers.CharField(max_length=WORD_LENGTH)
    created_at = InstantField(read_only=True)

    class Meta:
        model = SensitiveWord
        fields = ["id", "text", "level", "created_at"]


class WordFilterSerializer(serializers.Serializer[Any]):
    """Filters of the words."""

    level = serializers.ChoiceField(Level.choices, required=False, help_text=_("Only words of this level."))
    q = serializers.CharField(
        max_length=SEARCH_LENGTH, required=False, help_text=_("A part of a word, in any spelling.")
    )


class NewWordsSerializer(Strict):
    """Many words of one level."""

    level = serializers.ChoiceField(Level.choices)
    words = BoundedListField(
        child=serializers.CharField(max_length=WORD_LINE_LENGTH), allow_empty=False, max_length=MOST_WORD_LINES
    )


class WordProblemSerializer(serializers.Serializer[Any]):
    """Why a word was not added."""

    line = serializers.IntegerField(help_text=_("Its place in `words`, from 1."))
    word = serializers.CharField()
    message = serializers.CharField()
    failed = serializers.BooleanField(help_text=_("Not for a word that is on the list already."))


class AddedWordsSerializer(serializers.Serializer[Any]):
    """How many were added, and why the others were not."""

    created = serializers.IntegerField()
    skipped = serializers.IntegerField()
    failed = serializers.IntegerField()
    problems = WordProblemSerializer(many=True)


@extend_schema_view(
    list=extend_schema(operation_id="desk_words_list", parameters=[WordFilterSerializer], summary="Sensitive words"),
    retrieve=extend_schema(operation_id="desk_words_retrieve", summary="One sensitive word"),
    create=extend_schema(operation_id="desk_words_create", summary="Add a sensitive word"),
    partial_update=extend_schema(operation_id="desk_words_partial_update", summary="Change a sensitive word"),
    destroy=extend_schema(operation_id="desk_words_destroy", summary="Delete a sensitive word"),
)
class WordViewSet(ScreenViewSet):
    """Words that the review finds, and allowed phrases."""

    serializer_class = WordSerializer
    filter_class = WordFilterSerializer
    queryset = SensitiveWord.objects.all()

    def filter_list(self, queryset: Any, filters: dict[str, Any]) -> Any:
        """Filter by level and spelling."""
        if "level" in filters:
            queryset = queryset.filter(level=filters["level"])
        return queryset.filter(normalised__contains=plain_form(filters["q"])) if filters.get("q") else queryset

    @extend_schema(
        operation_id="desk_words_add_many", summary="Add many words", request=NewWordsSerializer,
        responses=AddedWordsSerializer,
    )  # fmt: skip
    @action(detail=False, methods=["post"], url_path="add-many")
    def add_many(self, request: Request) -> Response:
        """Words that are on the list already are skipped."""
        if not self.screen.has_add_permission(self.plain_request):
            raise NotAllowed
        values = self.checked(NewWordsSerializer)
        report = add_words(values["words"], level=Level(values["level"]))
        return Response(AddedWordsSerializer(report).data)


class StageChoiceSerializer(Strict):
    """A review stage as it is chosen."""

    kind = serializers.ChoiceField(ReviewStage.Kind.choices)
    name = serializers.CharField(
        max_length=STAGE_NAME_LENGTH,
        required=False,
        allow_blank=True,
        default="",
        help_text=_("Empty: the usual name."),
    )
    group = BoundedSlugField(
        slug_field="name", queryset=Group.objects.all(), allow_null=True, required=False, default=None,
        help_text=_("The role that decides; null for all reviewers."),
    )  # fmt: skip


class PolicySerializer(Strict):
    """Whether the automatic review may approve, and the stages of the review."""

    machine = serializers.ChoiceField(ReviewPolicy.Machine.choices, required=False)
    stages = BoundedListField(child=StageChoiceSerializer(), required=False, allow_empty=False, max_length=MOST_STAGES)


class ReviewPolicyView(NewsroomView):
    """The review policy, of which there is one."""

    read_permissions = ("articles.view_reviewpolicy", "articles.change_reviewpolicy")
    serializer_class = PolicySerializer
    queryset = ReviewPolicy.objects.none()
    pagination_class = None
    is_versioned = is_single = True

    @extend_schema(operation_id="desk_review_policy_retrieve", summary="The review policy")
    def retrieve(self, request: Request) -> Response:
        """Automatic approval, and the stages in their order; the `ETag` can be sent as `If-Match` with changes."""
        return self.respond_with(None)

    @extend_schema(operation_id="desk_review_policy_partial_update", summary="Change the review policy")
    def partial_update(self, request: Request) -> Response:
        """What is sent is replaced; the stages as a whole."""
        values = self.checked(PolicySerializer)
        self.if_match(ReviewPolicy(pk=ReviewPolicy.ROW), lambda: self._apply(values))
        return self.respond_with(None)

    @retried
    def _apply(self, values: dict[str, Any]) -> None:
        if "machine" in values:
            choose_policy(values["machine"], by=self.request.user)
        if "stages" in values:
            choose_stages([StageChoice(**stage) for stage in values["stages"]], by=self.request.user)

    def shown(self, pk: Any) -> Any:
        """The policy and the stages."""
        return PolicySerializer({"machine": ReviewPolicy.chosen().value, "stages": ReviewStage.in_order()}).data
