"""Serializers of the newsroom's articles and revisions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, ClassVar

from django.contrib.auth import get_user_model
from django.utils.functional import cached_property
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from articles import publishing
from articles.api.fields import (
    ArticleAddressField,
    AtOnceField,
    InstantField,
    NumbersField,
    ShiftField,
    StatusesField,
    TagField,
)
from articles.api.reader_serializers import ArticleFilterSerializer
from articles.limits import (
    ADDRESS_LENGTH,
    EXTERNAL_ID_LENGTH,
    MOST_BODY_ELEMENTS,
    MOST_COVERS,
    MOST_RESCHEDULED,
    REASON_LENGTH,
    REVISION_NOTE_LENGTH,
    SLUG_LENGTH,
)
from articles.models import (
    LINES,
    Article,
    Channel,
    ReviewProgress,
    ReviewStage,
    Revision,
    State,
    Text,
    Update,
    state_at,
    status_at,
)
from articles.publishing import FieldDiff, notes
from articles.text import FORMATS, Change, Row, RowChange, one_line, oversize
from articles.workflow import Transition
from scheduling.api.bounded_fields import BoundedChoicesField, BoundedListField, BoundedSlugField
from scheduling.api.strict import Strict
from scheduling.database import read_database_clock

Status = Article.Status
_MOST_SHOWN = 14_000
"""Bytes of the pieces of a field, and of its blocks, after which a comparison ends; one of all fields has 64 kB."""

ORDERINGS = ("-id", "id", "-updated_at", "updated_at", "-goes_live_at", "goes_live_at")


class DeskFilterSerializer(ArticleFilterSerializer):
    """Filters of the newsroom's article list."""

    state = BoundedChoicesField(
        choices=State.choices, required=False, help_text=_("What readers see, by name. May be repeated.")
    )
    status = StatusesField(
        Status, required=False, help_text=_("By number, or by word, such as `published`. May be repeated.")
    )
    ids = NumbersField(required=False, help_text=_("Ids, separated by commas, at most 100."))
    slug = serializers.CharField(max_length=SLUG_LENGTH, required=False, help_text=_("Those with this slug."))
    external_id = serializers.CharField(
        max_length=EXTERNAL_ID_LENGTH, required=False, help_text=_("The one that was imported with this id.")
    )
    address = ArticleAddressField(
        max_length=ADDRESS_LENGTH,
        required=False,
        help_text=_("The one with this address on the site, also a former one."),
    )
    ordering = serializers.ChoiceField(
        ORDERINGS, required=False, help_text=_("Those without a time to go live are left out if that is the order.")
    )
    owned = serializers.BooleanField(
        required=False, help_text=_("Only articles that the signed-in user has to finish.")
    )
    own = serializers.BooleanField(required=False, help_text=_("Only articles of the signed-in user."))


class RevisionHeadSerializer(serializers.ModelSerializer[Revision]):
    """A revision without its text."""

    author = serializers.StringRelatedField[Any](read_only=True, allow_null=True)
    created_at = InstantField(read_only=True)

    class Meta:
        model = Revision
        fields = ["number", "author", "created_at", "title", "note", "correction"]
        read_only_fields = fields


class RevisionSerializer(RevisionHeadSerializer):
    """A revision with its text."""

    channel = serializers.SlugRelatedField[Any](slug_field="slug", read_only=True, allow_null=True)
    tags = serializers.ListField(child=serializers.CharField(), read_only=True, help_text=_("Names."))
    cover = serializers.ListField(child=serializers.UUIDField(), read_only=True, help_text=_("Ids of images."))

    class Meta(RevisionHeadSerializer.Meta):
        fields = [
            *RevisionHeadSerializer.Meta.fields,
            *(name for name in Text.FIELDS if name != "title"),
        ]
        read_only_fields = fields


class PieceSerializer(serializers.Serializer[Any]):
    """Some text that was kept, added or removed."""

    change = serializers.ChoiceField(choices=Change.choices)
    text = serializers.CharField()


class LookSerializer(serializers.Serializer[Any]):
    """How text looks."""

    formats = serializers.ListField(
        child=serializers.ChoiceField(choices=sorted({*FORMATS.values()})), help_text=_("Such as “bold”.")
    )
    link = serializers.CharField(help_text=_("The address; empty without a link."))


class MediaSerializer(serializers.Serializer[Any]):
    """An image, a film or a sound in the text."""

    kind = serializers.ChoiceField(choices=["image", "film", "sound"])
    address = serializers.CharField(help_text=_("As in the text."))
    alt = serializers.CharField()


class OperationSerializer(PieceSerializer):
    """Some text of a block with its look."""

    look = LookSerializer()
    was = LookSerializer(allow_null=True, help_text=_("How text that was kept looked before; null if the same."))
    media = MediaSerializer(allow_null=True, help_text=_("What the text, U+FFFC, stands for; null if it is text."))


