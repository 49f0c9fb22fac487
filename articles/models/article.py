"""The article model, and the query for live articles."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Self

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import F, OuterRef, Q
from django.db.models.expressions import Combinable
from django.utils.text import slugify
from django.utils.translation import gettext_lazy as _

from articles.addresses import page_address
from articles.limits import BODY_LENGTH, EXTERNAL_ID_LENGTH, REASON_LENGTH, SLUG_LENGTH
from articles.models.base.last_modified import Dated, DatedQuerySet
from articles.models.base.text_language import LanguageField
from articles.models.base.timestamps import ChangedAtField, CreatedAtField
from articles.models.cover import Covered
from articles.models.revision import Revision, context_of
from articles.models.text import Text, TextLines
from articles.models.translatable import TranslatableField
from scheduling.database import in_any, lock_by_ids, retried
from scheduling.fields import ExactCharField

if TYPE_CHECKING:
    from articles.models.update import Update

Instant = datetime | Combinable
"""A point in time for SQL: an aware datetime, or an expression such as `database_now()`."""

AT_RISK_WITHIN = timedelta(hours=24)
"""How long before its time an unapproved article counts as at risk."""


NEWEST_FIRST = ("-goes_live_at", "-id")
"""The order of readers' lists."""


class ArticleQuerySet(DatedQuerySet["Article"]):
    """Queries for articles. `now` is an aware datetime or `database_now()`."""

    def live(self, now: Instant) -> Self:
        """The articles that readers may see at `now`, whether or not a worker has stored that they are live."""
        return self.filter(due_at(now), not_over_at(now), status__in=Article.Status.visible())

    def retracted(self) -> Self:
        """Retracted articles that were live before; readers see the retraction notice."""
        return self.filter(status=Article.Status.RETRACTED, published_at__isnull=False)

    def at_risk(self, now: datetime) -> Self:
        """Unapproved articles whose time is within `AT_RISK_WITHIN`."""
        return self.filter(
            status__in=Article.Status.unapproved(), goes_live_at__gt=now, goes_live_at__lte=now + AT_RISK_WITHIN
        )

    def unapproved_past_time(self, now: datetime) -> Self:
        """Articles that are not approved though their time is past."""
        return self.filter(due_at(now), status__in=Article.Status.unapproved())

    def needing_review(self) -> Self:
        """Articles and updates that a reviewer has to decide; both are found by their own index."""
        own, updates = Article.objects.new_needing_review(), Article.objects.updates_needing_review()
        return self.filter(pk__in=in_any(own.values("pk"), updates.values("pk")))

    def new_needing_review(self) -> Self:
        """Articles that were not approved yet and that a reviewer has to decide."""
        return self.filter(status=Article.Status.MANUAL_REVIEW)

    def updates_needing_review(self) -> Self:
        """Articles with an update that a reviewer has to decide."""
        return self.filter(update__draft__isnull=False, update__status=Article.Status.MANUAL_REVIEW)

    def tagged(self, tag: int | OuterRef) -> Self:
        """Articles with this tag; the newest are found by an index of `Tagging`."""
        return self.filter(taggings__tag=tag, taggings__goes_live_at=F("goes_live_at"))

    def signed_by(self, author_id: int | OuterRef) -> Self:
        """Articles that show this author's name to readers: without a byline, and only if the author has a name."""
        return self.filter(author=author_id, byline="").exclude(author__first_name="", author__last_name="")

    def of_user(self, user_id: int | None) -> Self:
        """Articles that the user writes or owns; each column is found by its own index."""
        mine = (Article.objects.filter(**{name: user_id}).values("pk") for name in ("author", "owner"))
        return self.filter(pk__in=in_any(*mine))

    def newest_first(self) -> Self:
        """Those that went live last first."""
        return self.order_by(*NEWEST_FIRST)

    @retried
    def delete(self) -> tuple[int, dict[str, int]]:
        """Delete them; they are locked, so that no revision is added between collecting related rows and deleting."""
        list(lock_by_ids(Article, list(self.values_list("pk", flat=True))).values_list("pk"))
        return super().delete()

    delete.alters_data = True  # type: ignore[attr-defined]
    delete.queryset_only = True  # type: ignore[attr-defined]


def due_at(now: Instant) -> Q:
    """Whether the time to go live has come, and no embargo applies."""
    return Q(goes_live_at__lte=now)


def not_over_at(now: Instant) -> Q:
    """Whether the time to be unpublished has not come."""
    return Q(unpublish_at__isnull=True) | Q(unpublish_at__gt=now)


def over_at(now: Instant) -> Q:
    """Whether the time to be unpublished has come."""
    return Q(unpublish_at__lte=now)


