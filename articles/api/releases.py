"""The API of releases: articles that go live together."""

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
    NewReleaseFrontSerializer,
    ProblemSerializer,
    ReleaseFilterSerializer,
    ReleaseMemberSerializer,
    ReleaseSerializer,
    ReleaseTimeSerializer,
)
from articles.api.screens import or_waits
from articles.exceptions import FrontGone, NotAMember
from articles.models import Article, FrontVersion, Release
from articles.review import waits
from scheduling.api.strict import EmptyBody


@extend_schema_view(
    list=extend_schema(
        operation_id="desk_releases_list", summary="Releases, newest first", parameters=[ReleaseFilterSerializer]
    ),
    retrieve=extend_schema(operation_id="desk_releases_retrieve", summary="One release with its articles"),
    create=extend_schema(operation_id="desk_releases_create", summary="Create a release"),
)
class ReleaseViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, mixins.CreateModelMixin, NewsroomView):
    """Articles, updates and removals that go live in one commit."""

    read_permissions = ("articles.view_release",)
    serializer_class = ReleaseSerializer
    filter_class = ReleaseFilterSerializer
    queryset = Release.objects.select_related("created_by").prefetch_related(
        Prefetch("members__article", Article.objects.only("title")),
        Prefetch("front_versions", FrontVersion.objects.select_related("front__channel").order_by("pk")),
    )
    lookup_value_converter = "int"
    ordering = ("-id",)
    is_versioned = True

    def filter_list(self, queryset: Any, filters: dict[str, Any]) -> Any:
        """Filter by status."""
        return queryset.filter(status__in=filters["status"]) if filters.get("status") else queryset

    def retrieve(self, request: Request, pk: int) -> Response:
        """The release; its `ETag` can be sent as `If-Match` with changes."""
        return self.respond_with(pk)

    def perform_create(self, serializer: BaseSerializer[Release]) -> None:
        """The signed-in user is its creator."""
        serializer.save(by=self.request.user)

    @extend_schema(operation_id="desk_releases_partial_update", summary="Rename a release")
    def partial_update(self, request: Request, pk: int) -> Response:
        """Change the name; `schedule` changes the time."""
        release = self.get_object()
        form = self.get_serializer(release, data=request.data, partial=True)
        form.is_valid(raise_exception=True)
        self.if_match(release, lambda: form.save(by=request.user))
        return self.respond_with(pk)

    @extend_schema(operation_id="desk_releases_destroy", summary="Delete an unpublished release")
    def destroy(self, request: Request, pk: int) -> Response:
        """Its articles leave the release."""
        release = self.get_object()
        self.if_match(release, lambda: releases.delete_release(release, by=request.user))
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(
        operation_id="desk_releases_add_member", summary="Add an article", request=NewMemberSerializer,
        responses={201: ReleaseMemberSerializer},
    )  # fmt: skip
    @action(detail=True, methods=["post"], url_path="members")
    def add_member(self, request: Request, pk: int) -> Response:
        """Add an article, which then has no time of its own; for one that is in the release, change the action."""
        release, values = self.get_object(), self.checked(NewMemberSerializer)
        member = self.if_match(release, lambda: releases.add_member(release, by=request.user, **values))
        return Response(ReleaseMemberSerializer(member).data, status=status.HTTP_201_CREATED)

    @extend_schema(operation_id="desk_releases_remove_member", summary="Remove an article", request=None)
    @action(detail=True, methods=["delete"], url_path="members/<int:member>")
    def remove_member(self, request: Request, pk: int, member: int) -> Response:
        """`member` is the id of the membership, which remains if the article is deleted."""
        release = self.get_object()
        found = release.members.filter(pk=member).first()
        if found is None:
            raise NotAMember
        self.if_match(release, lambda: releases.remove_member(release, member=found, by=request.user))
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(
        operation_id="desk_releases_add_front", summary="Add a front", request=NewReleaseFrontSerializer,
        responses=or_waits(ReleaseSerializer),
    )  # fmt: skip
    @action(detail=True, methods=["post"], url_path="fronts")
    def add_front(self, request: Request, pk: int) -> Response:
        """Readers get a draft of a front with the release; 202 if another person has to approve it first."""
        release, values = self.get_object(), self.checked(NewReleaseFrontSerializer)
        self.if_match(release, lambda: releases.add_front(release, by=request.user, **values))
        return self.respond_with(pk, status.HTTP_202_ACCEPTED if waits(values["version"]) else status.HTTP_200_OK)

    @extend_schema(operation_id="desk_releases_remove_front", summary="Remove a front", request=None)
    @action(detail=True, methods=["delete"], url_path="fronts/<int:version>")
    def remove_front(self, request: Request, pk: int, version: int) -> Response:
        """Make the version with this id a draft again."""
        release = self.get_object()
        found = release.front_versions.select_related("front__channel").filter(pk=version).first()
        if found is None:
            raise FrontGone
        self.if_match(release, lambda: releases.remove_front(release, version=found, by=request.user))
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(
        operation_id="desk_releases_schedule", summary="Schedule or reschedule", request=ReleaseTimeSerializer
    )
    @action(detail=True, methods=["post"])
    def schedule(self, request: Request, pk: int) -> Response:
        """All articles go live at a time; blocking issues can be fixed until then."""
        return self._apply(releases.schedule_release, ReleaseTimeSerializer)

    @extend_schema(operation_id="desk_releases_cancel", summary="Cancel", request=None)
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, pk: int) -> Response:
        """The release is not published, and its articles leave it."""
        return self._apply(releases.cancel_release)

    @extend_schema(operation_id="desk_releases_reopen", summary="Reopen", request=None)
    @action(detail=True, methods=["post"])
    def reopen(self, request: Request, pk: int) -> Response:
        """Make a cancelled or rolled back release a draft again."""
        return self._apply(releases.reopen_release)

    @extend_schema(operation_id="desk_releases_publish", summary="Publish now", request=None)
    @action(detail=True, methods=["post"])
    def publish(self, request: Request, pk: int) -> Response:
        """Publish all articles now, or none: the error lists the blocking issues."""
        return self._apply(releases.publish_release_now)

    @extend_schema(operation_id="desk_releases_rollback", summary="Roll back", request=None)
    @action(detail=True, methods=["post"])
    def rollback(self, request: Request, pk: int) -> Response:
        """Restore every article's state before the release."""
        return self._apply(releases.roll_back_release)

    @extend_schema(
        operation_id="desk_releases_preflight", summary="Preflight check", responses=ProblemSerializer(many=True)
    )
    @action(detail=True, methods=["get"], pagination_class=None)
    def preflight(self, request: Request, pk: int) -> Response:
        """The blocking issues at the release's time, or now if it has none."""
        return Response(ProblemSerializer(releases.preflight(self.get_object()), many=True).data)

    @extend_schema(operation_id="desk_releases_dry_run", summary="Dry run", request=None, responses=DryRunSerializer)
    @action(detail=True, methods=["post"], url_path="dry-run")
    def dry_run(self, request: Request, pk: int) -> Response:
        """Publish the release, report the effects, and roll back the transaction."""
        release, _nothing = self.get_object(), self.checked(EmptyBody)
        return self.if_match(
            release, lambda: Response(DryRunSerializer(releases.dry_run_release(release, by=request.user)).data)
        )

    def _apply(self, transition: Callable[..., None], body: type[Serializer[Any]] = EmptyBody) -> Response:
        release, values = self.get_object(), self.checked(body)
        self.if_match(release, lambda: transition(release, by=self.request.user, **values))
        return self.respond_with(release.pk)
