"""The API of bulk actions: one transition applied to many articles, with a row of the answer for each."""

from __future__ import annotations

import time
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema, extend_schema_field, extend_schema_view
from rest_framework import mixins, serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from articles.api.base import NewsroomView
from articles.api.fields import InstantField
from articles.exceptions import RevisionMissing
from articles.limits import MOST_BULK
from articles.models import Article, BulkAction, BulkActionItem
from articles.publishing import (
    advance_bulk_action,
    gather_articles,
    may_be_undone,
    start_bulk_action,
    undo_bulk_action,
)
from articles.workflow import TRANSITIONS, Input, Transition
from scheduling.api.bounded_fields import BoundedDictField, BoundedListField
from scheduling.api.strict import EmptyBody, Strict
from scheduling.database import read_database_clock

PATIENCE = 5.0  # seconds of a request; a worker does the rest
_TRANSITIONS = [(one.value, rule.label) for one, rule in TRANSITIONS.items() if rule.is_bulk_action]
_NUMBER = serializers.IntegerField(min_value=1, max_value=2**63 - 1)


class NewBulkActionSerializer(Strict):
    """A transition, the articles, and what the transition needs."""

    transition = serializers.ChoiceField(_TRANSITIONS)
    articles = BoundedListField(
        child=_NUMBER, allow_empty=False, max_length=MOST_BULK, help_text=_("Ids; each has a row of the answer.")
    )
    publish_at = InstantField(required=False, help_text=_("For `schedule`."))
    minutes = serializers.IntegerField(
        required=False, min_value=-(10**7), max_value=10**7, help_text=_("For `reschedule`; negative means earlier.")
    )
    revisions = BoundedDictField(
        child=serializers.IntegerField(min_value=1, max_value=2**31 - 1), max_length=MOST_BULK, required=False,
        help_text=_("For `approve`: by id of the article, the number of the revision that you read."),
    )  # fmt: skip

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Require what the transition needs, and nothing else. Raises `ValidationError`."""
        needed = {Input.TIME: "publish_at", Input.MINUTES: "minutes", Input.REVISION: "revisions"}
        own = needed.get(TRANSITIONS[Transition(attrs["transition"])].input)
        for name in needed.values():
            if (name in attrs) != (name == own):
                text = _("This transition needs it.") if name == own else _("This transition does not take it.")
                raise serializers.ValidationError({name: text}, code="required" if name == own else "invalid")
        if own == "revisions" and not {*map(str, attrs["articles"])} <= attrs["revisions"].keys():
            raise serializers.ValidationError({"revisions": RevisionMissing.message}, code=RevisionMissing.code)
        return attrs


class BulkResultSerializer(serializers.ModelSerializer[BulkActionItem]):
    """What became of one article."""

    article = serializers.IntegerField(source="article_id")
    state = serializers.SerializerMethodField()

    class Meta:
        model = BulkActionItem
        fields = ["article", "title", "state", "reason"]
        read_only_fields = fields

    def get_state(self, item: BulkActionItem) -> str:
        """`pending`, `done` or `refused`."""
        return BulkActionItem.State(item.state).name.lower()


class BulkActionSerializer(serializers.ModelSerializer[BulkAction]):
    """A bulk action and its progress."""

    is_undo = serializers.BooleanField(read_only=True)
    created_at = InstantField(read_only=True)
    finished_at = InstantField(
        read_only=True, allow_null=True, help_text=_("Null while it runs; ask for it again until it is set.")
    )
    may_be_undone = serializers.SerializerMethodField()
    counts = serializers.DictField(
        child=serializers.IntegerField(), read_only=True, help_text=_("In `total`, `done` and `refused`.")
    )

    class Meta:
        model = BulkAction
        fields = ["id", "transition", "is_undo", "created_at", "finished_at", "may_be_undone", "counts"]
        read_only_fields = fields

    def get_may_be_undone(self, bulk_action: BulkAction) -> bool:
        """Whether there is something to undo, and still time to."""
        return may_be_undone(bulk_action, read_database_clock())


class BulkReportSerializer(BulkActionSerializer):
    """A bulk action with a row for each article."""

    results = serializers.SerializerMethodField()

    class Meta(BulkActionSerializer.Meta):
        fields = [*BulkActionSerializer.Meta.fields, "results"]
        read_only_fields = fields

    @extend_schema_field(BulkResultSerializer(many=True))
    def get_results(self, bulk_action: BulkAction) -> Any:
        """In the order of the ids."""
        return BulkResultSerializer(bulk_action.items.order_by("article_id"), many=True).data


@extend_schema_view(
    list=extend_schema(operation_id="desk_bulk_actions_list", summary="Your bulk actions, latest first"),
    retrieve=extend_schema(
        operation_id="desk_bulk_actions_retrieve", summary="One bulk action", responses=BulkReportSerializer
    ),
)
class BulkActionViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, NewsroomView):
    """Bulk actions of the signed-in user. What is refused for one article is done for the others."""

    serializer_class = BulkActionSerializer
    queryset = BulkAction.objects.all()
    lookup_value_converter = "int"
    ordering = ("-id",)

    def get_queryset(self) -> QuerySet[BulkAction]:
        """The user's own that were started."""
        started: QuerySet[BulkAction] = super().get_queryset().filter(started_at__isnull=False)
        return started.filter(user=self.request.user.pk)

    def get_serializer_class(self) -> type[serializers.BaseSerializer[Any]]:
        """Lists have no row for each article."""
        return BulkActionSerializer if self.action == "list" else BulkReportSerializer

    def retrieve(self, request: Request, pk: int) -> Response:
        """With a row for each article."""
        return Response(BulkReportSerializer(self.get_object()).data)

    @extend_schema(
        operation_id="desk_bulk_actions_create", summary="Apply a transition to many articles",
        request=NewBulkActionSerializer, responses={201: BulkReportSerializer},
    )  # fmt: skip
    def create(self, request: Request) -> Response:
        """It runs at once; what takes longer than a few seconds is done by a worker."""
        values = self.checked(NewBulkActionSerializer)
        ids = sorted(set(values["articles"]))
        titles = dict(Article.objects.filter(pk__in=ids).values_list("pk", "title"))
        chosen = [(pk, titles.get(pk, "")) for pk in ids]
        bulk_action = gather_articles(
            Transition(values["transition"]), chosen, by=request.user, revisions=values.get("revisions")
        )
        start_bulk_action(bulk_action, publish_at=values.get("publish_at"), minutes=values.get("minutes", 0))
        return self._report(bulk_action.pk, status.HTTP_201_CREATED)

    @extend_schema(
        operation_id="desk_bulk_actions_undo", summary="Undo a bulk action", request=None,
        responses={201: BulkReportSerializer},
    )  # fmt: skip
    @action(detail=True, methods=["post"])
    def undo(self, request: Request, pk: int) -> Response:
        """Returns the bulk action that undoes it. Articles that were changed since stay as they are."""
        self.checked(EmptyBody)
        return self._report(undo_bulk_action(self.get_object(), by=request.user).pk, status.HTTP_201_CREATED)

    def _report(self, pk: int, status: int) -> Response:
        """The bulk action after as many chunks as fit in the time."""
        end = time.monotonic() + PATIENCE
        while advance_bulk_action(pk) and time.monotonic() < end:
            pass
        return Response(BulkReportSerializer(BulkAction.objects.get(pk=pk)).data, status)
