"""The newsroom's article API: articles in every state, and their transitions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from django.db.models import Q, QuerySet
from django.utils import translation
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
    AllowedSerializer,
    ApprovalSerializer,
    CheckSerializer,
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
from articles.api.screens import OnScreen, delete_on
from articles.checks import problems
from articles.desk.editor.checks import draft_of
from articles.desk.transitions import offered
from articles.exceptions import NotRescheduled
from articles.models import Article, Channel, due_at, in_states, in_statuses, with_releases
from articles.workflow import TRANSITIONS, WAITING, Input, Subject, Transition, TransitionRule
from scheduling.api.strict import EmptyBody
from scheduling.database import database_now, read_database_clock

_LOOKUPS = {
    "address": "pk",
    "author": "author",
    "channel": "channel",
    "external_id": "external_id",
    "ids": "pk__in",
    "owner": "owner",
    "since": "goes_live_at__gte",
    "slug": "slug",
    "tag": "tags",
    "until": "goes_live_at__lt",
}

BODIES: dict[Input, type[Serializer[Any]]] = {
    Input.NONE: EmptyBody,
    Input.REASON: RejectSerializer,
    Input.NOTICE: RetractSerializer,
    Input.TIME: ScheduleSerializer,
    Input.REVISION: ApprovalSerializer,
    Input.EMBARGO: EmbargoSerializer,
}
"""The serializer of the request body, by the input that a transition needs."""

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
    duplicate=extend_schema(responses={201: DeskArticleSerializer}),
)
class DeskArticleViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, mixins.CreateModelMixin, OnScreen):
    """Articles in every state."""

    serializer_class = DeskArticleSerializer
    filter_class = DeskFilterSerializer
    queryset = with_releases(
        Article.objects.select_related("channel", "author", "owner", "soft_lock__user", *_UPDATE_RELATIONS)
    ).prefetch_related("tags", "stage_approvals")
    lookup_value_converter = "int"
    ordering: tuple[str, ...] = ("-id",)
    is_versioned = True

    def filter_list(self, queryset: Any, filters: dict[str, Any]) -> Any:
        """Filter by author, status, words and so on."""
        if filters.get("own"):
            filters["author"] = self.request.user.pk
        if filters.get("owned"):
            filters["owner"] = self.request.user.pk
        for name, condition in (("state", in_states), ("status", in_statuses)):
            if filters.get(name):
                queryset = queryset.filter(condition(filters[name], read_database_clock()))
        if order := filters.get("ordering"):
            name = order.removeprefix("-")
            self.ordering = (order,) if name == "id" else (order, "-id" if order.startswith("-") else "id")
            queryset = queryset.filter(goes_live_at__isnull=False) if name == "goes_live_at" else queryset
        queryset = queryset.filter(**{lookup: filters[name] for name, lookup in _LOOKUPS.items() if name in filters})
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
        """The signed-in user is the author, unless another is named."""
        author = serializer.validated_data.pop("author", None) or self.request.user
        self._copy_images(serializer, None)
        serializer.save(author=author, by=self.request.user)

    @extend_schema(summary="Change an article")
    def partial_update(self, request: Request, pk: int) -> Response:
        """Change the fields that are sent. Times of approved and published articles need the permission to schedule."""
        article = self.get_object()
        serializer = self.get_serializer(article, data=request.data, partial=True)
        serializer.is_valid(raise_exception=True)
        self._copy_images(serializer, article)
        self.if_match(article, lambda: serializer.save(by=request.user))
        return self.respond_with(pk)

    def _copy_images(self, serializer: BaseSerializer[Article], article: Article | None) -> None:
        """Before the transaction: other hosts may take their time."""
        values = serializer.validated_data
        if "body" in values:
            values["body"] = publishing.with_own_images(values["body"], by=self.request.user, article=article)

    @extend_schema(summary="Delete an article")
    def destroy(self, request: Request, pk: int) -> Response:
        """For good, with its revisions and notes; its audit entries stay."""
        article = self.get_object()
        self.if_match(article, lambda: delete_on(self.screen, self.plain_request, article))
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(operation_id="desk_articles_duplicate", summary="Duplicate an article", request=None)
    @action(detail=True, methods=["post"])
    def duplicate(self, request: Request, pk: int) -> Response:
        """A new draft with its newest text, without its times."""
        article, _nothing = self.get_object(), self.checked(EmptyBody)
        copy = self.if_match(article, lambda: publishing.duplicate(article, by=request.user))
        return self.respond_with(copy.pk, status.HTTP_201_CREATED)

    @extend_schema(
        operation_id="desk_articles_transitions", summary="What you may do with it now", responses=AllowedSerializer
    )
    @action(detail=True, methods=["get"])
    def transitions(self, request: Request, pk: int) -> Response:
        """The transitions that its state, its author and your permissions allow."""
        allowed = offered(self.get_object(), request.user, read_database_clock())
        return Response(AllowedSerializer({"transitions": [one.value for one in allowed]}).data)

    @extend_schema(
        operation_id="desk_articles_checks", summary="Checks before publishing", responses=CheckSerializer(many=True)
    )
    @action(detail=True, methods=["get"], pagination_class=None)
    def checks(self, request: Request, pk: int) -> Response:
        """What to look at in the newest text; nothing of it keeps the article from being published."""
        return Response(CheckSerializer(problems(draft_of(self.get_object())), many=True).data)

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
            rescheduled = publishing.reschedule_many(
                chosen, shift=values["shift"], at_once=values["at_once"], by=request.user
            )
        except NotRescheduled as error:
            problems = [f"{pk}: {problem}" for pk, problem in error.problems.items()]
            raise ValidationError({"articles": problems}, code=error.code) from error
        return Response(RescheduledSerializer({"rescheduled": rescheduled}).data)

    def _apply(self, transition: Callable[..., None], body: type[Serializer[Any]] = EmptyBody) -> Response:
        """Apply a transition with the arguments in the request's body, and return the article."""
        article, values = self.get_object(), self.checked(body)
        self.if_match(article, lambda: transition(article, by=self.request.user, **values))
        return self.respond_with(article.pk)