class CellSerializer(serializers.Serializer[Any]):
    """A cell of a table."""

    change = serializers.ChoiceField(
        choices=Change.choices,
        allow_null=True,
        help_text=_("Null for one that is in both tables, with operations of its text."),
    )
    operations = OperationSerializer(many=True, source="pieces")


class TableRowSerializer(serializers.Serializer[Any]):
    """A row of a table, or several that are unchanged or not compared."""

    change = serializers.ChoiceField(choices=RowChange.choices)
    count = serializers.IntegerField(help_text=_("The number of rows; those of several have no cells."))
    cells = CellSerializer(many=True)


class ShapeSerializer(serializers.Serializer[Any]):
    """What a block is."""

    tag = serializers.CharField(help_text=_("The name of its HTML element, such as “p”, “h2” or “li”."))
    around = serializers.ListField(child=serializers.CharField(), help_text=_("The elements around it, such as “ul”."))
    ordinal = serializers.IntegerField(help_text=_("Its place in them, from 1."))


class BlockDiffSerializer(serializers.Serializer[Any]):
    """A block of the body, such as a paragraph, or several that are unchanged or not compared."""

    change = serializers.ChoiceField(
        choices=RowChange.choices,
        help_text=_("“moved_away” is the old place of a block, and “moved” the new one."),
    )
    count = serializers.IntegerField(help_text=_("The number of blocks."))
    old = serializers.IntegerField(allow_null=True, help_text=_("The place in the old text, from 0."))
    new = serializers.IntegerField(allow_null=True, help_text=_("The place in the new text, from 0."))
    was = ShapeSerializer(allow_null=True, help_text=_("What it was."))
    shape = ShapeSerializer(allow_null=True, help_text=_("What it is."))
    operations = OperationSerializer(many=True, source="pieces")
    table = TableRowSerializer(many=True, help_text=_("The rows of a table, instead of operations."))
    notes = serializers.SerializerMethodField(help_text=_("Changes of formats, links and images, in words."))

    def get_notes(self, row: Row) -> list[str]:
        """What the words do not show."""
        return notes(row)


class FieldDiffSerializer(serializers.Serializer[Any]):
    """One field that differs. With `is_cut` in the context, it ends after some blocks and some pieces."""

    field = serializers.CharField(source="name")
    pieces = PieceSerializer(many=True, help_text=_("The text, without formats, and with the alt text of images."))
    blocks = BlockDiffSerializer(
        many=True, source="rows", help_text=_("Block by block; empty for fields without blocks.")
    )
    is_cut = serializers.BooleanField(help_text=_("Whether there are more pieces or blocks, which `all=true` brings."))

    def to_representation(self, diff: FieldDiff) -> dict[str, Any]:
        """Blocks are those of the body, of covers and of the texts of images."""
        rows = diff.rows if diff.name in ("body", "cover", "images") else []
        pieces, has_more_pieces = self._first(diff.pieces, PieceSerializer())
        blocks, has_more_blocks = self._first(rows, BlockDiffSerializer())
        return {
            "field": diff.name,
            "pieces": pieces,
            "blocks": blocks,
            "is_cut": has_more_pieces or has_more_blocks,
        }

    def _first(self, values: Sequence[Any], serializer: serializers.Serializer[Any]) -> tuple[list[Any], bool]:
        """Those that are shown, and whether there are more; the rest costs nothing."""
        found: list[Any] = []
        size = 0
        for value in values:
            if size > _MOST_SHOWN and self.context.get("is_cut"):
                return found, True
            found.append(serializer.to_representation(value))
            size += len(json.dumps(found[-1], ensure_ascii=False).encode())
        return found, False


class UpdateSerializer(serializers.ModelSerializer[Update]):
    """The pending update of an article."""

    draft = RevisionSerializer(read_only=True, allow_null=True)
    approved = RevisionSerializer(read_only=True, allow_null=True)
    publish_at = InstantField(read_only=True, allow_null=True)

    class Meta:
        model = Update
        fields = ["draft", "status", "status_reason", "approved", "publish_at"]
        read_only_fields = fields


class StageSerializer(serializers.Serializer[ReviewProgress]):
    """The review stage that a text waits at."""

    key = serializers.ChoiceField(source="stage.kind", choices=ReviewStage.Kind.values)
    name = serializers.CharField(source="stage.label")
    number = serializers.IntegerField(help_text=_("From 1."))
    count = serializers.IntegerField(help_text=_("The number of stages."))


class LineField(serializers.CharField):
    """A text on one line; without anything to see it is blank."""

    def to_internal_value(self, value: Any) -> str:
        """The line. Raises `ValidationError` for a blank one, unless that is allowed."""
        line = one_line(super().to_internal_value(value))
        if not line and not self.allow_blank:
            self.fail("blank")
        return line


