"""Serializers of fronts, their versions, and the operations that compose them."""

from __future__ import annotations

from datetime import time
from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from articles.api.fields import InstantField
from articles.fronts import DAYS, IfMissing, IfTwice, Operation, OperationKind, Recurrence
from articles.limits import (
    ADDRESS_LENGTH,
    CLOCK_LENGTH,
    LABEL_LENGTH,
    MOST_OPERATIONS,
    MOST_SHOWN,
    MOST_SKIPPED,
    MOST_SUBLINKS,
    MOST_WEEKDAYS,
    SUMMARY_LENGTH,
    TIME_LENGTH,
    TITLE_LENGTH,
)
from articles.models import Block, Card, Channel, Front, FrontVersion
from articles.notifications import zone_named
from articles.review import waits
from scheduling.api.bounded_fields import BoundedListField
from scheduling.api.strict import Strict
from scheduling.database import read_database_clock

_LARGEST = 2**63 - 1
_CLOCK = r"\A([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?\Z"


def _id(**options: Any) -> serializers.IntegerField:
    return serializers.IntegerField(min_value=1, max_value=_LARGEST, required=False, **options)


class DeskFrontSerializer(Strict, serializers.ModelSerializer[Front]):
    """A front of the site, or of a channel."""

    language = serializers.ChoiceField(settings.LANGUAGES)
    channel = serializers.PrimaryKeyRelatedField(
        queryset=Channel.objects.all(),
        pk_field=serializers.IntegerField(min_value=1, max_value=_LARGEST),
        allow_null=True,
        default=None,
        help_text=_("Null: the front of the site."),
    )

    class Meta:
        model = Front
        fields = ["id", "slug", "language", "channel"]
        read_only_fields = ["slug"]
        validators: list[Any] = []  # noqa: RUF012 (DRF's own; one that exists is found)


class SublinkSerializer(Strict):
    """A line below a card: an article, with its own headline if none is given, or an address with a headline."""

    article = _id(allow_null=True)
    url = serializers.CharField(max_length=ADDRESS_LENGTH, required=False, allow_blank=True)
    headline = serializers.CharField(max_length=TITLE_LENGTH, required=False, allow_blank=True)


class CardValuesSerializer(Strict):
    """What a card shows; empty texts are those of its article."""

    article = _id(allow_null=True, help_text=_("Id of an article; or else `url`."))
    url = serializers.CharField(max_length=ADDRESS_LENGTH, required=False, allow_blank=True)
    headline = serializers.CharField(max_length=TITLE_LENGTH, required=False, allow_blank=True)
    kicker = serializers.CharField(max_length=LABEL_LENGTH, required=False, allow_blank=True)
    summary = serializers.CharField(max_length=SUMMARY_LENGTH, required=False, allow_blank=True)
    image = serializers.UUIDField(required=False, allow_null=True)
    no_image = serializers.BooleanField(required=False)
    size = serializers.ChoiceField(Card.Size.choices, required=False)
    shows_from = InstantField(required=False, allow_null=True)
    shows_until = InstantField(required=False, allow_null=True)
    sublinks = BoundedListField(child=SublinkSerializer(), max_length=MOST_SUBLINKS, required=False)


class BlockValuesSerializer(Strict):
    """What a block is like."""

    kind = serializers.ChoiceField(Block.Kind.choices, required=False)
    title = serializers.CharField(max_length=LABEL_LENGTH, required=False, allow_blank=True)
    backfill = serializers.ChoiceField(
        Block.Backfill.choices, required=False, help_text=_("What fills the places that no card has.")
    )
    channel = _id(allow_null=True)
    tag = _id(allow_null=True)
    size = serializers.IntegerField(min_value=1, max_value=MOST_SHOWN, required=False)


class FrontOperationSerializer(Strict):
    """One change of a card or a block, which has the same uuid in all versions."""

    op = serializers.ChoiceField(OperationKind.choices)
    uuid = serializers.UUIDField(help_text=_("Of the card or block; a new one is chosen by the client."))
    block = serializers.UUIDField(required=False, allow_null=True, help_text=_("Where a card is added or moved."))
    after = serializers.UUIDField(
        required=False, allow_null=True, help_text=_("The card or block before it; null for the first place.")
    )
    card = CardValuesSerializer(required=False)
    settings = BlockValuesSerializer(required=False)

    def as_operation(self, values: dict[str, Any]) -> Operation:
        """What the service takes."""
        own = values.get("card" if str(values["op"]).endswith("_card") else "settings") or {}
        places = {name: values.get(name) for name in ("block", "after")}
        return Operation(op=values["op"], uuid=values["uuid"], values=own, **places)


class EditSerializer(Strict):
    """Operations that are applied together, or not at all."""

    base = serializers.IntegerField(
        min_value=0, max_value=2**31 - 1, help_text=_("The `edits` of the draft that the operations are made for.")
    )
    operations = BoundedListField(child=FrontOperationSerializer(), max_length=MOST_OPERATIONS)

    def validate_operations(self, values: list[dict[str, Any]]) -> list[Operation]:
        """As the service takes them."""
        return [FrontOperationSerializer().as_operation(one) for one in values]


class NewVersionSerializer(Strict):
    """Where a draft starts."""

    like = serializers.IntegerField(
        min_value=1,
        max_value=2**31 - 1,
        required=False,
        help_text=_("Number of the version to restore. Left out: what readers get now."),
    )


class FrontTimeSerializer(Strict):
    """From when readers get a version."""

    live_from = InstantField(help_text=_("With an offset. Up to a minute past means now."))


