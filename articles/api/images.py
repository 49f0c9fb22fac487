"""The newsroom's pictures for programs: list, upload, describe, favour, delete."""

from __future__ import annotations

from typing import Any

from django.db.models import Prefetch
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_view
from rest_framework import mixins, status
from rest_framework.decorators import action
from rest_framework.exceptions import APIException
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.settings import api_settings

from articles import images
from articles.api.base import NewsroomView
from articles.api.image_serializers import (
    FavouriteSerializer,
    ImageSerializer,
    ShelfFilterSerializer,
    UploadSerializer,
    UserSerializer,
)
from articles.images import ADD, CHANGE, DELETE, VIEW
from articles.models import Image, ImageUse
from articles.review import MOST_BYTES
from headline.api.schema import ErrorSerializer

NAMED_USES = 50
"""Articles that are named with a picture."""

_USES = ImageUse.objects.select_related("article").only("image", "article__title")


class FileTooLarge(APIException):
    """The upload exceeds what any picture may have."""

    status_code = status.HTTP_413_REQUEST_ENTITY_TOO_LARGE
    default_code = "too_large"


@extend_schema_view(
    list=extend_schema(summary="Pictures, newest first", parameters=[ShelfFilterSerializer]),
    retrieve=extend_schema(summary="One picture, and where it is used"),
)
class ImageViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, NewsroomView):
    """The pictures of the newsroom."""

    read_with = (VIEW, ADD, CHANGE, DELETE)
    parser_classes = (*api_settings.DEFAULT_PARSER_CLASSES, MultiPartParser)  # type: ignore[arg-type]
    serializer_class = ImageSerializer
    filter_class = ShelfFilterSerializer
    queryset = Image.objects.select_related("uploaded_by").prefetch_related(
        Prefetch("uses", _USES.order_by("-article")[:NAMED_USES], to_attr="newest_uses"), "favoured_by"
    )
    lookup_value_converter = "str"
    ordering = ("-created_at", "-id")

    def narrowed(self, queryset: Any, wanted: dict[str, Any]) -> Any:
        """The favourites or uploads of this person, the unused ones, those about something."""
        if wanted.get("favourite"):
            queryset = queryset.filter(favoured_by=self.request.user.pk)
        if wanted.get("own"):
            queryset = queryset.filter(uploaded_by=self.request.user.pk)
        if wanted.get("unused"):
            queryset = queryset.unused()
        return queryset.about(wanted.get("q", ""))

    @extend_schema(
        summary="Upload a picture",
        request={"multipart/form-data": UploadSerializer},
        responses={
            201: ImageSerializer,
            200: OpenApiResponse(ImageSerializer, description=gettext_lazy("The same file was there already.")),
            507: OpenApiResponse(ErrorSerializer, description=gettext_lazy("The storage took nothing.")),
        },
    )
    def create(self, request: Request) -> Response:
        """Store a picture in every size, without what its file told of places and devices."""
        if "file" not in request.FILES and int(request.META.get("CONTENT_LENGTH") or 0) > MOST_BYTES:
            raise FileTooLarge(_("The file is larger than %d MB.") % (MOST_BYTES // 1_000_000))
        values = self.checked(UploadSerializer)
        made = images.upload(values.pop("file"), by=request.user, **values)
        shown = self.get_serializer(self.get_queryset().get(pk=made.image.pk)).data
        return Response(shown, status=status.HTTP_201_CREATED if made.is_new else status.HTTP_200_OK)

    @extend_schema(summary="Say something else of a picture, or move its focal point")
    def partial_update(self, request: Request, pk: str) -> Response:
        """Change what is sent."""
        image = self.get_object()
        form = self.get_serializer(image, data=request.data, partial=True)
        form.is_valid(raise_exception=True)
        images.change_image(image, by=request.user, changes=form.validated_data)
        return Response(self.get_serializer(self.get_object()).data)

    @extend_schema(
        operation_id="desk_images_uses",
        summary="Articles that show a picture, the latest use first",
        responses=UserSerializer(many=True),
    )
    @action(detail=True, methods=["get"], ordering=("-id",), parameters=["cursor", "page_size"])
    def uses(self, request: Request, pk: str) -> Response:
        """All of them, in pages."""
        page = self.paginate_queryset(_USES.filter(image=self.get_object()))
        return self.get_paginated_response(UserSerializer([use.article for use in page or ()], many=True).data)

    @extend_schema(summary="Delete a picture that nobody shows")
    def destroy(self, request: Request, pk: str) -> Response:
        """409 with the names of the articles that show it, if there are any."""
        images.delete_image(self.get_object(), by=request.user)
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(
        operation_id="desk_images_favourite",
        summary="Mark as a favourite, or no longer",
        request=FavouriteSerializer,
    )
    @action(detail=True, methods=["post"])
    def favourite(self, request: Request, pk: str) -> Response:
        """Each person has favourites of his own."""
        images.favour(self.get_object(), by=request.user, **self.checked(FavouriteSerializer))
        return Response(self.get_serializer(self.get_object()).data)
