"""Fronts: composed front pages, whose versions readers get by the clock."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Self
from uuid import uuid4

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import BigIntegerField, Case, F, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.expressions import Combinable
from django.db.models.functions import Cast, Coalesce, Greatest
from django.db.models.lookups import Exact, GreaterThan
from django.utils.translation import gettext, gettext_lazy as _, pgettext_lazy

from articles.addresses import page_address
from articles.limits import ADDRESS_LENGTH, LABEL_LENGTH, MOST_SHOWN, SUMMARY_LENGTH, TITLE_LENGTH
from articles.models.article import Article, Instant
from articles.models.base.timestamps import ChangedAtField, CreatedAtField
from articles.models.channel import Channel
from articles.models.front_series import FrontSeries, instant_of_microseconds
from articles.models.image import Image
from articles.models.release import Release
from articles.models.tag import Tag
from scheduling.database import EpochMicroseconds


class FrontQuerySet(models.QuerySet["Front"]):
    """Queries for fronts. `now` is an aware datetime or `database_now()`."""

    def live_versions(self, now: Instant) -> QuerySet[Any]:
        """The id of the version that readers get of each front at `now`, or None."""
        return self.annotate(live_version=live_version(OuterRef("pk"), now)).values("live_version")


class Front(models.Model):
    """The front page of the site or of a channel in one language; without a version it is automatic."""

    slug = models.CharField(_("slug"), max_length=LABEL_LENGTH, unique=True)
    language = models.CharField(_("language"), max_length=10)
    channel = models.ForeignKey(
        Channel, on_delete=models.CASCADE, null=True, related_name="fronts", verbose_name=_("channel")
    )

    objects = FrontQuerySet.as_manager()

    class Meta:
        verbose_name = _("front")
        verbose_name_plural = _("fronts")
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["channel", "language"], name="front_of_channel"),
            # With the unique slug: one front of the site in each language, though NULL differs from NULL above.
            models.CheckConstraint(
                condition=Q(channel__isnull=False) | Q(slug=F("language")), name="front_of_site_in_language"
            ),
        ]

    def __str__(self) -> str:
        language = dict(settings.LANGUAGES).get(self.language, self.language)
        name = self.channel or gettext("Front page")
        return f"{name} · {language}"

    def get_absolute_url(self) -> str:
        """Where readers see it."""
        return self.channel.get_absolute_url() if self.channel else page_address("front", language=self.language)

    @property
    def named(self) -> dict[str, str]:
        """What events say of it."""
        return {"front": self.slug, "url": self.get_absolute_url()}


def has_readers(prefix: str = "") -> Q:
    """Whether a version is one of the site, or of a channel that readers see, in a language that the site has now."""
    languages = [code for code, _name in settings.LANGUAGES]
    has_page = Q((f"{prefix}front__channel", None)) | Q((f"{prefix}front__channel__enabled", True))
    return has_page & Q((f"{prefix}front__language__in", languages))


class FrontVersionQuerySet(models.QuerySet["FrontVersion"]):
    """Queries for versions of fronts. `now` is an aware datetime or `database_now()`."""

    def begun(self, now: Instant) -> Self:
        """Those that readers have got by `now`, and that were not rolled back; recurring ones from their first time."""
        begun = self.filter(status=FrontVersion.Status.SCHEDULED, live_from__lte=now)
        return begun.filter(Q(live_until=None) | Q(live_until__gt=now))

    def to_come(self, now: Instant) -> Self:
        """Those that readers get after `now`, or again."""
        recurring = FrontSeries.objects.filter(last__gt=now)
        coming = Q(live_from__gt=now) | Q(pk__in=recurring.values("version"))
        return self.filter(coming, status=FrontVersion.Status.SCHEDULED)

    def with_states(self, now: Instant) -> Self:
        """With `asked_at`, the `shown` one of their front then, and the occurrences beside it, for `state`."""
        # MariaDB returns a plain parameter as a text.
        moment = models.DateTimeField()
        asked_at = Cast(Value(now, moment), moment) if isinstance(now, datetime) else now
        own = FrontSeries.objects.filter(version=OuterRef("pk"))
        return self.annotate(
            asked_at=asked_at,
            shown=live_version(OuterRef("front"), now),
            last_at=Subquery(own.with_last(now).order_by("-at").values("at")[:1]),
            next_at=Subquery(own.with_next(now).order_by("at").values("at")[:1]),
        )

    def live(self, now: Instant) -> Self:
        """The version of each front that readers get at `now`."""
        return self.filter(pk__in=Front.objects.live_versions(now))


def live_version(front: OuterRef, now: Any) -> Case:
    """The id of the version that readers get of a front at `now`: that with the greatest instant that has come.

    An index finds each of three candidates: with an instant of its own, of an occurrence in a series that goes on, and
    of the last one in a series that is over.
    """
    once, over, running = _candidates(
        FrontVersion.objects.filter(front=front), FrontSeries.objects.filter(front=front), now
    )
    once_at, over_at, running_at = _instants(once, over, running)
    return Case(
        When(GreaterThan(running_at, Greatest(once_at, over_at)), then=Subquery(running.values("version")[:1])),
        When(GreaterThan(over_at, once_at), then=Subquery(over.values("version")[:1])),
        default=Subquery(once.values("pk")[:1]),
        output_field=BigIntegerField(),
    )


def is_live_version(version: OuterRef, front: OuterRef, now: OuterRef) -> Q:
    """The condition that readers get this version of the front at an instant: it is the one that began last.

    It compares instants, which no two versions of a front share: SQLite does not order by a column of an outer query.
    """
    versions, series = FrontVersion.objects.filter(pk=version), FrontSeries.objects.filter(version=version)
    own = Greatest(*_instants(*_candidates(versions, series, now)))
    all_versions, all_series = FrontVersion.objects.filter(front=front), FrontSeries.objects.filter(front=front)
    newest = Greatest(*_instants(*_candidates(all_versions, all_series, now)))
    return Q(GreaterThan(own, Value(_NEVER))) & Q(Exact(own, newest))


def _candidates(versions: FrontVersionQuerySet, series: Any, now: Any) -> tuple[Any, Any, Any]:
    """What began last: with an instant of its own, in a series that is over, and in one that goes on."""
    over = series.filter(last__lte=now).order_by("-last")
    return versions.begun(now).order_by("-live_from"), over, series.running(now).with_last(now).order_by("-at")


def _instants(once: Any, over: Any, running: Any) -> tuple[Combinable, Combinable, Combinable]:
    """When the first of each began."""
    last = _first(over.values(instant=EpochMicroseconds("last")))
    return _first(once.values(instant=EpochMicroseconds("live_from"))), last, _first(running.values("at"))


_NEVER = -(2**62)


def _first(rows: QuerySet[Any]) -> Combinable:
    """The first of these instants; before all others without one."""
    return Coalesce(Subquery(rows[:1]), Value(_NEVER), output_field=BigIntegerField())


class FrontVersion(models.Model):
    """One composition of a front. Readers get the one with the greatest `live_from` that has come.

    It is never changed once it is live; only drafts are edited.
    """

    class Status(models.TextChoices):
        """Whether readers get it at its time."""

        DRAFT = "draft", pgettext_lazy("front version", "Draft")
        SCHEDULED = "scheduled", pgettext_lazy("front version", "Scheduled")  #: also once it is live
        IN_RELEASE = "in_release", pgettext_lazy("front version", "In a release")  #: which gives it its instant

    class State(models.TextChoices):
        """What it is for readers at an instant."""

        DRAFT = "draft", pgettext_lazy("front version", "Draft")
        SCHEDULED = "scheduled", pgettext_lazy("front version", "Scheduled")
        IN_RELEASE = "in_release", pgettext_lazy("front version", "In a release")
        LIVE = "live", pgettext_lazy("front version", "Live")
        PAST = "past", pgettext_lazy("front version", "Replaced")

    front = models.ForeignKey(Front, on_delete=models.CASCADE, related_name="versions", verbose_name=_("front"))
    number = models.PositiveIntegerField(_("number"))
    status = models.CharField(_("status"), max_length=20, choices=Status.choices, default=Status.DRAFT)
    live_from = models.DateTimeField(_("live from"), null=True, blank=True)
    repeats = models.JSONField(
        _("repeats"), null=True, blank=True, help_text=_("The rule of its occurrences; the first one is `live_from`.")
    )
    live_until = models.DateTimeField(
        _("live until"), null=True, blank=True, help_text=_("When its release was rolled back.")
    )
    release = models.ForeignKey(
        Release,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="front_versions",
        verbose_name=_("release"),
    )
    based_on = models.ForeignKey("self", on_delete=models.SET_NULL, null=True, related_name="+")
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+", verbose_name=_("author")
    )
    edits = models.PositiveIntegerField(default=0, help_text=_("How often the draft was edited."))
    edited_by = models.JSONField(default=list, help_text=_("IDs of those who wrote what is not approved yet."))
    created_at = CreatedAtField(_("created"))
    updated_at = ChangedAtField(_("last modified"))

    objects = FrontVersionQuerySet.as_manager()

    class Meta:
        verbose_name = _("front version")
        verbose_name_plural = _("front versions")
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["front", "number"], name="front_version_number"),
            models.UniqueConstraint(fields=["front", "live_from"], name="front_version_instant"),
            models.UniqueConstraint(fields=["front", "release"], name="front_version_in_release_once"),
        ]
        indexes = [models.Index(fields=["status", "live_from"], name="front_version_next")]

    def __str__(self) -> str:
        return f"{self.front} {self.number}"

    @property
    def state(self) -> State:
        """Of a version that was read `with_states`."""
        row: Any = self
        if self.status == self.Status.IN_RELEASE:
            return self.State.IN_RELEASE
        if self.status == self.Status.DRAFT or self.live_from is None:
            return self.State.DRAFT
        if row.shown == self.pk:
            return self.State.LIVE
        return self.State.SCHEDULED if self.next_from else self.State.PAST

    @property
    def shown_since(self) -> datetime | None:
        """The last instant from which readers have got it; of a version that was read `with_states`."""
        return instant_of_microseconds(getattr(self, "last_at", None)) or self.live_from

    @property
    def next_from(self) -> datetime | None:
        """The next instant from which readers get it; of a version that was read `with_states`."""
        row: Any = self
        if self.status != self.Status.SCHEDULED or self.live_from is None:
            return None
        asked_at = row.asked_at if row.asked_at.tzinfo else row.asked_at.replace(tzinfo=UTC)
        return instant_of_microseconds(row.next_at) or (self.live_from if self.live_from > asked_at else None)

    def is_live_at(self, now: datetime) -> bool:
        """Whether readers get it, or have got it, at `now`."""
        return self.status == self.Status.SCHEDULED and self.live_from is not None and self.live_from <= now


class Placed(models.Model):
    """A part of a version, with what decides whether two people have changed the same."""

    edited = models.PositiveIntegerField(default=0, help_text=_("The edit of the draft that last changed it."))
    moved = models.PositiveIntegerField(default=0, help_text=_("The edit of the draft that last moved it."))
    changed_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")

    class Meta:
        abstract = True


class Block(Placed):
    """A section of a front version: its cards, filled up to its size with what its backfill finds."""

    class Kind(models.TextChoices):
        """How readers see it."""

        LEAD = "lead", _("Lead")
        LIST = "list", _("List")
        STRIP = "strip", _("Strip")

    class Backfill(models.TextChoices):
        """What fills the places that no card has."""

        NEWEST = "newest", _("Newest articles")
        CHANNEL = "channel", _("Newest of a channel")
        TAG = "tag", _("Newest with a tag")
        RELEASE = "release", _("The most recent release")
        NONE = "none", _("Nothing")

    version = models.ForeignKey(FrontVersion, on_delete=models.CASCADE, related_name="blocks")
    uuid = models.UUIDField(default=uuid4, help_text=_("The same in all versions."))
    position = models.PositiveSmallIntegerField()
    kind = models.CharField(_("kind"), max_length=10, choices=Kind.choices, default=Kind.LIST)
    title = models.CharField(_("title"), max_length=LABEL_LENGTH, blank=True)
    backfill = models.CharField(_("backfill"), max_length=10, choices=Backfill.choices, default=Backfill.NEWEST)
    channel = models.ForeignKey(
        Channel, on_delete=models.SET_NULL, null=True, blank=True, related_name="+", verbose_name=_("channel")
    )
    tag = models.ForeignKey(
        Tag, on_delete=models.SET_NULL, null=True, blank=True, related_name="+", verbose_name=_("tag")
    )
    size = models.PositiveSmallIntegerField(
        _("size"),
        default=4,
        validators=[MinValueValidator(1), MaxValueValidator(MOST_SHOWN)],
        help_text=_("Cards that readers see at most."),
    )

    class Meta:
        verbose_name = _("block")
        verbose_name_plural = _("blocks")
        default_permissions = ()
        ordering = ["position"]
        constraints = [models.UniqueConstraint(fields=["version", "uuid"], name="front_block")]

    def __str__(self) -> str:
        return self.title or str(self.get_kind_display())

    @property
    def filling(self) -> Backfill:
        """What fills it up: nothing once its channel or tag is deleted, instead of unrelated articles."""
        key = {self.Backfill.CHANNEL: self.channel_id, self.Backfill.TAG: self.tag_id}
        return self.Backfill.NONE if key.get(self.Backfill(self.backfill), 1) is None else self.Backfill(self.backfill)


class CardQuerySet(models.QuerySet["Card"]):
    """Queries for cards. `now` is an aware datetime or `database_now()`."""

    def within_window(self, now: Instant) -> Self:
        """Cards that are to be shown at `now`."""
        return self.filter(Q(shows_from=None) | Q(shows_from__lte=now), Q(shows_until=None) | Q(shows_until__gt=now))

    def in_use(self, now: Instant) -> Self:
        """Cards of drafts, and of versions that readers get at `now` or will get."""
        live, versions = FrontVersion.objects.live(now), FrontVersion.objects.all()
        to_come = versions.exclude(Q(status=FrontVersion.Status.SCHEDULED) & Q(live_from__lte=now))
        recurring = FrontSeries.objects.filter(last__gt=now)
        used = Q(block__version__in=live) | Q(block__version__in=to_come)
        return self.filter(used | Q(block__version__in=recurring.values("version")))


class Card(Placed):
    """An article's place on a front, or a link, with the texts that readers see there instead of the article's.

    Its article has no constraint in the database, so that composing a front locks no article.
    """

    class Size(models.TextChoices):
        """How much room it takes in its block."""

        LARGE = "large", _("Large")
        NORMAL = "normal", _("Normal")
        SMALL = "small", _("Small")

    block = models.ForeignKey(Block, on_delete=models.CASCADE, related_name="cards")
    uuid = models.UUIDField(default=uuid4, help_text=_("The same in all versions."))
    position = models.PositiveIntegerField()
    article = models.ForeignKey(
        Article,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        db_constraint=False,
        related_name="cards",
        verbose_name=_("article"),
    )
    url = models.CharField(_("address"), max_length=ADDRESS_LENGTH, blank=True)
    headline = models.CharField(_("headline"), max_length=TITLE_LENGTH, blank=True)
    kicker = models.CharField(_("kicker"), max_length=LABEL_LENGTH, blank=True)
    summary = models.CharField(_("summary"), max_length=SUMMARY_LENGTH, blank=True)
    image = models.ForeignKey(
        Image, on_delete=models.SET_NULL, null=True, blank=True, related_name="+", verbose_name=_("image")
    )
    no_image = models.BooleanField(_("no image"), default=False)
    size = models.CharField(_("size"), max_length=10, choices=Size.choices, default=Size.NORMAL)
    shows_from = models.DateTimeField(_("shows from"), null=True, blank=True, db_index=True)
    shows_until = models.DateTimeField(_("shows until"), null=True, blank=True, db_index=True)
    sublinks = models.JSONField(_("sublinks"), default=list, blank=True)
    title = models.CharField(max_length=TITLE_LENGTH, blank=True, help_text=_("Stays if the article is deleted."))

    objects = CardQuerySet.as_manager()

    class Meta:
        verbose_name = _("card")
        verbose_name_plural = _("cards")
        default_permissions = ()
        ordering = ["position", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["block", "uuid"], name="front_card"),
            # Neither, once its article is deleted.
            models.CheckConstraint(condition=Q(article=None) | Q(url=""), name="front_card_is_one"),
        ]

    def __str__(self) -> str:
        return self.headline or self.title or self.url

    @property
    def linked(self) -> list[dict[str, Any]]:
        """The sublinks to articles."""
        return [link for link in self.sublinks if link.get("article")]