class DeskArticleSerializer(Strict, serializers.ModelSerializer[Article]):
    """An article in any state. Its status changes only through the actions."""

    channel = BoundedSlugField(slug_field="slug", queryset=Channel.objects.enabled(), allow_null=True, required=False)
    cover = BoundedListField(
        child=serializers.UUIDField(), max_length=MOST_COVERS, required=False,
        help_text=_("Ids of images, as many as `cover_mode` says; with “auto” they are chosen from the text."),
    )  # fmt: skip
    tags = TagField(many=True, required=False)
    author = BoundedSlugField(
        slug_field="username", queryset=get_user_model()._default_manager.all(), allow_null=True, required=False,
        help_text=_("A username. Another than yours needs the permission to edit all articles."),
    )  # fmt: skip
    owner = BoundedSlugField(
        slug_field="username", queryset=get_user_model()._default_manager.all(), allow_null=True, required=False,
        help_text=_("The username of who has to finish it. Readers never see it."),
    )  # fmt: skip
    due_at = InstantField(allow_null=True, required=False, help_text=_("When the owner has to be ready."))
    publish_at = InstantField(allow_null=True, required=False)
    unpublish_at = InstantField(allow_null=True, required=False)
    embargo_until = InstantField(allow_null=True, required=False)
    seen = InstantField(
        write_only=True, required=False,
        help_text=_("The `updated_at` you started from: the change is refused if another user has saved since."),
    )  # fmt: skip
    status_name = serializers.SerializerMethodField(help_text=_("The status as a word."))
    state = serializers.SerializerMethodField(help_text=_("What readers see at the time of the response."))
    published_at = InstantField(read_only=True, allow_null=True, help_text=_("From when readers could see it."))
    created_at = InstantField(read_only=True)
    updated_at = InstantField(source="changed_at", read_only=True)
    note = serializers.CharField(
        max_length=REVISION_NOTE_LENGTH,
        write_only=True,
        required=False,
        help_text=_("For the newsroom: what is new, and why."),
    )
    correction = serializers.CharField(
        max_length=REASON_LENGTH, write_only=True, required=False, help_text=_("For readers: what was wrong before.")
    )
    pending_update = UpdateSerializer(
        read_only=True, allow_null=True, help_text=_("The text that readers do not see yet.")
    )
    reviewer = serializers.SerializerMethodField(help_text=_("The user who claimed it for review; null if unclaimed."))
    stage = serializers.SerializerMethodField(help_text=_("The review stage it waits at; null if no reviewer decides."))

    class Meta:
        model = Article
        fields = [
            "id", *Text.FIELDS, "author", "owner", "due_at", "status", "status_name", "state", "status_reason",
            "publish_at", "unpublish_at", "embargo_until", "published_at", "created_at", "updated_at", "revision",
            "retraction_notice", "pending_update", "reviewer", "stage", "seen", "note", "correction",
        ]  # fmt: skip
        read_only_fields = ["status", "status_reason", "revision", "retraction_notice"]
        extra_kwargs: ClassVar[dict[str, Any]] = {
            "slug": {"validators": []},  # the field has its own
            "body": {
                "help_text": format_lazy(_("HTML with at most {most} elements and line ends."), most=MOST_BODY_ELEMENTS)
            },
        }

    def build_standard_field(self, field_name: str, model_field: Any) -> tuple[Any, dict[str, Any]]:
        """Fields of one line."""
        kind, options = super().build_standard_field(field_name, model_field)
        return LineField if field_name in LINES else kind, options

    def validate_body(self, body: str) -> str:
        """Refused before images of other hosts are copied."""
        if reason := oversize(body):
            raise serializers.ValidationError(reason, code="oversize")
        return body

    def to_representation(self, article: Article) -> dict[str, Any]:
        """Status and `published_at` as readers see it, whether or not a worker has stored them."""
        shown: dict[str, Any] = super().to_representation(article)
        since = article.seen_since(self._now)
        published_at = since and InstantField().to_representation(since)
        return {**shown, "status": status_at(article, self._now).value, "published_at": published_at}

    @extend_schema_field(serializers.ChoiceField(choices=[(one.name.lower(), one.label) for one in Status]))
    def get_status_name(self, article: Article) -> str:
        """As in `status`, by name."""
        return status_at(article, self._now).name.lower()

    @extend_schema_field(serializers.ChoiceField(choices=State.choices))
    def get_state(self, article: Article) -> str:
        """Its state by name."""
        return state_at(article, self._now).state.value

    def get_reviewer(self, article: Article) -> str | None:
        """The user whose soft lock is valid now."""
        soft_lock = getattr(article, "soft_lock", None)
        return str(soft_lock.user) if soft_lock and soft_lock.counts_at(self._now) else None

    @extend_schema_field(StageSerializer(allow_null=True))
    def get_stage(self, article: Article) -> dict[str, Any] | None:
        """The stage that the text under review waits at."""
        pending_update = article.pending_update
        subject = pending_update if pending_update and pending_update.draft_id else article
        if subject.status != Status.MANUAL_REVIEW:
            return None
        return dict(StageSerializer(ReviewProgress.of(article, stages=self._stages)).data)

    @cached_property
    def _stages(self) -> list[ReviewStage]:
        """The same for all articles of a list."""
        return ReviewStage.in_order()

    @cached_property
    def _now(self) -> datetime:
        """The same for all articles of a list."""
        return read_database_clock()

    def create(self, validated_data: dict[str, Any]) -> Article:
        """A new draft of the signed-in user."""
        tags, by = validated_data.pop("tags", ()), validated_data.pop("by")
        for name in ("seen", "note", "correction"):
            validated_data.pop(name, None)
        article = Article(**validated_data)
        publishing.create(article, by=by, tags=tags)
        return article

    def update(self, instance: Article, validated_data: dict[str, Any]) -> Article:
        """Change only the fields that were sent."""
        names = ("by", "seen", "note", "correction")
        options = {name: validated_data.pop(name) for name in names if name in validated_data}
        publishing.edit(instance, changes=validated_data, **options)
        return instance


