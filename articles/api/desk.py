"""The newsroom for programs and staff: articles in every state, and the steps between the states."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import mixins, status
from rest_framework.decorators import action
from rest_framework.exceptions import APIException
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer, Serializer
from rest_framework.views import APIView
from rest_framework.viewsets import GenericViewSet

from articles import services
from articles.api.reader import narrowed
from articles.api.serializers import (
    DeskArticleSerializer,
    DeskFilterSerializer,
    RefusalSerializer,
    ScheduleSerializer,
)
from articles.exceptions import ArticleError, ArticleGone, NotAllowed, StaleEdit, WrongState
from articles.models import Article
from articles.services.recording import come_in

STATUS_OF: dict[type[ArticleError], int] = {
    NotAllowed: status.HTTP_403_FORBIDDEN,
    ArticleGone: status.HTTP_404_NOT_FOUND,
    WrongState: status.HTTP_409_CONFLICT,
    StaleEdit: status.HTTP_409_CONFLICT,
    ArticleError: status.HTTP_400_BAD_REQUEST,
}


class Refused(APIException):
    """An error of the newsroom as an answer, with its own code."""

    def __init__(self, error: ArticleError) -> None:
        self.status_code = next(STATUS_OF[kind] for kind in type(error).mro() if kind in STATUS_OF)
        super().__init__(str(error), code=error.code)


class IsNewsroom(BasePermission):
    """Staff who may do anything at all with articles; the services decide about each step."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        """Whether the user is one of them."""
        return request.user.is_staff and request.user.has_module_perms("articles")


@extend_schema_view(
    list=extend_schema(summary="Articles in every state, newest first", parameters=[DeskFilterSerializer]),
    retrieve=extend_schema(summary="One article in any state"),
    create=extend_schema(summary="Write a draft"),
)
class DeskArticleViewSet(
    mixins.ListModelMixin, mixins.RetrieveModelMixin, mixins.CreateModelMixin, GenericViewSet[Article]
):
    """Articles as the newsroom sees them."""

    permission_classes = (IsNewsroom,)
    serializer_class = DeskArticleSerializer
    queryset = Article.objects.select_related("channel", "author").prefetch_related("tags")
    lookup_value_converter = "int"
    ordering = ("-id",)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """The audit record learns who it is, now that the token has been read."""
        super().initial(request, *args, **kwargs)
        come_in(request.user)

    def handle_exception(self, exc: Exception) -> Response:
        """Answer the newsroom's own errors."""
        return super().handle_exception(Refused(exc) if isinstance(exc, ArticleError) else exc)

    def filter_queryset(self, queryset: Any) -> Any:
        """Only what the parameters ask for, in a list."""
        if self.action != "list":
            return queryset
        form = DeskFilterSerializer(data=self.request.query_params)
        form.is_valid(raise_exception=True)
        wanted = form.validated_data
        if wanted.get("own"):
            queryset = queryset.filter(author=self.request.user.pk)
        if wanted.get("status"):
            queryset = queryset.filter(status__in=wanted["status"])
        return narrowed(queryset, wanted)

    def perform_create(self, serializer: BaseSerializer[Article]) -> None:
        """A draft belongs to whoever wrote it."""
        if not self.request.user.has_perm("articles.add_article"):
            raise NotAllowed
        serializer.save(author=self.request.user)

    @extend_schema(summary="Change an article")
    def partial_update(self, request: Request, pk: int) -> Response:
        """Change what is sent. The times of an article that is approved or out take the permission to schedule."""
        article = self.get_object()
        serializer = self.get_serializer(article, data=request.data, partial=True)
        serializer.is_valid(raise_exception=True)
        serializer.save(by=request.user)
        return Response(serializer.data)

    @extend_schema(operation_id="desk_articles_submit", summary="Hand in for review", request=None)
    @action(detail=True, methods=["post"])
    def submit(self, request: Request, pk: int) -> Response:
        """Submit; the automatic review decides at once."""
        return self._take(services.submit)

    @extend_schema(operation_id="desk_articles_approve", summary="Approve", request=None)
    @action(detail=True, methods=["post"])
    def approve(self, request: Request, pk: int) -> Response:
        """Let an article pass that a person must decide about."""
        return self._take(services.approve)

    @extend_schema(operation_id="desk_articles_refuse", summary="Refuse", request=RefusalSerializer)
    @action(detail=True, methods=["post"])
    def refuse(self, request: Request, pk: int) -> Response:
        """Send an article back with a reason."""
        return self._take(services.refuse, RefusalSerializer)

    @extend_schema(operation_id="desk_articles_schedule", summary="Schedule", request=ScheduleSerializer)
    @action(detail=True, methods=["post"])
    def schedule(self, request: Request, pk: int) -> Response:
        """Have an approved article go live at a time."""
        return self._take(services.schedule, ScheduleSerializer)

    @extend_schema(operation_id="desk_articles_cancel", summary="Cancel the schedule", request=None)
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, pk: int) -> Response:
        """Take the time away; the approval stays."""
        return self._take(services.cancel_schedule)

    @extend_schema(operation_id="desk_articles_publish", summary="Publish now", request=None)
    @action(detail=True, methods=["post"])
    def publish(self, request: Request, pk: int) -> Response:
        """Put an approved article out at this instant."""
        return self._take(services.publish_now)

    @extend_schema(operation_id="desk_articles_withdraw", summary="Withdraw", request=None)
    @action(detail=True, methods=["post"])
    def withdraw(self, request: Request, pk: int) -> Response:
        """Take a published article off."""
        return self._take(services.withdraw)

    @extend_schema(operation_id="desk_articles_restore", summary="Restore", request=None)
    @action(detail=True, methods=["post"])
    def restore(self, request: Request, pk: int) -> Response:
        """Put a withdrawn article out again."""
        return self._take(services.restore)

    def _take(self, step: Callable[..., None], body: type[Serializer[Any]] | None = None) -> Response:
        """Take a step with the arguments in the request's body, and show where the article stands then."""
        article, values = self.get_object(), {}
        if body is not None:
            form = body(data=self.request.data)
            form.is_valid(raise_exception=True)
            values = form.validated_data
        step(article, by=self.request.user, **values)
        return Response(self.get_serializer(article).data)
