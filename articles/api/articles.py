"""The newsroom's article API: articles in every state, and their transitions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import mixins, status
from rest_framework.decorators import action
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer, Serializer

from articles import publishing
from articles.api.article_serializers import (
    ApprovalSerializer,
    DeskArticleSerializer,
    DeskFilterSerializer,
    EmbargoSerializer,
    RejectSerializer,
    RescheduledSerializer,
    RescheduleSerializer,
    RetractSerializer,
    ScheduleSerializer,
    UpdateTimeSerializer,
)
from articles.api.base import NewsroomView
from articles.exceptions import NotRescheduled
from articles.models import Article, Channel, due_at
from articles.workflow import WAITING
from scheduling.services import database_now
from scheduling.unknown_fields import Nothing

_LOOKUPS = {
    "author": "author",
    "channel": "channel",
    "since": "publish_at__gte",
    "status": "status__in",
    "tag": "tags",
    "until": "publish_at__lt",
}

_UPDATE_RELATIONS = [f"update__{text}__{name}" for text in ("draft", "approved") for name in ("author", "channel")]
"""Relations of pending updates that the serializer shows."""


def containing(articles: QuerySet[Article], words: str) -> QuerySet[Article]:
    """The articles that contain all words. The search index is not used because it has only approved texts."""
    for word in words.split():
        articles = articles.filter(Q(title__icontains=word) | Q(summary__icontains=word) | Q(body__icontains=word))
    return articles


@extend_schema_view(
    list=extend_schema(summary="Articles in every state, newest first", parameters=[DeskFilterSerializer]),
    retrieve=extend_schema(summary="One article in any state"),
    create=extend_schema(summary="Write a draft"),
)
class DeskArticleViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, mixins.CreateModelMixin, NewsroomView):
    """Articles in every state."""

    serializer_class = DeskArticleSerializer
    filter_class = DeskFilterSerializer
    queryset = Article.objects.select_related(
        "channel", "author", "soft_lock__user", *_UPDATE_RELATIONS
    ).prefetch_related("tags")
    lookup_value_converter = "int"
    ordering = ("-id",)
    is_versioned = True

    def filter_list(self, queryset: Any, filters: dict[str, Any]) -> Any:
        """Filter by author, status, words and so on."""
        if filters.get("own"):
            filters["author"] = self.request.user.pk
        queryset = queryset.filter(**{lookup: filters[name] for name, lookup in _LOOKUPS.items() if filters.get(name)})
        return containing(queryset, filters.get("q", ""))

    def retrieve(self, request: Request, pk: int) -> Response:
        """The article; its `ETag` can be sent as `If-Match` with changes."""
        return self.respond_with(pk)

    def create(self, request: Request) -> Response:
        """Create a draft."""
        form = self.get_serializer(data=request.data)
        form.is_valid(raise_exception=True)
        self.perform_create(form)
        return self.respond_with(form.data["id"], status.HTTP_201_CREATED)

    def perform_create(self, serializer: BaseSerializer[Article]) -> None:
        """The signed-in user is the author."""
        serializer.save(author=self.request.user, by=self.request.user)

    @extend_schema(summary="Change an article")
    def partial_update(self, request: Request, pk: int) -> Response:
        """Change the fields that are sent. Times of approved and published articles need the permission to schedule."""
        article = self.get_object()
        serializer = self.get_serializer(article, data=request.data, partial=True)
        serializer.is_valid(raise_exception=True)
        self.if_match(article, lambda: serializer.save(by=request.user))
        return self.respond_with(pk)

    @extend_schema(operation_id="desk_articles_submit", summary="Submit for review", request=None)
    @action(detail=True, methods=["post"])
    def submit(self, request: Request, pk: int) -> Response:
        """Submit; the automatic review runs at once."""
        return self._apply(publishing.submit)

    @extend_schema(operation_id="desk_articles_claim", summary="Claim for review", request=None)
    @action(detail=True, methods=["post"])
    def claim(self, request: Request, pk: int) -> Response:
        """Take the soft lock of an article that waits for a reviewer."""
        return self._apply(publishing.soft_lock)

    @extend_schema(operation_id="desk_articles_unclaim", summary="Unclaim", request=None)
    @action(detail=True, methods=["post"])
    def unclaim(self, request: Request, pk: int) -> Response:
        """Release the soft lock."""
        return self._apply(publishing.release_soft_lock)

    @extend_schema(operation_id="desk_articles_approve", summary="Approve", request=ApprovalSerializer)
    @action(detail=True, methods=["post"])
    def approve(self, request: Request, pk: int) -> Response:
        """Approve an article that needs human review."""
        return self._apply(publishing.approve, ApprovalSerializer)

    @extend_schema(operation_id="desk_articles_reject", summary="Reject", request=RejectSerializer)
    @action(detail=True, methods=["post"])
    def reject(self, request: Request, pk: int) -> Response:
        """Return an article to its author with a reason."""
        return self._apply(publishing.reject, RejectSerializer)

    @extend_schema(operation_id="desk_articles_schedule", summary="Schedule", request=ScheduleSerializer)
    @action(detail=True, methods=["post"])
    def schedule(self, request: Request, pk: int) -> Response:
        """Schedule an approved article."""
        return self._apply(publishing.schedule, ScheduleSerializer)

    @extend_schema(operation_id="desk_articles_unschedule", summary="Unschedule", request=None)
    @action(detail=True, methods=["post"])
    def unschedule(self, request: Request, pk: int) -> Response:
        """Remove the publication time; the article stays approved."""
        return self._apply(publishing.unschedule)

    @extend_schema(operation_id="desk_articles_publish", summary="Publish now", request=None)
    @action(detail=True, methods=["post"])
    def publish(self, request: Request, pk: int) -> Response:
        """Publish an approved article now."""
        return self._apply(publishing.publish_now)

    @extend_schema(operation_id="desk_articles_unpublish", summary="Unpublish", request=None)
    @action(detail=True, methods=["post"])
    def unpublish(self, request: Request, pk: int) -> Response:
        """Unpublish a published article."""
        return self._apply(publishing.unpublish)

    @extend_schema(operation_id="desk_articles_republish", summary="Republish", request=None)
    @action(detail=True, methods=["post"])
    def republish(self, request: Request, pk: int) -> Response:
        """Publish an unpublished article again."""
        return self._apply(publishing.republish)

    @extend_schema(operation_id="desk_articles_embargo", summary="Set or lift the embargo", request=EmbargoSerializer)
    @action(detail=True, methods=["post"])
    def embargo(self, request: Request, pk: int) -> Response:
        """Set or lift the time before which the article cannot go live."""
        return self._apply(publishing.set_embargo, EmbargoSerializer)

    @extend_schema(operation_id="desk_articles_retract", summary="Retract, with a notice", request=RetractSerializer)
    @action(detail=True, methods=["post"])
    def retract(self, request: Request, pk: int) -> Response:
        """Retract the article now; readers see the notice."""
        return self._apply(publishing.retract, RetractSerializer)

    @extend_schema(operation_id="desk_articles_undo_retraction", summary="Undo the retraction", request=None)
    @action(detail=True, methods=["post"], url_path="undo-retraction")
    def undo_retraction(self, request: Request, pk: int) -> Response:
        """The article becomes unpublished and can be republished."""
        return self._apply(publishing.undo_retraction)

    @extend_schema(
        operation_id="desk_articles_update_schedule", summary="Schedule the update", request=UpdateTimeSerializer
    )
    @action(detail=True, methods=["post"], url_path="update/schedule")
    def schedule_update(self, request: Request, pk: int) -> Response:
        """The update goes live at a time, once it is approved."""
        return self._apply(publishing.schedule_update, UpdateTimeSerializer)

    @extend_schema(operation_id="desk_articles_update_unschedule", summary="Unschedule the update", request=None)
    @action(detail=True, methods=["post"], url_path="update/unschedule")
    def unschedule_update(self, request: Request, pk: int) -> Response:
        """Remove the update's time."""
        return self._apply(publishing.unschedule_update)

    @extend_schema(operation_id="desk_articles_update_publish", summary="Publish the update now", request=None)
    @action(detail=True, methods=["post"], url_path="update/publish")
    def publish_update(self, request: Request, pk: int) -> Response:
        """Publish the approved update now."""
        return self._apply(publishing.publish_update)

    @extend_schema(operation_id="desk_articles_update_discard", summary="Discard the update", request=None)
    @action(detail=True, methods=["post"], url_path="update/discard")
    def discard_update(self, request: Request, pk: int) -> Response:
        """Discard the pending update; its revisions stay in the history."""
        return self._apply(publishing.discard_update)

    @extend_schema(
        operation_id="desk_articles_reschedule", summary="Reschedule many articles", request=RescheduleSerializer,
        responses=RescheduledSerializer,
    )  # fmt: skip
    @action(detail=False, methods=["post"])
    def reschedule(self, request: Request) -> Response:
        """Shift the times of a channel's scheduled articles, or of the given ones, all or none."""
        values = self.checked(RescheduleSerializer)
        chosen = _chosen(values.get("channel"), values.get("articles", ()))
        try:
            moved = publishing.reschedule_many(
                chosen, shift=values["shift"], at_once=values["at_once"], by=request.user
            )
        except NotRescheduled as error:
            problems = [f"{pk}: {problem}" for pk, problem in error.problems.items()]
            raise ValidationError({"articles": problems}, code=error.code) from error
        return Response(RescheduledSerializer({"moved": moved}).data)

    def _apply(self, transition: Callable[..., None], body: type[Serializer[Any]] = Nothing) -> Response:
        """Apply a transition with the arguments in the request's body, and return the article."""
        article, values = self.get_object(), self.checked(body)
        self.if_match(article, lambda: transition(article, by=self.request.user, **values))
        return self.respond_with(article.pk)


def _chosen(channel: Channel | None, ids: Iterable[int]) -> list[Article]:
    """The articles with these ids (existing or not), or a channel's scheduled ones. Raises `ValidationError`."""
    if channel is None:
        return [Article(pk=pk) for pk in ids]
    waiting = Article.objects.filter(channel=channel, status__in=WAITING, publish_at__isnull=False)
    if chosen := list(waiting.exclude(due_at(database_now())).only("pk")):
        return chosen
    raise ValidationError({"channel": [_("No article in this channel is scheduled.")]}, code="nothing_to_move")
