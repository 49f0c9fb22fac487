"""The readers' API of fronts: what the front of a language or channel shows now."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.utils.translation import gettext_lazy as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSet

from articles.api.fields import InstantField
from articles.api.image_serializers import ReaderImageSerializer
from articles.cache import NEWS, cached, front_tag, tagged
from articles.fronts import ShownBlock, ShownCard, front_at, shown_since
from articles.images import absolute
from articles.models import Block, Card, Channel, Front
from articles.site.home import build_front_page
from articles.site.pagination import SIZE
from scheduling.api.strict import StrictView
from scheduling.database import compiled_once, database_now


class AddressField(serializers.CharField):
    """An absolute URL of a path of the site, or an address elsewhere."""

    def to_representation(self, value: str) -> str:
        """The absolute URL."""
        return absolute(value)


class ShownLinkSerializer(serializers.Serializer[Any]):
    """A line below a card."""

    headline = serializers.CharField()
    url = AddressField(source="address")


class ShownCardSerializer(serializers.Serializer[Any]):
    """A card as readers see it: its own texts and image, or else those of its live article."""

    article = serializers.IntegerField(source="article.pk", allow_null=True, default=None, help_text=_("Its id."))
    headline = serializers.CharField()
    kicker = serializers.CharField(allow_blank=True)
    summary = serializers.CharField(allow_blank=True)
    url = AddressField(source="address")
    images = ReaderImageSerializer(many=True, help_text=_("None, one or three images."))
    size = serializers.ChoiceField(Card.Size.choices)
    byline = serializers.CharField(source="article.signed", allow_null=True, default=None)
    published_at = InstantField(source="article.out_since", allow_null=True, default=None)
    sublinks = ShownLinkSerializer(source="links", many=True)


class ShownBlockSerializer(serializers.Serializer[Any]):
    """A block with its cards; empty blocks are left out."""

    kind = serializers.ChoiceField(Block.Kind.choices, source="block.kind")
    title = serializers.CharField(source="block.title", allow_blank=True)
    cards = ShownCardSerializer(many=True)


class ShownFrontSerializer(serializers.Serializer[Any]):
    """A front as readers see it now."""

    slug = serializers.CharField()
    language = serializers.ChoiceField(settings.LANGUAGES)
    channel = serializers.CharField(allow_null=True, help_text=_("Slug of its channel; null for that of the site."))
    version = serializers.IntegerField(allow_null=True, help_text=_("Null if the front is automatic."))
    live_from = InstantField(allow_null=True)
    blocks = ShownBlockSerializer(many=True)


class FrontViewSet(StrictView, ViewSet):
    """Fronts as readers see them now, by the database's clock."""

    authentication_classes = ()
    permission_classes = (AllowAny,)
    lookup_field = "slug"
    lookup_value_converter = "str"
    front: tuple[str, int | None] | None = None
    """Its language and channel, once it is found."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """The response, cached until it changes."""
        if request.GET:
            return super().dispatch(request, *args, **kwargs)
        return cached(one_language=True)(self._respond)(request, *args, **kwargs)

    def _respond(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response = super().dispatch(request, *args, **kwargs)
        return tagged(response, NEWS, front_tag(*self.front)) if self.front else response

    @extend_schema(
        summary="What readers see on a front",
        parameters=[OpenApiParameter("slug", OpenApiTypes.STR, OpenApiParameter.PATH)],
        responses=ShownFrontSerializer,
    )
    def retrieve(self, request: Request, slug: str) -> Response:
        """The blocks and cards, composed or automatic. The slug of the site's front is its language."""
        front = _named(slug)
        shown = front_at(database_now(), language=front.language, channel=front.channel_id)
        if shown is None and front.channel:
            raise Http404
        self.front = front.language, front.channel_id
        found = {
            "slug": front.slug,
            "language": front.language,
            "channel": front.channel.slug if front.channel else None,
            "version": shown.version.number if shown else None,
            "live_from": shown_since(shown) if shown else None,
            "blocks": shown.blocks if shown else _blocks(front.language),
        }
        return Response(ShownFrontSerializer(found, context={"request": request}).data)


def _named(slug: str) -> Front:
    """The front with exactly this slug, or that of a language that has never been composed. Raises `Http404`."""
    found = Front.objects.select_related("channel").filter(slug=slug).first()
    languages = dict(settings.LANGUAGES)
    # MariaDB finds it in other cases and without accents, too; its language may be one that the site had before.
    if found is not None and found.slug == slug and found.language in languages:
        return found
    if slug not in languages:
        raise Http404
    return Front(slug=slug, language=slug)


def _blocks(language: str) -> list[ShownBlock]:
    """The blocks of the automatic front."""
    page = build_front_page(compiled_once(Channel.objects.enabled), size=SIZE, language=language)
    above = [page.lead, *page.others] if page.lead else []
    blocks = [ShownBlock(Block(kind=Block.Kind.LEAD), [ShownCard(article) for article in above])]
    sections = (
        ShownBlock(Block(title=section.channel.name), [ShownCard(article) for article in section.articles])
        for section in page.sections
    )
    return [block for block in (*blocks, *sections) if block.cards]
