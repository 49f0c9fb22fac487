"""The newsroom for programs and staff: articles in every state, and the steps between the states."""

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
    RefusalSerializer,
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

NEWER = [f"update__{text}__{name}" for text in ("draft", "approved") for name in ("author", "channel")]
"""What is shown of newer texts."""


def having(articles: QuerySet[Article], words: str) -> QuerySet[Article]:
    """Those of `articles` that have all of these words; the search index knows approved texts alone."""
    for word in words.split():
        articles = articles.filter(Q(title__icontains=word) | Q(summary__icontains=word) | Q(body__icontains=word))
    return articles


@extend_schema_view(
    list=extend_schema(summary="Articles in every state, newest first", parameters=[DeskFilterSerializer]),
    retrieve=extend_schema(summary="One article in any state"),
    create=extend_schema(summary="Write a draft"),
)
class DeskArticleViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, mixins.CreateModelMixin, NewsroomView):
    """Articles as the newsroom sees them."""

    serializer_class = DeskArticleSerializer
    filter_class = DeskFilterSerializer
    queryset = Article.objects.select_related("channel", "author", "soft_lock__user", *NEWER).prefetch_related("tags")
    lookup_value_converter = "int"
    ordering = ("-id",)
    is_versioned = True

    def narrowed(self, queryset: Any, wanted: dict[str, Any]) -> Any:
        """Those of this person, in these states, with these words and so on."""
        if wanted.get("own"):
            wanted["author"] = self.request.user.pk
        queryset = queryset.filter(**{lookup: wanted[name] for name, lookup in _LOOKUPS.items() if wanted.get(name)})
        return having(queryset, wanted.get("q", ""))

    def retrieve(self, request: Request, pk: int) -> Response:
        """The article, and in `ETag` the version that `If-Match` may ask for."""
        return self.shown(pk)

    def create(self, request: Request) -> Response:
        """The draft, with its version."""
        form = self.get_serializer(data=request.data)
        form.is_valid(raise_exception=True)
        self.perform_create(form)
        return self.shown(form.data["id"], status.HTTP_201_CREATED)

    def perform_create(self, serializer: BaseSerializer[Article]) -> None:
        """A draft belongs to whoever wrote it."""
        serializer.save(author=self.request.user, by=self.request.user)

    @extend_schema(summary="Change an article")
    def partial_update(self, request: Request, pk: int) -> Response:
        """Change what is sent. The times of an article that is approved or out take the permission to schedule."""
        article = self.get_object()
        serializer = self.get_serializer(article, data=request.data, partial=True)
        serializer.is_valid(raise_exception=True)
        self.unchanged(article, lambda: serializer.save(by=request.user))
        return self.shown(pk)

    @extend_schema(operation_id="desk_articles_submit", summary="Hand in for review", request=None)
    @action(detail=True, methods=["post"])
    def submit(self, request: Request, pk: int) -> Response:
        """Submit; the automatic review decides at once."""
        return self._take(publishing.submit)

    @extend_schema(operation_id="desk_articles_claim", summary="Claim for review", request=None)
    @action(detail=True, methods=["post"])
    def claim(self, request: Request, pk: int) -> Response:
        """Take an article that waits for a reviewer; others leave it alone meanwhile."""
        return self._take(publishing.soft_lock)

    @extend_schema(operation_id="desk_articles_unclaim", summary="Unclaim", request=None)
    @action(detail=True, methods=["post"])
    def unclaim(self, request: Request, pk: int) -> Response:
        """Let other reviewers have the article."""
        return self._take(publishing.release_soft_lock)

    @extend_schema(operation_id="desk_articles_approve", summary="Approve", request=ApprovalSerializer)
    @action(detail=True, methods=["post"])
    def approve(self, request: Request, pk: int) -> Response:
        """Let a text pass that a person must decide about."""
        return self._take(publishing.approve, ApprovalSerializer)

    @extend_schema(operation_id="desk_articles_reject", summary="Reject", request=RefusalSerializer)
    @action(detail=True, methods=["post"])
    def reject(self, request: Request, pk: int) -> Response:
        """Send an article back with a reason."""
        return self._take(publishing.reject, RefusalSerializer)

    @extend_schema(operation_id="desk_articles_schedule", summary="Schedule", request=ScheduleSerializer)
    @action(detail=True, methods=["post"])
    def schedule(self, request: Request, pk: int) -> Response:
        """Have an approved article go live at a time."""
        return self._take(publishing.schedule, ScheduleSerializer)

    @extend_schema(operation_id="desk_articles_unschedule", summary="Unschedule", request=None)
    @action(detail=True, methods=["post"])
    def unschedule(self, request: Request, pk: int) -> Response:
        """Take the time away; the approval stays."""
        return self._take(publishing.unschedule)

    @extend_schema(operation_id="desk_articles_publish", summary="Publish now", request=None)
    @action(detail=True, methods=["post"])
    def publish(self, request: Request, pk: int) -> Response:
        """Put an approved article out at this instant."""
        return self._take(publishing.publish_now)

    @extend_schema(operation_id="desk_articles_unpublish", summary="Unpublish", request=None)
    @action(detail=True, methods=["post"])
    def unpublish(self, request: Request, pk: int) -> Response:
        """Take a published article off."""
        return self._take(publishing.unpublish)

    @extend_schema(operation_id="desk_articles_republish", summary="Republish", request=None)
    @action(detail=True, methods=["post"])
    def republish(self, request: Request, pk: int) -> Response:
        """Put a withdrawn article out again."""
        return self._take(publishing.republish)

    @extend_schema(operation_id="desk_articles_embargo", summary="Set or lift the embargo", request=EmbargoSerializer)
    @action(detail=True, methods=["post"])
    def embargo(self, request: Request, pk: int) -> Response:
        """Let nobody see or publish the article before a time."""
        return self._take(publishing.set_embargo, EmbargoSerializer)

    @extend_schema(operation_id="desk_articles_retract", summary="Retract, with a notice", request=RetractSerializer)
    @action(detail=True, methods=["post"])
    def retract(self, request: Request, pk: int) -> Response:
        """Take an article away at once; its readers are told the notice."""
        return self._take(publishing.retract, RetractSerializer)

    @extend_schema(operation_id="desk_articles_undo_retraction", summary="Undo the retraction", request=None)
    @action(detail=True, methods=["post"], url_path="undo-retraction")
    def undo_retraction(self, request: Request, pk: int) -> Response:
        """The article is withdrawn then, and can be restored."""
        return self._take(publishing.undo_retraction)

    @extend_schema(
        operation_id="desk_articles_update_schedule", summary="Schedule the newer text", request=UpdateTimeSerializer
    )
    @action(detail=True, methods=["post"], url_path="update/schedule")
    def schedule_update(self, request: Request, pk: int) -> Response:
        """Have the newer text, once approved, take the place of the present one at a time."""
        return self._take(publishing.schedule_update, UpdateTimeSerializer)

    @extend_schema(
        operation_id="desk_articles_update_unschedule", summary="Take the newer text's time away", request=None
    )
    @action(detail=True, methods=["post"], url_path="update/unschedule")
    def unschedule_update(self, request: Request, pk: int) -> Response:
        """The newer text waits."""
        return self._take(publishing.unschedule_update)

    @extend_schema(
        operation_id="desk_articles_update_publish", summary="Publish the approved newer text now", request=None
    )
    @action(detail=True, methods=["post"], url_path="update/publish")
    def publish_update(self, request: Request, pk: int) -> Response:
        """It takes the place of the present text at this instant."""
        return self._take(publishing.publish_update)

    @extend_schema(operation_id="desk_articles_update_discard", summary="Drop the newer text", request=None)
    @action(detail=True, methods=["post"], url_path="update/discard")
    def discard_update(self, request: Request, pk: int) -> Response:
        """Its revisions stay in the history."""
        return self._take(publishing.discard_update)

    @extend_schema(
        operation_id="desk_articles_reschedule", summary="Reschedule many articles", request=RescheduleSerializer,
        responses=RescheduledSerializer,
    )  # fmt: skip
    @action(detail=False, methods=["post"])
    def reschedule(self, request: Request) -> Response:
        """Move the times of a channel's articles that wait for one, or of these, by the same span: all or none."""
        wanted = self.checked(RescheduleSerializer)
        chosen = _to_be_moved(wanted.get("channel"), wanted.get("articles", ()))
        try:
            moved = publishing.reschedule_many(
                chosen, shift=wanted["shift"], at_once=wanted["at_once"], by=request.user
            )
        except NotRescheduled as refusal:
            named = [f"{pk}: {problem}" for pk, problem in refusal.problems.items()]
            raise ValidationError({"articles": named}, code=refusal.code) from refusal
        return Response(RescheduledSerializer({"moved": moved}).data)

    def _take(self, transition: Callable[..., None], body: type[Serializer[Any]] = Nothing) -> Response:
        """Take a step with the arguments in the request's body, and show where the article stands then."""
        article, values = self.get_object(), self.checked(body)
        self.unchanged(article, lambda: transition(article, by=self.request.user, **values))
        return self.shown(article.pk)


def _to_be_moved(channel: Channel | None, ids: Iterable[int]) -> list[Article]:
    """Those with these ids, whether they exist or not, or all of a channel that wait. Raises `ValidationError`."""
    if channel is None:
        return [Article(pk=pk) for pk in ids]
    waiting = Article.objects.filter(channel=channel, status__in=WAITING, publish_at__isnull=False)
    if chosen := list(waiting.exclude(due_at(database_now())).only("pk")):
        return chosen
    raise ValidationError({"channel": [_("No article in this channel waits for a time.")]}, code="nothing_to_move")
