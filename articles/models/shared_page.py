"""Shared pages: a page of the readers' site at an instant to come, without an account."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Self

from django.conf import settings
from django.core import signing
from django.db import models
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from articles.limits import ADDRESS_LENGTH, RECIPIENT_LENGTH
from articles.models.article import Instant

MOST_VISITS = 20
"""Visits of a link that are kept, the last: enough to see that others use it."""

_SIGNER = signing.Signer(sep=".", salt="articles.shared_page")


class SharedPageQuerySet(models.QuerySet["SharedPage"]):
    """Queries for shared pages."""

    def open_at(self, now: Instant) -> Self:
        """Those whose links are valid at `now`."""
        return self.filter(expires_at__gt=now, revoked_at__isnull=True)

    def signed(self, token: str) -> Self:
        """The one whose address ends in `token`; none if its signature is wrong."""
        try:
            return self.filter(pk=uuid.UUID(_SIGNER.unsign(token)))
        except (signing.BadSignature, ValueError):
            return self.none()


class SharedPage(models.Model):
    """A link to one page as readers will get it at one instant. It ends at its time, at that instant at the latest.

    It also ends when it is revoked, and with its creator's account and permissions; see
    `articles.publishing.shared_pages.is_sharer_authorised`.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    page = models.CharField(_("page"), max_length=ADDRESS_LENGTH, help_text=_("Path of the page, with its parameters."))
    at = models.DateTimeField(_("shown as of"))
    note = models.CharField(_("recipient"), max_length=RECIPIENT_LENGTH, blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)
    uses = models.PositiveIntegerField(default=0, help_text=_("How often it was opened."))
    last_used_at = models.DateTimeField(null=True)
    images = models.JSONField(default=list, help_text=_("IDs of the images on the page when it was last opened."))

    objects = SharedPageQuerySet.as_manager()

    class Meta:
        default_permissions = ()
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return self.note or self.page

    def get_absolute_url(self) -> str:
        """The address on the site; only this installation can make it, since it is signed."""
        return reverse("shared-page", kwargs={"token": _SIGNER.sign(str(self.pk))})

    def is_open_at(self, now: datetime) -> bool:
        """Whether its link is valid."""
        return self.revoked_at is None and self.expires_at > now


class SharedPageVisit(models.Model):
    """One opening of a link: when, and from which network. The last `MOST_VISITS` of a link are kept."""

    shared = models.ForeignKey(SharedPage, on_delete=models.CASCADE, related_name="visits")
    at = models.DateTimeField(_("time"))
    network = models.CharField(_("network"), max_length=43, blank=True, help_text=_("A shortened address."))

    class Meta:
        default_permissions = ()
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"{self.at} {self.network}"
