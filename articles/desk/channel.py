"""The editors' screens for channels and tags."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin

from articles.models import Channel, Tag
from articles.services.rights import reads_articles


@admin.register(Channel)
class ChannelAdmin(ModelAdmin):
    """Channels in the site's order, with the number of their articles."""

    nothing_yet = _("Channels are the sections of the site, such as Politics.")
    list_display = ["name", "position", "enabled", "article_count"]
    list_editable = ["position", "enabled"]
    search_fields = ["name"]
    prepopulated_fields = {"slug": ["name"]}

    def get_queryset(self, request: HttpRequest) -> QuerySet[Channel]:
        """With the number of articles."""
        channels: QuerySet[Channel] = super().get_queryset(request)
        return channels.annotate(number=Count("articles"))

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """The articles that keep a channel are named to who may see them."""
        shown, counts, permissions, protected = super().get_deleted_objects(objs, request)
        if protected and not reads_articles(request.user):
            shown, protected = [str(channel) for channel in objs], [gettext("articles that you may not see")]
        return shown, counts, permissions, protected

    @admin.display(description=_("articles"), ordering="number")
    def article_count(self, channel: Channel) -> int:
        """How many articles are in it, whatever their status."""
        return channel.number  # type: ignore[attr-defined,no-any-return]


@admin.register(Tag)
class TagAdmin(ModelAdmin):
    """Tags by name."""

    nothing_yet = _("Tags tie articles together across channels; readers can follow them.")
    list_display = ["name", "slug"]
    search_fields = ["name"]
    prepopulated_fields = {"slug": ["name"]}
