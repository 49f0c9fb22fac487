"""The API of shared pages: links to pages of the readers' site at an instant to come."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import mixins, serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from articles import publishing
from articles.api.base import NewsroomView
from articles.api.fields import InstantField
from articles.limits import ADDRESS_LENGTH, PREVIEW_DAYS, RECIPIENT_LENGTH
from articles.models import SharedPage, SharedPageVisit
from articles.permissions import PUBLISH
from scheduling.api.strict import Strict
from scheduling.database import read_database_clock


class SharedPageVisitSerializer(serializers.ModelSerializer[SharedPageVisit]):
    """One opening of a link."""

    at = InstantField(read_only=True)

    class Meta:
        model = SharedPageVisit
        fields = ["at", "network"]
        read_only_fields = fields


class SharedPageSerializer(serializers.ModelSerializer[SharedPage]):
    """A link to one page as readers will get it at one instant."""

    url = serializers.SerializerMethodField(
        help_text=_("With it, the page is seen without an account. Null for who has not created it.")
    )
    at = InstantField(read_only=True)
    created_by = serializers.StringRelatedField[Any](read_only=True, allow_null=True)
    created_at = InstantField(read_only=True)
    expires_at = InstantField(read_only=True)
    is_open = serializers.SerializerMethodField(help_text=_("Whether it works."))
    last_used_at = InstantField(read_only=True, allow_null=True)
    visits = SharedPageVisitSerializer(many=True, read_only=True)

    class Meta:
        model = SharedPage
        fields = [
            "id", "url", "page", "at", "note", "created_by", "created_at", "expires_at", "is_open", "uses",
            "last_used_at", "visits",
        ]  # fmt: skip
        read_only_fields = fields

    def get_url(self, shared: SharedPage) -> str | None:
        """The signed address."""
        request = self.context["request"]
        own = shared.created_by_id == request.user.pk
        return request.build_absolute_uri(shared.get_absolute_url()) if own else None

    def get_is_open(self, shared: SharedPage) -> bool:
        """As the list of links says."""
        if not shared.is_open_at(self._now):
            return False
        if shared.created_by_id not in self._authorised:
            self._authorised[shared.created_by_id] = publishing.is_sharer_authorised(shared)
        return self._authorised[shared.created_by_id]

    @cached_property
    def _now(self) -> datetime:
        return read_database_clock()

    @cached_property
    def _authorised(self) -> dict[int | None, bool]:
        """By creator: a list has many of one, and asks for the permissions of each once."""
        return {}


class NewSharedPageSerializer(Strict):
    """A link to create."""

    page = serializers.CharField(max_length=ADDRESS_LENGTH, help_text=_("Path of the page, with its parameters."))
    at = InstantField(help_text=_("It is shown as of this instant, at which the link ends at the latest."))
    days = serializers.IntegerField(min_value=1, max_value=PREVIEW_DAYS, default=3)
    note = serializers.CharField(
        max_length=RECIPIENT_LENGTH, required=False, allow_blank=True, default="", help_text=_("For whom.")
    )


@extend_schema_view(
    list=extend_schema(operation_id="desk_shared_pages_list", summary="Shared pages, latest first"),
)
class SharedPageViewSet(mixins.ListModelMixin, NewsroomView):
    """Links to pages at another time, without an account, for users who may publish."""

    serializer_class = SharedPageSerializer
    queryset = SharedPage.objects.select_related("created_by").prefetch_related("visits")
    read_permissions = (PUBLISH,)  # which lets its owner read all articles, see `may_share`
    lookup_value_converter = "str"
    ordering = ("-created_at", "-id")

    @extend_schema(
        operation_id="desk_shared_pages_create", summary="Share a page", request=NewSharedPageSerializer,
        responses={201: SharedPageSerializer},
    )  # fmt: skip
    def create(self, request: Request) -> Response:
        """The link ends at its time, at its instant, when it is revoked, and with the permissions of its creator."""
        values = self.checked(NewSharedPageSerializer)
        page, lasts = values.pop("page"), timedelta(days=values.pop("days"))
        shared = publishing.share_page(page, by=request.user, lasts=lasts, **values)
        return self.respond_with(shared.pk, status.HTTP_201_CREATED)

    @extend_schema(operation_id="desk_shared_pages_destroy", summary="Revoke the link to a page")
    def destroy(self, request: Request, pk: Any) -> Response:
        """It no longer works; revoking it again changes nothing."""
        publishing.unshare_page(self.get_object(), by=request.user)
        return Response(status=status.HTTP_204_NO_CONTENT)
