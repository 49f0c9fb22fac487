"""The newsroom's API of fronts: composing versions, and giving them to readers at an instant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db.models import Prefetch, QuerySet
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_view
from rest_framework import mixins, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer, Serializer

from articles import fronts
from articles.api.base import NewsroomView
from articles.api.front_serializers import (
    ConflictSerializer,
    ConflictsSerializer,
    DaySerializer,
    DeskFrontSerializer,
    EditSerializer,
    EndSerializer,
    FrontTimeSerializer,
    FrontVersionHeadSerializer,
    FrontVersionSerializer,
    MarkSerializer,
    NewVersionSerializer,
    RecurrenceSerializer,
)
from articles.api.screens import or_waits
from articles.exceptions import FrontConflict, FrontGone
from articles.models import Card, Front, FrontVersion
from articles.review import waits
from scheduling.api.strict import EmptyBody
from scheduling.database import database_now

_ONE_VERSION = or_waits(FrontVersionSerializer)


@extend_schema_view(
    list=extend_schema(operation_id="desk_fronts_list", summary="Fronts that are composed"),
    retrieve=extend_schema(operation_id="desk_fronts_retrieve", summary="One front"),
)
class DeskFrontViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, NewsroomView):
    """The fronts of the site and of channels."""

    serializer_class = DeskFrontSerializer
    queryset = Front.objects.select_related("channel")
    lookup_value_converter = "int"
    ordering = ("id",)

    @extend_schema(operation_id="desk_fronts_create", summary="Open a front to compose it")
    def create(self, request: Request) -> Response:
        """The front of the site or of a channel in a language; the same one if it is open already."""
        front = fronts.open_front(by=request.user, **self.checked(DeskFrontSerializer))
        return Response(DeskFrontSerializer(front).data, status.HTTP_201_CREATED)


@extend_schema_view(
    list=extend_schema(operation_id="desk_front_versions_list", summary="Versions of a front, newest first"),
    retrieve=extend_schema(operation_id="desk_front_versions_retrieve", summary="One version with its cards"),
)
class FrontVersionViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, NewsroomView):
    """The versions of a front."""

    queryset = FrontVersion.objects.none()
    lookup_value_converter = "int"
    ordering = ("-number",)
    is_versioned = True

    def get_queryset(self) -> QuerySet[FrontVersion]:
        """The versions of the front in the URL."""
        front = Front.objects.filter(pk=self.kwargs.get("front", 0))  # a key's own lookup knows that numbers end
        found = FrontVersion.objects.filter(front__in=front).select_related("based_on", "author")
        cards = Prefetch("blocks__cards", Card.objects.order_by("position", "pk"))
        rows = found.with_states(database_now())
        return rows if self.action == "list" else rows.select_related("front__channel").prefetch_related(cards)

    def get_serializer_class(self) -> type[BaseSerializer[FrontVersion]]:
        """Lists omit the blocks."""
        return FrontVersionHeadSerializer if self.action == "list" else FrontVersionSerializer

    def retrieve(self, request: Request, front: int, pk: int) -> Response:
        """The version; its `ETag` can be sent as `If-Match` with changes."""
        return self.respond_with(pk)

    @extend_schema(
        operation_id="desk_front_versions_create",
        summary="Start a draft",
        request=NewVersionSerializer,
        responses={201: FrontVersionSerializer},
    )
    def create(self, request: Request, front: int) -> Response:
        """Like what readers get now, composed or automatic; or, to restore it, like any version."""
        subject, values = get_object_or_404(Front, pk=front), self.checked(NewVersionSerializer)
        like = subject.versions.filter(number=values["like"]).first() if "like" in values else None
        if like is None and "like" in values:
            raise FrontGone
        version = fronts.start_draft(subject, like=like, by=request.user)
        return self.respond_with(version.pk, status.HTTP_201_CREATED)

    @extend_schema(operation_id="desk_front_versions_destroy", summary="Delete a draft")
    def destroy(self, request: Request, front: int, pk: int) -> Response:
        """Only drafts are deleted."""
        version = self.get_object()
        self.if_match(version, lambda: fronts.delete_draft(version, by=request.user))
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(
        operation_id="desk_front_versions_edit",
        summary="Edit cards and blocks",
        request=EditSerializer,
        responses={
            200: FrontVersionSerializer,
            409: OpenApiResponse(
                ConflictsSerializer, description=_("Another has changed the same card: `conflicts` has both.")
            ),
        },
    )
    @action(detail=True, methods=["post"], url_path="operations")
    def edit(self, request: Request, front: int, pk: int) -> Response:
        """Apply all operations or none, merged with what others have done to other cards since `base`."""
        version, values = self.get_object(), self.checked(EditSerializer)
        try:
            self.if_match(version, lambda: fronts.edit_draft(version, by=request.user, **values))
        except FrontConflict as refusal:
            both = ConflictSerializer(refusal.conflicts, many=True).data
            body = {"detail": str(refusal), "code": refusal.code, "conflicts": both}
            return Response(body, status.HTTP_409_CONFLICT)
        return self.respond_with(pk)

    @extend_schema(
        operation_id="desk_front_versions_schedule",
        summary="Schedule or reschedule",
        request=FrontTimeSerializer,
        responses=_ONE_VERSION,
    )
    @action(detail=True, methods=["post"])
    def schedule(self, request: Request, front: int, pk: int) -> Response:
        """Readers get the version from an instant on; 202 if another person has to approve it first."""
        return self._apply(fronts.schedule_version, FrontTimeSerializer)

    @extend_schema(
        operation_id="desk_front_versions_repeat",
        summary="Let it recur",
        request=RecurrenceSerializer,
        responses=_ONE_VERSION,
    )
    @action(detail=True, methods=["post"])
    def repeat(self, request: Request, front: int, pk: int) -> Response:
        """Readers get the version at each time of a rule; 202 if another person has to approve it first."""
        return self._apply(fronts.repeat_version, RecurrenceSerializer)

    @extend_schema(operation_id="desk_front_versions_skip", summary="Skip once", request=DaySerializer)
    @action(detail=True, methods=["post"])
    def skip(self, request: Request, front: int, pk: int) -> Response:
        """Leave out a day of its rule: readers keep what they have then."""
        return self._apply(fronts.skip_occurrence, DaySerializer)

    @extend_schema(operation_id="desk_front_versions_unskip", summary="Do not skip", request=DaySerializer)
    @action(detail=True, methods=["post"])
    def unskip(self, request: Request, front: int, pk: int) -> Response:
        """Have a skipped day again."""
        return self._apply(fronts.unskip_occurrence, DaySerializer)

    @extend_schema(operation_id="desk_front_versions_end", summary="End its rule", request=EndSerializer)
    @action(detail=True, methods=["post"])
    def end(self, request: Request, front: int, pk: int) -> Response:
        """Readers get it until a day only, or not again. It stays live until another version follows."""
        return self._apply(fronts.end_rule, EndSerializer)

    @extend_schema(
        operation_id="desk_front_versions_publish", summary="Publish now", request=None, responses=_ONE_VERSION
    )
    @action(detail=True, methods=["post"])
    def publish(self, request: Request, front: int, pk: int) -> Response:
        """Readers get the version now; 202 if another person has to approve it first."""
        return self._apply(fronts.publish_version)

    @extend_schema(operation_id="desk_front_versions_unschedule", summary="Unschedule", request=None)
    @action(detail=True, methods=["post"])
    def unschedule(self, request: Request, front: int, pk: int) -> Response:
        """Make a scheduled version a draft again."""
        return self._apply(fronts.unschedule_version)

    @extend_schema(
        operation_id="desk_front_versions_preflight",
        summary="Preflight check",
        responses=MarkSerializer(many=True),
    )
    @action(detail=True, methods=["get"], pagination_class=None)
    def preflight(self, request: Request, front: int, pk: int) -> Response:
        """What readers would miss, or see wrong, at the version's instant."""
        return Response(MarkSerializer(fronts.preflight(self.get_object()), many=True).data)

    def _apply(self, change: Callable[..., None], body: type[Serializer[Any]] = EmptyBody) -> Response:
        version, values = self.get_object(), self.checked(body)
        self.if_match(version, lambda: change(version, by=self.request.user, **values))
        return self.respond_with(version.pk, status.HTTP_202_ACCEPTED if waits(version) else status.HTTP_200_OK)
