"""Releases for programs and staff: articles that go live together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db.models import Prefetch
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import mixins, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer, Serializer

from articles import releases
from articles.api.base import NewsroomView
from articles.api.release_serializers import (
    DryRunSerializer,
    NewMemberSerializer,
    ProblemSerializer,
    ReleaseFilterSerializer,
    ReleaseMemberSerializer,
    ReleaseSerializer,
    ReleaseTimeSerializer,
)
from articles.exceptions import NotAMember
from articles.models import Article, Release
from scheduling.unknown_fields import Nothing


@extend_schema_view(
    list=extend_schema(
        operation_id="desk_releases_list", summary="Releases, newest first", parameters=[ReleaseFilterSerializer]
    ),
    retrieve=extend_schema(operation_id="desk_releases_retrieve", summary="One release with its articles"),
    create=extend_schema(operation_id="desk_releases_create", summary="Prepare a release"),
)
class ReleaseViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, mixins.CreateModelMixin, NewsroomView):
    """Articles, newer texts and take-offs that go live by one commit."""

    read_with = ("articles.view_release",)
    serializer_class = ReleaseSerializer
    filter_class = ReleaseFilterSerializer
    queryset = Release.objects.select_related("created_by").prefetch_related(
        Prefetch("members__article", Article.objects.only("title"))
    )
    lookup_value_converter = "int"
    ordering = ("-id",)
    is_versioned = True

    def narrowed(self, queryset: Any, wanted: dict[str, Any]) -> Any:
        """Those in the states asked for."""
        return queryset.filter(status__in=wanted["status"]) if wanted.get("status") else queryset

    def retrieve(self, request: Request, pk: int) -> Response:
        """The release, and in `ETag` the version that `If-Match` may ask for."""
        return self.shown(pk)

    def perform_create(self, serializer: BaseSerializer[Release]) -> None:
        """It belongs to whoever made it."""
        serializer.save(by=self.request.user)

    @extend_schema(operation_id="desk_releases_partial_update", summary="Rename a release")
    def partial_update(self, request: Request, pk: int) -> Response:
        """Change its name; its time changes by `schedule`."""
        release = self.get_object()
        form = self.get_serializer(release, data=request.data, partial=True)
        form.is_valid(raise_exception=True)
        self.unchanged(release, lambda: form.save(by=request.user))
        return self.shown(pk)

    @extend_schema(operation_id="desk_releases_destroy", summary="Delete a release that never went out")
    def destroy(self, request: Request, pk: int) -> Response:
        """Its articles are free again."""
        release = self.get_object()
        self.unchanged(release, lambda: releases.delete_release(release, by=request.user))
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(
        operation_id="desk_releases_add_member", summary="Add an article", request=NewMemberSerializer,
        responses={201: ReleaseMemberSerializer},
    )  # fmt: skip
    @action(detail=True, methods=["post"], url_path="members")
    def add_member(self, request: Request, pk: int) -> Response:
        """The article has no time of its own from now on. One that is in the release already gets the action."""
        release, values = self.get_object(), self.checked(NewMemberSerializer)
        member = self.unchanged(release, lambda: releases.add_member(release, by=request.user, **values))
        return Response(ReleaseMemberSerializer(member).data, status=status.HTTP_201_CREATED)

    @extend_schema(operation_id="desk_releases_remove_member", summary="Take an article out", request=None)
    @action(detail=True, methods=["delete"], url_path="members/<int:member>")
    def remove_member(self, request: Request, pk: int, member: int) -> Response:
        """`member` is the id of the membership, which a deleted article has too."""
        release = self.get_object()
        found = release.members.filter(pk=member).first()
        if found is None:
            raise NotAMember
        self.unchanged(release, lambda: releases.remove_member(release, member=found, by=request.user))
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(operation_id="desk_releases_schedule", summary="Schedule or move", request=ReleaseTimeSerializer)
    @action(detail=True, methods=["post"])
    def schedule(self, request: Request, pk: int) -> Response:
        """Have all members go live at a time; what they lack may be mended until then."""
        return self._take(releases.schedule_release, ReleaseTimeSerializer)

    @extend_schema(operation_id="desk_releases_cancel", summary="Cancel", request=None)
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, pk: int) -> Response:
        """It does not go out, and its articles are free again."""
        return self._take(releases.cancel_release)

    @extend_schema(operation_id="desk_releases_reopen", summary="Prepare again", request=None)
    @action(detail=True, methods=["post"])
    def reopen(self, request: Request, pk: int) -> Response:
        """For one that was cancelled or rolled back."""
        return self._take(releases.reopen_release)

    @extend_schema(operation_id="desk_releases_publish", summary="Publish now", request=None)
    @action(detail=True, methods=["post"])
    def publish(self, request: Request, pk: int) -> Response:
        """Put all members out at this instant, or none: the refusal names what is wrong."""
        return self._take(releases.publish_release_now)

    @extend_schema(operation_id="desk_releases_rollback", summary="Roll back", request=None)
    @action(detail=True, methods=["post"])
    def rollback(self, request: Request, pk: int) -> Response:
        """Every member stands again where it stood before the release."""
        return self._take(releases.roll_back_release)

    @extend_schema(
        operation_id="desk_releases_preflight", summary="What would fail", responses=ProblemSerializer(many=True)
    )
    @action(detail=True, methods=["get"], pagination_class=None)
    def preflight(self, request: Request, pk: int) -> Response:
        """At the release's time, or now if it has none. Empty: everything is ready."""
        return Response(ProblemSerializer(releases.preflight(self.get_object()), many=True).data)

    @extend_schema(operation_id="desk_releases_dry_run", summary="Dry run", request=None, responses=DryRunSerializer)
    @action(detail=True, methods=["post"], url_path="dry-run")
    def dry_run(self, request: Request, pk: int) -> Response:
        """Run it, say what happened, and take everything back."""
        release, _nothing = self.get_object(), self.checked(Nothing)
        return self.unchanged(
            release, lambda: Response(DryRunSerializer(releases.dry_run_release(release, by=request.user)).data)
        )

    def _take(self, transition: Callable[..., None], body: type[Serializer[Any]] = Nothing) -> Response:
        release, values = self.get_object(), self.checked(body)
        self.unchanged(release, lambda: transition(release, by=self.request.user, **values))
        return self.shown(release.pk)