def _add_transition(transition: Transition, body: type[Serializer[Any]]) -> None:
    """Add the view action of a transition, at its path."""
    rule = TRANSITIONS[transition]

    def act(self: DeskArticleViewSet, request: Request, pk: int) -> Response:
        return self._apply(partial(publishing.perform, transition), body)

    act.__name__, act.__doc__ = transition.value, publishing.description_of(transition)
    with translation.override(None):
        summary = str(rule.label)
    name = rule.path.replace("/", "_").replace("-", "_")
    request = None if body is EmptyBody else body
    method = action(detail=True, methods=["post"], url_path=rule.path)(act)
    documented = extend_schema(operation_id=f"desk_articles_{name}", summary=summary, request=request)(method)
    setattr(DeskArticleViewSet, transition.value, documented)


def _body_of(rule: TransitionRule) -> type[Serializer[Any]]:
    is_update = rule.subject is Subject.NEWER and rule.input is Input.TIME
    return UpdateTimeSerializer if is_update else BODIES[rule.input]


for _transition, _rule in TRANSITIONS.items():
    if _rule.input in BODIES:
        _add_transition(_transition, _body_of(_rule))


def _chosen(channel: Channel | None, ids: Iterable[int]) -> list[Article]:
    """The articles with these ids (existing or not), or a channel's scheduled ones. Raises `ValidationError`."""
    if channel is None:
        return [Article(pk=pk) for pk in ids]
    waiting = Article.objects.filter(channel=channel, status__in=WAITING, publish_at__isnull=False)
    if chosen := list(waiting.exclude(due_at(database_now())).only("pk")):
        return chosen
    raise ValidationError({"channel": [_("No article in this channel is scheduled.")]}, code="nothing_to_reschedule")
