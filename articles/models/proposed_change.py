"""Changes of texts for readers that wait for a second person: an alt text, a channel's name, a retraction notice."""

from __future__ import annotations

from typing import Any, Self

from django.db import models
from django.utils.translation import gettext_lazy as _

from articles.limits import TITLE_LENGTH


class ProposedChangeQuerySet(models.QuerySet["ProposedChange"]):
    """Queries for proposed changes."""

    def of(self, subject: str, pk: Any) -> Self:
        """The one of this object, if there is one."""
        return self.filter(subject=subject, subject_id=str(pk))


class ProposedChange(models.Model):
    """What one person has changed and readers do not see yet: one row for an object, deleted once it is decided.

    It has no foreign keys, as its object is of one of several models. The audit log keeps what was proposed
    and decided.
    """

    class Subject(models.TextChoices):
        """What is changed."""

        ARTICLE = "article", _("Article")
        CHANNEL = "channel", _("Channel")
        TAG = "tag", _("Tag")
        IMAGE = "image", _("Image")
        USER = "user", _("Author")
        ALERT = "alert", _("Breaking alert")
        FRONT = "front", _("Front version")

    subject = models.CharField(_("kind"), max_length=10, choices=Subject.choices)
    subject_id = models.CharField(max_length=36)
    name = models.CharField(_("name"), max_length=TITLE_LENGTH)
    values = models.JSONField(help_text=_("Field to proposed value."))
    proposed_by = models.JSONField(default=list, help_text=_("IDs of its writers; none of them may approve."))
    proposed_at = models.DateTimeField(_("proposed"))

    objects = ProposedChangeQuerySet.as_manager()

    class Meta:
        verbose_name = _("proposed change")
        verbose_name_plural = _("proposed changes")
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["subject", "subject_id"], name="proposed_change")]

    def __str__(self) -> str:
        return f"{self.subject}: {self.subject_id}"
