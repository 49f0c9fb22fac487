"""Saved views: filters, search and order of the list of articles, under a name."""

from __future__ import annotations

from typing import Any, Self

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from articles.limits import VIEW_NAME_LENGTH, VIEW_QUERY_LENGTH
from articles.models.names import NameField


class SavedViewQuerySet(models.QuerySet["SavedView"]):
    """Queries for saved views."""

    def of(self, user: Any) -> Self:
        """Those of a user, in that user's order."""
        return self.filter(owner=user.pk).order_by("position", "pk")

    def shown_to(self, user: Any) -> list[SavedView]:
        """Those of a user in that user's order, then those that others share, by name."""
        views = self.filter(Q(owner=user.pk) | Q(shared=True)).select_related("owner")
        return sorted(views, key=lambda view: (view.owner_id != user.pk, *view.cursor_for(user)))


class SavedView(models.Model):
    """A named list of articles."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="article_views")
    name = NameField(_("name"), max_length=VIEW_NAME_LENGTH)
    query = models.CharField(max_length=VIEW_QUERY_LENGTH, help_text=_("Query string of the list."))
    shared = models.BooleanField(_("shared with newsroom"), default=False)
    position = models.PositiveIntegerField(default=0)

    objects = SavedViewQuerySet.as_manager()

    class Meta:
        default_permissions = ()
        verbose_name = _("saved view")
        verbose_name_plural = _("saved views")
        constraints = [models.UniqueConstraint(fields=["owner", "name"], name="saved_view_name")]

    def __str__(self) -> str:
        return str(self.name)

    def cursor_for(self, user: Any) -> tuple[int, str]:
        """Its sort key among its owner's views, or among shared ones."""
        return (self.position, self.name) if self.owner_id == user.pk else (0, self.name.lower())