def _zone(name: str) -> None:
    if zone_named(name) is None:
        raise serializers.ValidationError(_("Give a time zone such as Europe/Berlin."))


class RecurrenceSerializer(Strict):
    """The rule of a recurring version: a wall time on days of the week. For ten years ahead at a time."""

    days = BoundedListField(child=serializers.ChoiceField([(day, day) for day in DAYS]), max_length=MOST_WEEKDAYS)
    time = serializers.RegexField(_CLOCK, max_length=CLOCK_LENGTH, help_text=_("Wall time, such as 06:00."))
    zone = serializers.CharField(max_length=TIME_LENGTH, validators=[_zone])
    starts = serializers.DateField(required=False, help_text=_("The first day. Left out: today."))
    until = serializers.DateField(required=False, allow_null=True, help_text=_("The last day."))
    skipped = BoundedListField(child=serializers.DateField(), max_length=MOST_SKIPPED, required=False)
    if_missing = serializers.ChoiceField(
        IfMissing.choices,
        required=False,
        allow_blank=True,
        help_text=_("What happens on a day on which clocks skip the time. Needed only if there is one."),
    )
    if_twice = serializers.ChoiceField(
        IfTwice.choices,
        required=False,
        allow_blank=True,
        help_text=_("Which time counts on a day that has it twice. Needed only if there is one."),
    )

    def validate_days(self, days: list[str]) -> list[str]:
        """At least one."""
        if not days:
            raise serializers.ValidationError(_("Choose at least one day."))
        return days

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
        """The rule as the service takes it."""
        today = read_database_clock().astimezone(ZoneInfo(values["zone"])).date()
        rule = Recurrence(
            days=tuple(sorted({DAYS.index(day) for day in values["days"]})),
            wall=time.fromisoformat(values["time"]),
            zone=values["zone"],
            starts=values.get("starts") or today,
            until=values.get("until"),
            skipped=frozenset(values.get("skipped") or ()),
            if_missing=values.get("if_missing") or "",
            if_twice=values.get("if_twice") or "",
        )
        return {"rule": rule}


class DaySerializer(Strict):
    """A day of a rule, in its time zone."""

    day = serializers.DateField()


class EndSerializer(Strict):
    """When a rule ends."""

    until = serializers.DateField(
        required=False, allow_null=True, help_text=_("The last day. Left out: it is over now.")
    )


class MarkSerializer(serializers.Serializer[Any]):
    """Something to look at before a version goes live."""

    uuid = serializers.UUIDField(help_text=_("Of a card or a block."))
    code = serializers.CharField()
    message = serializers.CharField()


class ConflictSerializer(serializers.Serializer[Any]):
    """A value that two have changed: what is stored, and what was sent."""

    uuid = serializers.UUIDField()
    name = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]
    theirs = serializers.CharField()
    mine = serializers.CharField()
    by = serializers.CharField()


class ConflictsSerializer(serializers.Serializer[Any]):
    """Why nothing was stored."""

    detail = serializers.CharField()
    code = serializers.CharField()
    conflicts = ConflictSerializer(many=True, required=False)


class FrontCardSerializer(serializers.ModelSerializer[Card]):
    """A card as it is stored."""

    article = serializers.IntegerField(source="article_id", allow_null=True)
    image = serializers.UUIDField(source="image_id", allow_null=True)
    shows_from = InstantField(allow_null=True)
    shows_until = InstantField(allow_null=True)
    sublinks = SublinkSerializer(many=True)

    class Meta:
        model = Card
        fields = [
            "uuid", "article", "url", "headline", "kicker", "summary", "image", "no_image", "size", "shows_from",
            "shows_until", "sublinks",
        ]  # fmt: skip
        read_only_fields = fields


class FrontBlockSerializer(serializers.ModelSerializer[Block]):
    """A block with its cards."""

    channel = serializers.IntegerField(source="channel_id", allow_null=True)
    tag = serializers.IntegerField(source="tag_id", allow_null=True)
    cards = FrontCardSerializer(many=True)

    class Meta:
        model = Block
        fields = ["uuid", "kind", "title", "backfill", "channel", "tag", "size", "cards"]
        read_only_fields = fields


class FrontVersionHeadSerializer(serializers.ModelSerializer[FrontVersion]):
    """A version without what it shows."""

    state = serializers.ChoiceField(FrontVersion.State.choices)
    live_from = InstantField(allow_null=True)
    live_until = InstantField(allow_null=True)
    repeats = RecurrenceSerializer(allow_null=True)
    next_from = InstantField(allow_null=True, help_text=_("When readers get it next."))
    based_on = serializers.IntegerField(source="based_on.number", allow_null=True, default=None)
    author = serializers.StringRelatedField[Any](allow_null=True)
    waits = serializers.SerializerMethodField(help_text=_("Whether it waits for another person to approve it."))
    created_at = InstantField()
    updated_at = InstantField()

    class Meta:
        model = FrontVersion
        fields = [
            "id", "front", "number", "state", "live_from", "live_until", "repeats", "next_from", "release", "based_on",
            "author", "edits", "waits", "created_at", "updated_at",
        ]  # fmt: skip
        read_only_fields = fields

    def get_waits(self, version: FrontVersion) -> bool:
        """Under the two-person rule."""
        return waits(version)


class FrontVersionSerializer(FrontVersionHeadSerializer):
    """A version with its blocks and cards."""

    blocks = FrontBlockSerializer(many=True)

    class Meta(FrontVersionHeadSerializer.Meta):
        fields = [*FrontVersionHeadSerializer.Meta.fields, "blocks"]  # noqa: RUF012 (never changed)
        read_only_fields = fields
