"""Notes of the newsroom on an article: threads about a passage or the whole article, never shown to readers."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Self

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from articles.limits import CONTEXT_LENGTH
from articles.models.article import Article


class NoteQuerySet(models.QuerySet["Note"]):
    """Queries for notes."""

    def threads(self) -> Self:
        """The first note of each thread, oldest first."""
        return self.filter(thread__isnull=True).order_by("created_at", "pk")


class Note(models.Model):
    """The first note of a thread, or a reply in one.

    The first note may quote a passage of the body, with the text around it, as a text quote selector of the W3C does.
    `articles.text.SearchedText` finds the passage in a later body.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    article = models.ForeignKey(Article, on_delete=models.CASCADE, related_name="notes", db_index=False)
    thread = models.ForeignKey("self", on_delete=models.CASCADE, null=True, related_name="replies")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    text = models.TextField(_("text"))
    quote = models.TextField(_("quote"), blank=True, help_text=_("The passage; empty for the whole article."))
    prefix = models.CharField(_("text before the quote"), max_length=CONTEXT_LENGTH, blank=True)
    suffix = models.CharField(_("text after the quote"), max_length=CONTEXT_LENGTH, blank=True)
    created_at = models.DateTimeField(_("created"))
    edited_at = models.DateTimeField(_("edited"), null=True)
    resolved_at = models.DateTimeField(_("resolved"), null=True)
    resolved_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")

    objects = NoteQuerySet.as_manager()

    class Meta:
        default_permissions = ()
        verbose_name = _("note")
        verbose_name_plural = _("notes")
        indexes = [models.Index(fields=["article", "created_at"], name="note_article")]

    def __str__(self) -> str:
        return self.text[:80]

    @property
    def changed_at(self) -> datetime:
        """When its text was last written."""
        return self.edited_at or self.created_at

    @property
    def is_resolved(self) -> bool:
        """Whether its thread is resolved; replies follow their thread."""
        return (self.thread or self).resolved_at is not None
