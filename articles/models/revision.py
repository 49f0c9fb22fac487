"""Revisions: the text of an article at each save."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NoReturn, Self

from django.apps import apps
from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from articles.limits import REASON_LENGTH, REVISION_NOTE_LENGTH, SLUG_LENGTH
from articles.models.base.timestamps import CreatedAtField
from articles.models.cover import Covered
from articles.models.image import Image
from articles.models.text import Text, TextLines

if TYPE_CHECKING:
    from articles.models.article import Article
    from articles.models.update import Update


def unless_pending(collector: Any, field: Any, sub_objs: Any, using: str) -> None:
    """Protect channels of pending updates from deletion; set the channel of older revisions to null."""
    update = apps.get_model("articles", "Update")
    named = update._default_manager.using(using).filter(Q(draft__in=sub_objs) | Q(approved__in=sub_objs))
    pending: set[models.Model] = {one.article for one in named.select_related("article")}
    if pending:
        raise models.ProtectedError(str(_("Pending updates use this channel.")), pending)
    models.SET_NULL(collector, field, sub_objs, using)


unless_pending.lazy_sub_objs = True  # type: ignore[attr-defined]  # as SET_NULL: the revisions are not loaded


CONTEXT_TIMES = ("publish_at", "unpublish_at", "embargo_until")


class Immutable(Exception):
    """A revision is never changed."""


def context_of(article: Article, text: Text, pending_update: Update | None = None) -> dict[str, Any]:
    """What readers see with `text` that is not part of it: times, author and the texts of images.

    An approval covers that too, so each revision stores it.
    """
    times = {name: _stored(getattr(article, name)) for name in CONTEXT_TIMES}
    images = Image.objects.named(text.shown)
    return {
        **times,
        "update_at": _stored(pending_update.publish_at) if pending_update else None,
        "author": article.author_id,
        "images": {str(one.pk): {name: getattr(one, name) for name in Image.SHOWN} for one in images},
    }


def _stored(moment: object) -> str | None:
    return moment.astimezone(UTC).isoformat() if isinstance(moment, datetime) else None


class RevisionQuerySet(models.QuerySet["Revision"]):
    """Revisions are added and read."""

    def add(
        self, article: Article, text: Text, *, author: Any = None, note: str = "", correction: str = ""
    ) -> Revision:
        """Store `text` as the next revision of `article`, whose row the caller has locked or just written."""
        last = self.filter(article=article).aggregate(last=models.Max("number"))["last"] or 0
        values = {"article": article, "number": last + 1, "author": author, "note": note, "correction": correction}
        revision = Revision.holding(text, context=context_of(article, text, article.pending_update), **values)
        revision.save()
        return revision

    def newest_first(self) -> Self:
        """Latest first."""
        return self.order_by("-number")

    def without_text(self) -> Self:
        """Without the long fields, for lists."""
        return self.defer("summary", "body")

    def update(self, **values: Any) -> NoReturn:
        """Refused. Raises `Immutable`."""
        raise Immutable

    def bulk_update(self, *args: Any, **options: Any) -> NoReturn:
        """Refused. Raises `Immutable`."""
        raise Immutable


class Revision(TextLines, Covered):
    """The text of an article at one save. Immutable; deleted only with its article."""

    article = models.ForeignKey(
        "articles.Article", on_delete=models.CASCADE, related_name="revisions", verbose_name=_("article")
    )
    number = models.PositiveIntegerField(_("number"))
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        related_name="+",
        verbose_name=_("saved by"),
    )
    created_at = CreatedAtField(_("saved at"))
    note = models.CharField(
        _("note"), max_length=REVISION_NOTE_LENGTH, blank=True, help_text=_("For the newsroom: what changed, and why.")
    )
    correction = models.CharField(
        _("correction"), max_length=REASON_LENGTH, blank=True, help_text=_("For readers: what was wrong before.")
    )
    digest = models.CharField(max_length=64)
    context = models.JSONField(
        null=True,
        editable=False,
        help_text=_("Times, author and image texts it was saved with; see `context_of`."),
    )

    slug = models.CharField(_("slug"), max_length=SLUG_LENGTH, blank=True)
    body = models.TextField(_("body"), blank=True)
    channel = models.ForeignKey(
        "articles.Channel", on_delete=unless_pending, null=True, related_name="+", verbose_name=_("channel")
    )
    tags = models.JSONField(_("tags"), default=list)

    objects = RevisionQuerySet.as_manager()

    class Meta:
        verbose_name = _("revision")
        verbose_name_plural = _("revisions")
        constraints = [models.UniqueConstraint(fields=["article", "number"], name="revision_number")]

    def __str__(self) -> str:
        return f"{self.title} ({self.number})"

    def save(self, *args: Any, **options: Any) -> None:
        """Store it. Raises `Immutable` if it is stored already."""
        if not self._state.adding:
            raise Immutable
        super().save(*args, **{**options, "force_insert": True})

    @classmethod
    def holding(cls, text: Text, **values: Any) -> Self:
        """A revision of `text` that is not stored yet."""
        return cls(**text.columns, tags=list(text.tags), digest=text.digest, **values)

    @property
    def text(self) -> Text:
        """Its text."""
        return Text(**{name: getattr(self, name) for name in Text.COLUMNS}, tags=tuple(self.tags))
