"""The API of preview links."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import mixins, serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from articles import publishing
from articles.api.base import NewsroomView
from articles.api.fields import InstantField
from articles.limits import PREVIEW_DAYS, RECIPIENT_LENGTH
from articles.models import Article, PreviewLink
from scheduling.api.strict import Strict
from scheduling.database import read_database_clock


class PreviewLinkSerializer(serializers.ModelSerializer[PreviewLink]):
    """A link with which anyone reads a text before it is published."""

    url = serializers.SerializerMethodField(help_text=_("With it, the text can be read without an account."))
    revision = serializers.SlugRelatedField[Any](
        slug_field="number", read_only=True, allow_null=True, help_text=_("Null: always the newest text.")
    )
    created_by = serializers.StringRelatedField[Any](read_only=True, allow_null=True)
    created_at = InstantField(read_only=True)
    expires_at = InstantField(read_only=True)
    is_open = serializers.SerializerMethodField(help_text=_("Whether it works."))

    class Meta:
        model = PreviewLink
        fields = ["id", "url", "revision", "note", "created_by", "created_at", "expires_at", "is_open"]
        read_only_fields = fields

    def get_url(self, link: PreviewLink) -> str:
        """The signed address."""
        address: str = self.context["request"].build_absolute_uri(link.get_absolute_url())
        return address

    def get_is_open(self, link: PreviewLink) -> bool:
        """As the list of links says."""
        return link.is_open_at(read_database_clock()) and publishing.is_creator_authorised(link)


class NewPreviewLinkSerializer(Strict):
    """A link to create."""

    days = serializers.IntegerField(min_value=1, max_value=PREVIEW_DAYS, default=3)
    revision = serializers.IntegerField(
        min_value=1, max_value=2**31 - 1, required=False,
        help_text=_("Number of the revision that it shows; left out, the newest."),
    )  # fmt: skip
    is_following = serializers.BooleanField(default=False, help_text=_("Show always the newest text instead."))
    note = serializers.CharField(
        max_length=RECIPIENT_LENGTH, required=False, allow_blank=True, default="", help_text=_("For whom.")
    )


@extend_schema_view(
    list=extend_schema(operation_id="desk_preview_links_list", summary="Preview links of an article, latest first"),
)
class PreviewLinkViewSet(mixins.ListModelMixin, NewsroomView):
    """Links to read an unpublished text, without an account."""

    serializer_class = PreviewLinkSerializer
    queryset = PreviewLink.objects.none()
    lookup_value_converter = "str"
    ordering = ("-created_at", "-id")

    def get_queryset(self) -> QuerySet[PreviewLink]:
        """Those of the article in the URL."""
        article = get_object_or_404(Article.objects.only("pk"), pk=self.kwargs.get("article", 0))
        return article.preview_links.select_related("article", "created_by", "revision")

    @extend_schema(
        operation_id="desk_preview_links_create", summary="Create a preview link", request=NewPreviewLinkSerializer,
        responses={201: PreviewLinkSerializer},
    )  # fmt: skip
    def create(self, request: Request, article: int) -> Response:
        """It ends at its time, when it is revoked, and with the permissions of its creator."""
        values = self.checked(NewPreviewLinkSerializer)
        subject, lasts = get_object_or_404(Article, pk=article), timedelta(days=values.pop("days"))
        link = publishing.make_preview_link(subject, by=request.user, lasts=lasts, **values)
        return self.respond_with(link.pk, status.HTTP_201_CREATED)

    @extend_schema(operation_id="desk_preview_links_destroy", summary="Revoke a preview link")
    def destroy(self, request: Request, article: int, pk: Any) -> Response:
        """It no longer works; revoking it again changes nothing."""
        publishing.revoke_preview_link(self.get_object(), by=request.user)
        return Response(status=status.HTTP_204_NO_CONTENT)
