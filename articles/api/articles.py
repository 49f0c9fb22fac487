"""The newsroom for programs and staff: articles in every state, and the steps between the states."""

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
from articles.workflow import TRANSITIONS, WAITING, Input, Subject, Transition, TransitionRule
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

BODIES: dict[Input, type[Serializer[Any]]] = {
    Input.NONE: Nothing,
    Input.REASON: RefusalSerializer,
    Input.NOTICE: RetractSerializer,
    Input.TIME: ScheduleSerializer,
    Input.REVISION: ApprovalSerializer,
    Input.EMBARGO: EmbargoSerializer,
}
"""What the body of a request gives, by the input that a transition needs."""

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


def _add_transition(transition: Transition, body: type[Serializer[Any]]) -> None:
    """Give the articles an action for this transition, below its path."""
    rule = TRANSITIONS[transition]

    def act(self: DeskArticleViewSet, request: Request, pk: int) -> Response:
        return self._take(partial(publishing.perform, transition), body)

    act.__name__, act.__doc__ = transition.value, publishing.description_of(transition)
    with translation.override(None):
        summary = str(rule.label)
    name = rule.path.replace("/", "_").replace("-", "_")
    request = None if body is Nothing else body
    method = action(detail=True, methods=["post"], url_path=rule.path)(act)
    documented = extend_schema(operation_id=f"desk_articles_{name}", summary=summary, request=request)(method)
    setattr(DeskArticleViewSet, transition.value, documented)


def _body_of(rule: TransitionRule) -> type[Serializer[Any]]:
    is_update = rule.subject is Subject.NEWER and rule.input is Input.TIME
    return UpdateTimeSerializer if is_update else BODIES[rule.input]


for _transition, _rule in TRANSITIONS.items():
    if _rule.input in BODIES:
        _add_transition(_transition, _body_of(_rule))


def _to_be_moved(channel: Channel | None, ids: Iterable[int]) -> list[Article]:
    """Those with these ids, whether they exist or not, or all of a channel that wait. Raises `ValidationError`."""
    if channel is None:
        return [Article(pk=pk) for pk in ids]
    waiting = Article.objects.filter(channel=channel, status__in=WAITING, publish_at__isnull=False)
    if chosen := list(waiting.exclude(due_at(database_now())).only("pk")):
        return chosen
    raise ValidationError({"channel": [_("No article in this channel waits for a time.")]}, code="nothing_to_move")
