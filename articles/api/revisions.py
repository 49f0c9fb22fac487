"""The API of an article's revisions."""

from __future__ import annotations

import re

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework import mixins
from rest_framework.decorators import action
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer, BooleanField

from articles import publishing
from articles.api.article_serializers import (
    DeskArticleSerializer,
    FieldDiffSerializer,
    RevisionHeadSerializer,
    RevisionSerializer,
)
from articles.api.base import NewsroomView
from articles.models import Article, Revision
from articles.publishing import compare
from scheduling.api.strict import EmptyBody

_ALL = BooleanField()
_NUMBER = re.compile(r"[1-9]\d{0,8}", re.ASCII)


@extend_schema_view(
    list=extend_schema(operation_id="desk_revisions_list", summary="Revisions of an article, newest first"),
    retrieve=extend_schema(operation_id="desk_revisions_retrieve", summary="One revision with its text"),
)
class RevisionViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, NewsroomView):
    """The revisions of an article."""

    queryset = Revision.objects.none()
    lookup_field = "number"
    lookup_value_converter = "int"
    ordering = ("-number",)

    def get_queryset(self) -> QuerySet[Revision]:
        """The revisions of the article in the URL."""
        article = get_object_or_404(Article.objects.only("pk"), pk=self.kwargs.get("article", 0))
        revisions = article.revisions.select_related("author", "channel")
        return revisions.without_text() if self.action == "list" else revisions

    def get_serializer_class(self) -> type[BaseSerializer[Revision]]:
        """Lists omit the text."""
        return RevisionHeadSerializer if self.action == "list" else RevisionSerializer

    @extend_schema(
        operation_id="desk_revisions_diff",
        summary="Differences to another revision",
        parameters=[
            OpenApiParameter(
                "against",
                {"type": "integer", "minimum": 1, "maximum": 10**9 - 1},
                description=_("A revision's number; the one before if left out."),
            ),
            OpenApiParameter("all", bool, description=_("All of long fields, which end after some changes.")),
        ],
        responses=FieldDiffSerializer(many=True),
    )
    @action(detail=True, methods=["get"], pagination_class=None, parameters=["against", "all"])
    def diff(self, request: Request, article: int, number: int) -> Response:
        """The fields that differ, word by word, and the body block by block."""
        shown, against = self.get_object(), request.query_params.get("against", "")
        older = self.get_queryset().filter(number__lt=number).order_by("-number").first()
        if against:
            older = self.get_queryset().filter(number=against if _NUMBER.fullmatch(against) else 0).first()
            if older is None:
                raise ValidationError({"against": [_("The article has no such revision.")]}, code="unknown")
        is_cut = not _ALL.run_validation(request.query_params.get("all", False))
        return Response(FieldDiffSerializer(compare(older, shown), many=True, context={"is_cut": is_cut}).data)

    @extend_schema(
        operation_id="desk_revisions_restore",
        summary="Restore an earlier text",
        request=None,
        responses=DeskArticleSerializer,
    )
    @action(detail=True, methods=["post"])
    def restore(self, request: Request, article: int, number: int) -> Response:
        """The earlier text becomes the newest revision, which needs approval like any other."""
        self.checked(EmptyBody)
        subject = get_object_or_404(Article, pk=article)
        publishing.restore_revision(subject, number=number, by=request.user)
        return Response(DeskArticleSerializer(subject).data)