class ScheduleSerializer(Strict):
    """When the article goes live."""

    publish_at = InstantField(help_text=_("With an offset. Up to a minute past means now."))
    at_once = AtOnceField()


class UpdateTimeSerializer(Strict):
    """When the update goes live."""

    publish_at = InstantField(help_text=_("With an offset. Up to a minute past means now."))
    at_once = AtOnceField()


class EmbargoSerializer(Strict):
    """Until when the article stays hidden from readers."""

    until = InstantField(allow_null=True, help_text=_("With an offset; null lifts the embargo."))


class RescheduleSerializer(Strict):
    """The articles to reschedule, and by how much."""

    channel = BoundedSlugField(
        slug_field="slug", queryset=Channel.objects.all(), required=False, help_text=_("Everything in this channel.")
    )
    articles = BoundedListField(
        child=serializers.IntegerField(min_value=1, max_value=2**63 - 1), required=False, min_length=1,
        max_length=MOST_RESCHEDULED,
        help_text=_("These articles, by id."),
    )  # fmt: skip
    shift = ShiftField(help_text=_("HH:MM:SS or ISO 8601, such as 00:30:00 or PT30M; negative means earlier."))
    at_once = AtOnceField()

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Require exactly one of `channel` and `articles`."""
        if ("channel" in attrs) == ("articles" in attrs):
            raise serializers.ValidationError(_("Give a channel or articles."))
        return attrs


class RescheduledSerializer(serializers.Serializer[Any]):
    """How many articles have a new time."""

    rescheduled = serializers.IntegerField()


class ApprovalSerializer(Strict):
    """The revision to approve, and the reason for overriding the two-person rule."""

    revision = serializers.IntegerField(
        min_value=1,
        max_value=2**31 - 1,
        help_text=_("Its number. If the text, a time or an image's text has changed since, nothing is approved."),
        error_messages={"required": _("Give the number of the revision that you read.")},
    )
    stage = serializers.ChoiceField(
        ReviewStage.Kind.choices, required=False,
        help_text=_("The stage at which you approve. If the text waits at another one now, nothing is approved."),
    )  # fmt: skip
    override = serializers.CharField(
        max_length=REASON_LENGTH, required=False,
        help_text=_("For administrators: why you approve your own text, or one without an author. It is recorded."),
    )  # fmt: skip


class RetractSerializer(Strict):
    """The retraction notice for readers."""

    notice = serializers.CharField(max_length=REASON_LENGTH)


class RejectSerializer(Strict):
    """Why the article is rejected."""

    reason = serializers.CharField(max_length=REASON_LENGTH)
    revision = serializers.IntegerField(
        min_value=1,
        max_value=2**31 - 1,
        required=False,
        help_text=_("The number of the revision that you read. If the text has changed since, nothing is rejected."),
    )


class AllowedSerializer(serializers.Serializer[Any]):
    """What the signed-in user may do with an article."""

    transitions = serializers.ListField(child=serializers.ChoiceField([one.value for one in Transition]))


class CheckSerializer(serializers.Serializer[Any]):
    """Something to look at before publishing."""

    field = serializers.CharField(help_text=_("Where it is."))
    message = serializers.CharField()
    passage = serializers.CharField(help_text=_("The passage; empty if it is about the whole field."))
