"""The image library's API: list, upload, change, mark as favourite and delete images."""

from __future__ import annotations

from typing import Any

from django.db.models import Prefetch
from django.utils.translation import gettext as _, gettext_lazy
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
from articles.api.errors import ErrorSerializer
from articles.api.image_serializers import (
    AddressSerializer,
    FavouriteSerializer,
    ImageFilterSerializer,
    ImageSerializer,
    ImageUseSerializer,
    UploadSerializer,
)
from articles.api.screens import or_waits
from articles.images import ADD, CHANGE, DELETE, VIEW
from articles.limits import IMAGE_BYTES
from articles.models import Image, ImageUse
from articles.permissions import require
from articles.review import waits

NOT_STORED = OpenApiResponse(ErrorSerializer, description=gettext_lazy("The file could not be stored."))
SAME_FILE = gettext_lazy("The same file exists already.")
LISTED_USES = 50
"""Articles that are listed with an image."""

_USES = ImageUse.objects.select_related("article").only("image", "article__title")


class FileTooLarge(APIException):
    """The upload is larger than any image may be."""

    status_code = status.HTTP_413_REQUEST_ENTITY_TOO_LARGE
    default_code = "too_large"


@extend_schema_view(
    list=extend_schema(summary="Images, newest first", parameters=[ImageFilterSerializer]),
    retrieve=extend_schema(summary="One image and its uses"),
)
class ImageViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, NewsroomView):
    """The image library."""

    read_permissions = (VIEW, ADD, CHANGE, DELETE)
    parser_classes = (*api_settings.DEFAULT_PARSER_CLASSES, MultiPartParser)  # type: ignore[arg-type]
    serializer_class = ImageSerializer
    filter_class = ImageFilterSerializer
    queryset = Image.objects.select_related("uploaded_by").prefetch_related(
        Prefetch("uses", _USES.order_by("-article")[:LISTED_USES], to_attr="newest_uses"), "favoured_by"
    )
    lookup_value_converter = "str"
    ordering = ("-created_at", "-id")
    is_versioned = True

    def filter_list(self, queryset: Any, filters: dict[str, Any]) -> Any:
        """Filter by the user's favourites or uploads, unused images, and words."""
        if filters.get("favourite"):
            queryset = queryset.filter(favoured_by=self.request.user.pk)
        if filters.get("own"):
            queryset = queryset.filter(uploaded_by=self.request.user.pk)
        if filters.get("unused"):
            queryset = queryset.unused()
        return queryset.about(filters.get("q", ""))

    def retrieve(self, request: Request, pk: str) -> Response:
        """The image; its `ETag` can be sent as `If-Match` with changes."""
        return self.respond_with(pk)

    @extend_schema(
        summary="Upload an image",
        request={"multipart/form-data": UploadSerializer},
        responses={
            201: ImageSerializer,
            200: OpenApiResponse(ImageSerializer, description=SAME_FILE),
            507: NOT_STORED,
        },
    )
    def create(self, request: Request) -> Response:
        """Store an image with all renditions, without the metadata of its file."""
        if "file" not in request.FILES and request.body_length > IMAGE_BYTES:  # type: ignore[attr-defined]
            raise FileTooLarge(_("The file is larger than %d MB.") % (IMAGE_BYTES // 1_000_000))
        values = self.checked(UploadSerializer)
        return self._add(values.pop("file"), values)

    def _add(self, file: Any, texts: dict[str, Any]) -> Response:
        uploaded = images.upload(file, by=self.request.user, **texts)
        code = status.HTTP_201_CREATED if uploaded.is_new else status.HTTP_200_OK
        return self.respond_with(uploaded.image.pk, code)

    @extend_schema(
        operation_id="desk_images_fetch", summary="Add an image by its address", request=AddressSerializer,
        responses={
            201: ImageSerializer,
            200: OpenApiResponse(ImageSerializer, description=SAME_FILE),
            507: NOT_STORED,
        },
    )  # fmt: skip
    @action(detail=False, methods=["post"])
    def fetch(self, request: Request) -> Response:
        """From a public address, within seconds; then as an uploaded file."""
        values = self.checked(AddressSerializer)
        require(ADD, request.user)
        return self._add(images.fetch(values.pop("address"), most=IMAGE_BYTES), values)

    @extend_schema(
        summary="Change an image's texts or focal point", responses={**or_waits(ImageSerializer), 507: NOT_STORED}
    )
    def partial_update(self, request: Request, pk: str) -> Response:
        """Change the fields that are sent; 202 if what readers see waits for another person."""
        image = self.get_object()
        form = self.get_serializer(image, data=request.data, partial=True)
        form.is_valid(raise_exception=True)
        self.if_match(image, lambda: images.change_image(image, by=request.user, changes=form.validated_data))
        return self.respond_with(pk, status.HTTP_202_ACCEPTED if waits(image) else status.HTTP_200_OK)

    @extend_schema(
        operation_id="desk_images_uses",
        summary="Articles that use an image, the latest use first",
        responses=ImageUseSerializer(many=True),
    )
    @action(detail=True, methods=["get"], ordering=("-id",), parameters=["cursor", "page_size"])
    def uses(self, request: Request, pk: str) -> Response:
        """All uses, in pages."""
        page = self.paginate_queryset(_USES.filter(image=self.get_object()))
        return self.get_paginated_response(ImageUseSerializer([use.article for use in page or ()], many=True).data)

    @extend_schema(summary="Delete an unused image")
    def destroy(self, request: Request, pk: str) -> Response:
        """409 with the headlines of the articles that use it, if there are any."""
        image = self.get_object()
        self.if_match(image, lambda: images.delete_image(image, by=request.user))
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(
        operation_id="desk_images_favourite",
        summary="Mark as favourite or remove the mark",
        request=FavouriteSerializer,
    )
    @action(detail=True, methods=["post"])
    def favourite(self, request: Request, pk: str) -> Response:
        """Each user has their own favourites."""
        image, values = self.get_object(), self.checked(FavouriteSerializer)
        self.if_match(image, lambda: images.favour(image, by=request.user, **values))
        return self.respond_with(pk)
