"""The readers' API: live articles and channels. It ignores sessions and tokens, so responses are cached for all."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _, gettext_lazy
from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_view
from rest_framework import mixins, status
from rest_framework.exceptions import APIException, ValidationError
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer
from rest_framework.viewsets import GenericViewSet, ReadOnlyModelViewSet

from articles.api.errors import ErrorSerializer
from articles.api.live_pages import LivePages, page_of_changes
from articles.api.picked_fields import FIELDS, PickedFields
from articles.api.reader_serializers import (
    ChannelSerializer,
    ListedSerializer,
    LiveArticleSerializer,
    LiveFilterSerializer,
)
from articles.cache import NEWS, article_tag, cached, tagged
from articles.distribution import follow
from articles.exceptions import UnknownCheckpoint
from articles.images import gather_covers
from articles.listing import ArticleFilter, Cursor
from articles.models import NEWEST_FIRST, Article, ArticleQuerySet, Channel
from articles.pages import Links, links_in
from articles.search import RANKED, Query, find
from scheduling.api.strict import StrictView
from scheduling.database import database_now, is_at_instant

_PARAMETERS = (
    "address", "author", "channel", "cursor", "ids", "older", "ordering", "page_size", "since", "slug", "tag", "until",
)  # fmt: skip
_LOOKUPS = {"ids": "pk__in", "slug": "slug", "address": "pk"}
OLDEST_FIRST = ("goes_live_at", "id")


class Retracted(APIException):
    """The article was retracted; the detail is its retraction notice."""

    status_code = status.HTTP_410_GONE
    default_code = "retracted"
    default_detail = gettext_lazy("The newsroom has retracted this article.")


@extend_schema_view(
    list=extend_schema(
        summary="Live articles, newest first; with `q`, the best matches first",
        parameters=[LiveFilterSerializer],
        responses=ListedSerializer(many=True),
    ),
    retrieve=extend_schema(
        summary="One live article",
        responses={
            200: LiveArticleSerializer,
            410: OpenApiResponse(
                ErrorSerializer, gettext_lazy("The article was retracted; the detail is the retraction notice.")
            ),
        },
    ),
)
class LiveArticleViewSet(PickedFields, ReadOnlyModelViewSet[Article]):
    """Articles that are live now, by the database's clock."""

    authentication_classes = ()
    permission_classes = (AllowAny,)
    queryset = Article.objects.none()
    lookup_value_converter = "int"
    ordering: tuple[str, ...] = NEWEST_FIRST
    pagination_class = LivePages
    filter_class = LiveFilterSerializer
    article_filter: ArticleFilter | None = None
    query: Query | None = None
    beyond: Cursor | None = None
    links = Links()

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """The response, cached until it changes, except for errors and the change feed."""
        known = (FIELDS,) if kwargs else ("q", FIELDS, *_PARAMETERS)
        if request.GET.keys() - set(known):
            return super().dispatch(request, *args, **kwargs)
        return cached(*known, one_language=True)(self._respond)(request, *args, **kwargs)

    def _respond(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response = super().dispatch(request, *args, **kwargs)
        return tagged(response, *([article_tag(kwargs["pk"]), *self.links.tags] if kwargs else [NEWS]))

    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """A page of live articles or, with `updated_since`, of the change feed."""
        if not self._follows:
            return super().list(request, *args, **kwargs)
        if is_at_instant():
            raise ValidationError({"updated_since": [_("Changes have no preview.")]}, code="not_with_filters")
        if "cursor" in request.query_params:
            raise ValidationError(
                {"cursor": [_("Changes are paged by checkpoint, not by cursor.")]}, code="not_with_filters"
            )
        since, most = self.asked()["updated_since"], LivePages().size_for(request)
        try:
            page = follow(since, most=most)
        except UnknownCheckpoint as error:
            raise ValidationError({"updated_since": [str(error)]}, code=error.code) from error
        articles = self._with_relations(Article.objects.live(database_now())).prefetch_related("corrections")
        found = articles.in_bulk([entry.object_id for entry in page.live])
        rows = [found[entry.object_id] for entry in page.live if entry.object_id in found]
        gather_covers(rows)
        self.links = links_in(article.body for article in rows)
        shown = self.get_serializer(rows, many=True).data
        return Response(page_of_changes(request, page, shown))

    def get_queryset(self) -> ArticleQuerySet:
        """Live articles only: others give 404."""
        live = self._with_relations(Article.objects.live(database_now()))
        return live if self.action == "list" else live.prefetch_related("corrections")

    def get_object(self) -> Article:
        """The article. Raises `Retracted` for a retracted one."""
        try:
            article: Article = super().get_object()
        except Http404:
            if retracted := Article.objects.retracted().filter(pk=self.kwargs["pk"]).first():
                raise Retracted(retracted.retraction_notice or None) from None
            raise
        self.links = links_in([article.body])
        return article

    def paginate_queryset(self, queryset: Any) -> Any:
        """The rows of a page, with their covers."""
        rows = super().paginate_queryset(queryset)
        gather_covers(rows or [])
        return rows

    def get_serializer_class(self) -> type[BaseSerializer[Article]]:
        """Lists omit the body."""
        return ListedSerializer if self.action == "list" else LiveArticleSerializer

    def filter_queryset(self, queryset: Any) -> Any:
        """Apply the filters or the search to lists."""
        return self._listed(queryset, **self.asked()) if self.action == "list" else queryset

    def get_serializer_context(self) -> dict[str, Any]:
        """Add the query, for highlights, whether changes are requested, and the links of their bodies."""
        follows = getattr(self, "swagger_fake_view", False) or self._follows
        return {**super().get_serializer_context(), "query": self.query, "follows": follows, "links": self.links}

    def _listed(self, articles: ArticleQuerySet, *, q: str = "", ordering: str = "", **filters: Any) -> ArticleQuerySet:
        named = {lookup: filters.pop(name) for name, lookup in _LOOKUPS.items() if name in filters}
        chosen = ArticleFilter(**filters)
        if ordering == "published_at":
            self.ordering = OLDEST_FIRST
        if named:  # few rows, so they are read directly
            return chosen.apply(articles.filter(**named))
        if not q:
            self.article_filter = chosen
            return chosen.apply(articles)
        self.query, self.ordering = Query(q), RANKED
        found = find(chosen, self.query)
        self.beyond = found.beyond
        return self._with_relations(found.articles)

    @property
    def _follows(self) -> bool:
        return "updated_since" in self.request.query_params

    def _with_relations(self, articles: ArticleQuerySet) -> ArticleQuerySet:
        articles = articles.select_related("channel", "author").prefetch_related("tags")
        is_short = self.action == "list" and self.query is None and not self._follows
        return articles.defer("body") if is_short else articles


@extend_schema_view(list=extend_schema(summary="Channels, in the order of the site"))
class ChannelViewSet(StrictView, mixins.ListModelMixin, GenericViewSet[Channel]):
    """The enabled channels."""

    authentication_classes = ()
    permission_classes = (AllowAny,)
    serializer_class = ChannelSerializer
    pagination_class = None
    queryset = Channel.objects.enabled()

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """The response, cached until a channel changes."""
        view = super().dispatch
        return (view if request.GET else cached(one_language=True)(view))(request, *args, **kwargs)
