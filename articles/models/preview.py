"""Preview links: reading a text before it is published, without an account."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Self

from django.conf import settings
from django.core import signing
from django.db import models
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from articles.limits import RECIPIENT_LENGTH
from articles.models.article import Article, Instant
from articles.models.revision import Revision

_SIGNER = signing.Signer(sep=".", salt="articles.preview")


class PreviewLinkQuerySet(models.QuerySet["PreviewLink"]):
    """Queries for preview links."""

    def open_at(self, now: Instant) -> Self:
        """Those that are valid at `now`."""
        retracted = Article.Status.RETRACTED
        return self.filter(expires_at__gt=now, revoked_at__isnull=True).exclude(article__status=retracted)

    def with_text(self) -> Self:
        """With the rows that their text needs."""
        return self.select_related("article__channel", "article__author", "article__update", "revision")

    def signed(self, token: str) -> Self:
        """The one whose address ends in `token`; none if its signature is wrong."""
        try:
            return self.filter(pk=uuid.UUID(_SIGNER.unsign(token)))
        except (signing.BadSignature, ValueError):
            return self.none()


class PreviewLink(models.Model):
    """A link to an article's text. It ends at its time, when it is revoked, and when the article is retracted.

    It also ends with its creator's account and permissions; see `articles.publishing.previews.is_creator_authorised`.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    article = models.ForeignKey(Article, on_delete=models.CASCADE, related_name="preview_links")
    revision = models.ForeignKey(
        Revision, on_delete=models.CASCADE, null=True, related_name="+", help_text=_("Empty: always the newest text.")
    )
    note = models.CharField(_("recipient"), max_length=RECIPIENT_LENGTH, blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)

    objects = PreviewLinkQuerySet.as_manager()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return self.note or str(self.pk)

    def get_absolute_url(self) -> str:
        """The address on the site; only this installation can make it, since it is signed."""
        return reverse("preview", kwargs={"token": _SIGNER.sign(str(self.pk))})

    def is_open_at(self, now: datetime) -> bool:
        """Whether it is valid."""
        return self.revoked_at is None and self.expires_at > now