class Article(TextLines, Covered, Dated):
    """An article in any status.

    The columns hold the text that readers see once its time has come. Once it is approved, a new text is stored in its
    `Update`. Every save or deletion syncs its tasks in the same transaction, see
    `articles.publishing.reconcile`.
    """

    class Status(models.IntegerChoices):
        """The status of an article; `articles.workflow` has the transitions."""

        DRAFT = 0, _("Draft")
        SUBMITTED = 1, _("In review")
        REJECTED = 2, _("Rejected")
        MANUAL_REVIEW = 3, _("Needs review")
        MANUALLY_APPROVED = 4, _("Approved")
        APPROVED = 8, _("Approved")
        PUBLISHED = 9, _("Published")
        UNPUBLISHED = 10, _("Unpublished")
        RETRACTED = 11, _("Retracted")

        @classmethod
        def waiting(cls) -> tuple[Article.Status, ...]:
            """Approved, and waiting for its time."""
            return cls.MANUALLY_APPROVED, cls.APPROVED

        @classmethod
        def unapproved(cls) -> tuple[Article.Status, ...]:
            """Not approved yet: it does not go live, whatever its time."""
            return cls.DRAFT, cls.SUBMITTED, cls.REJECTED, cls.MANUAL_REVIEW

        @classmethod
        def in_review(cls) -> tuple[Article.Status, ...]:
            """The automatic review or a reviewer has to decide."""
            return cls.SUBMITTED, cls.MANUAL_REVIEW

        @classmethod
        def visible(cls) -> tuple[Article.Status, ...]:
            """Shown to readers once its time has come."""
            return cls.MANUALLY_APPROVED, cls.APPROVED, cls.PUBLISHED

        @classmethod
        def passed(cls) -> tuple[Article.Status, ...]:
            """Its text was approved; a new text needs its own approval."""
            return *cls.visible(), cls.UNPUBLISHED

    slug = models.SlugField(
        _("slug"),
        max_length=SLUG_LENGTH,
        allow_unicode=True,
        blank=True,
        db_index=False,  # articles are found by their ids
        help_text=_("The last part of the URL. Leave empty to create it from the headline."),
    )
    body = models.TextField(_("body"), blank=True, max_length=BODY_LENGTH)
    language = LanguageField(verbose_name=_("language"))
    channel = models.ForeignKey(
        "articles.Channel",
        on_delete=models.PROTECT,
        related_name="articles",
        verbose_name=_("channel"),
        null=True,
        blank=True,
    )
    tags = models.ManyToManyField("articles.Tag", related_name="articles", blank=True, verbose_name=_("tags"))
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="articles",
        verbose_name=_("author"),
    )
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="owned_articles",
        verbose_name=_("owner"),
        help_text=_("Who has to finish it. Readers never see this."),
    )
    due_at = models.DateTimeField(
        _("due"), null=True, blank=True, help_text=_("When the owner has to be ready. Readers never see this.")
    )
    status = models.SmallIntegerField(_("status"), choices=Status.choices, default=Status.DRAFT)
    status_reason = TranslatableField(_("reason"), max_length=REASON_LENGTH, blank=True)
    publish_at = models.DateTimeField(_("publish at"), null=True, blank=True)
    unpublish_at = models.DateTimeField(_("unpublish at"), null=True, blank=True)
    embargo_until = models.DateTimeField(_("embargo until"), null=True, blank=True)
    published_at = models.DateTimeField(
        _("went live"), null=True, blank=True, editable=False, help_text=_("From when readers could see it.")
    )
    revision = models.PositiveIntegerField(
        _("revision"), default=0, editable=False, help_text=_("Number of the current revision.")
    )
    retraction_notice = models.CharField(
        _("retraction notice"),
        max_length=REASON_LENGTH,
        blank=True,
        editable=False,
        help_text=_("Retraction notice shown to readers."),
    )
    external_id = ExactCharField(  # noqa: DJ001 (unique unless null)
        _("external id"), max_length=EXTERNAL_ID_LENGTH, null=True, blank=True, unique=True, editable=False
    )
    external_digest = models.CharField(
        max_length=40, blank=True, default="", editable=False, help_text=_("Digest of the last import.")
    )
    created_at = CreatedAtField(_("created"))
    updated_at = ChangedAtField(_("last modified"))

    objects = ArticleQuerySet.as_manager()

    class Meta:
        verbose_name = _("article")
        verbose_name_plural = _("articles")
        permissions = [
            ("edit_any_article", _("Can edit the articles of others")),
            ("review_article", _("Can approve and reject articles")),
            ("schedule_article", _("Can schedule articles")),
            ("publish_article", _("Can publish, unpublish and republish articles")),
            ("lift_embargo", _("Can set and lift embargoes")),
            ("retract_article", _("Can retract articles, and undo that")),
        ]
        # The foreign keys have indexes of their own: by one with `publish_at` in it, MariaDB would lock the row of the
        # author or channel whenever the time changes.
        indexes = [
            models.Index(fields=["status", "goes_live_at"], name="article_by_status"),
            models.Index(fields=["status", "unpublish_at"], name="article_leaving"),
            models.Index(fields=["goes_live_at", "id"], name="article_by_time"),
            models.Index(fields=["updated_at"], name="article_changed"),
            models.Index(fields=["text_changed_at"], name="article_text_changed"),
            models.Index(fields=["channel", "goes_live_at", "id"], name="article_by_channel"),
            models.Index(fields=["author", "goes_live_at", "id"], name="article_by_author"),
            models.Index(fields=["language", "goes_live_at", "id"], name="article_by_language"),
            models.Index(fields=["channel", "language", "goes_live_at", "id"], name="article_by_both"),
        ]

    def __str__(self) -> str:
        return self.title

    def save(self, *args: Any, **options: Any) -> None:
        """Save, sync the article's tasks and, if the text changed, store it as a revision, in one transaction."""
        before, was_new = self.snapshot(), self._state.adding

        def attempt() -> None:
            self.__dict__.update(before)
            self._state.adding = was_new
            self.save_in_transaction(*args, **options)

        retried(attempt)()

    def save_in_transaction(self, *args: Any, revise: bool = True, **options: Any) -> None:
        """The same in a transaction of the caller, who stores the revision without `revise`."""
        is_new = self._state.adding
        if is_new:
            self.slug = self.slug or slugify(self.title, allow_unicode=True)[:SLUG_LENGTH].strip("-")
            self.revision = int(revise)
        has_new_text = is_new or self._changes_text(options.get("update_fields"))
        if has_new_text:
            self.choose_cover()
            if options.get("update_fields") is not None:
                options["update_fields"] = {*options["update_fields"], "cover"}
        super().save(*args, **options)
        if revise and is_new:
            text = Text.of(self, tags=())
            values = {"article": self, "number": 1, "author": self.author, "context": context_of(self, text)}
            Revision.holding(text, **values).save()
        elif revise and has_new_text:
            self.holds(Revision.objects.add(self, Text.of(self)))

    def delete(self, *args: Any, **options: Any) -> tuple[int, dict[str, int]]:
        """Delete it as it is stored; it is locked before related rows are collected."""
        pk = self.pk

        def attempt() -> tuple[int, dict[str, int]]:
            self.pk = pk  # an earlier attempt has deleted it
            with suppress(Article.DoesNotExist):
                self.refresh_from_db(from_queryset=lock_by_ids(Article, [pk]))
            return super(Article, self).delete(*args, **options)

        return retried(attempt)()

    def holds(self, revision: Revision) -> None:
        """Note that the columns have the text of `revision`."""
        self.revision = revision.number
        Article.objects.filter(pk=self.pk).update(revision=revision.number)
        self.remember("revision", revision.number)

    def _changes_text(self, update_fields: Any) -> bool:
        fields = self.changed_fields() if update_fields is None else update_fields
        return not Text.NAMES.isdisjoint(fields)

    def get_absolute_url(self) -> str:
        """The article's page on the site."""
        return page_address("article", pk=self.pk, slug=self.address_slug)

    def clean(self) -> None:
        """Refuse a time to be unpublished that is not after the time to go live."""
        if self.unpublish_at and self.goes_live_at and self.unpublish_at <= self.goes_live_at:
            raise ValidationError(_("The article would be unpublished before it goes live."))

    @property
    def address_slug(self) -> str:
        """The last part of the page's address, which is never empty."""
        return self.slug or "-"

    @property
    def signed(self) -> str:
        """The byline or the author's name, as readers see it; empty without one."""
        return self.byline or (self.author.get_full_name() if self.author else "")

    @property
    def pending_update(self) -> Update | None:
        """The pending update; None without one."""
        return getattr(self, "update", None)

    @property
    def changed_at(self) -> datetime:
        """When the newsroom last changed it or its update."""
        return max(self.updated_at, self.pending_update.updated_at) if self.pending_update else self.updated_at

    def is_out_at(self, now: datetime) -> bool:
        """Whether it is live, even if no worker has stored that yet."""
        due, end = self.goes_live_at, self.unpublish_at
        return self.status in self.Status.visible() and due is not None and due <= now and (end is None or end > now)

    def is_over_at(self, now: datetime) -> bool:
        """Whether its time to be unpublished is past, even if no worker has stored that yet."""
        due, end = self.goes_live_at, self.unpublish_at
        return self.status in self.Status.visible() and due is not None and end is not None and end <= now

    def seen_since(self, now: datetime) -> datetime | None:
        """From when readers could see it, by the clock; None if they never could until `now`."""
        due, end = self.goes_live_at, self.unpublish_at
        if self.status not in self.Status.visible() or due is None:
            return self.published_at
        return due if due <= now and (end is None or due < end) else self.published_at

    def is_late_at(self, now: datetime) -> bool:
        """Whether its owner's time is past and it is not approved."""
        return self.due_at is not None and self.due_at <= now and self.status in self.Status.unapproved()
