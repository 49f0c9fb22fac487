"""Admin of channels and tags."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext, gettext_lazy as _

from articles.desk.review.proposed_changes import SecondPersonScreens
from articles.exceptions import SensitiveText
from articles.models import Channel, Tag
from articles.permissions import reads_articles
from articles.publishing import NO_APPROVAL, delete_tag, may_change, rename_tag, save_channel
from articles.review import refuse_sensitive


class TaxonomyForm(forms.ModelForm):  # type: ignore[type-arg]
    """A channel or tag, whose texts readers see at once."""

    def clean(self) -> dict[str, Any] | None:
        """Refuse sensitive words."""
        cleaned = super().clean()
        for name in {"name", "description"} & {*self.changed_data} & self.cleaned_data.keys():
            try:
                refuse_sensitive(self.cleaned_data[name])
            except SensitiveText as refusal:
                self.add_error(name, str(refusal))
        return cleaned


@admin.register(Channel)
class ChannelAdmin(SecondPersonScreens):
    """Channels in site order, with article counts."""

    form = TaxonomyForm
    nothing_yet = _("Channels are the sections of the site, such as Politics.")
    list_display = ["name", "position", "enabled", "article_count"]
    list_editable = ["position", "enabled"]
    search_fields = ["name"]
    prepopulated_fields = {"slug": ["name"]}

    def get_queryset(self, request: HttpRequest) -> QuerySet[Channel]:
        channels: QuerySet[Channel] = super().get_queryset(request)
        return channels.annotate(number=Count("articles"))

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Save through the service, also from the list."""
        save_channel(obj, by=request.user)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Protected articles are named only to users who may see them."""
        shown, counts, permissions, protected = super().get_deleted_objects(objs, request)
        if protected and not reads_articles(request.user):
            shown, protected = [str(channel) for channel in objs], [gettext("articles you cannot see")]
        return shown, counts, permissions, protected

    @admin.display(description=_("articles"), ordering="number")
    def article_count(self, channel: Channel) -> int:
        """Number of articles of any status."""
        return channel.number  # type: ignore[attr-defined,no-any-return]


@admin.register(Tag)
class TagAdmin(SecondPersonScreens):
    """Tags by name."""

    form = TaxonomyForm
    nothing_yet = _("Tags connect articles across channels. Readers can follow them.")
    names_related = False
    list_display = ["name", "slug"]
    search_fields = ["name"]
    prepopulated_fields = {"slug": ["name"]}

    def has_change_permission(self, request: HttpRequest, obj: Tag | None = None) -> bool:
        """Tags of approved articles may be changed by reviewers only."""
        return super().has_change_permission(request, obj) and (obj is None or may_change(obj, request.user))

    def has_delete_permission(self, request: HttpRequest, obj: Tag | None = None) -> bool:
        """As for changing."""
        return super().has_delete_permission(request, obj) and (obj is None or may_change(obj, request.user))

    def get_prepopulated_fields(self, request: HttpRequest, obj: Tag | None = None) -> dict[str, Any]:
        """None for read-only users."""
        is_read = obj is not None and not self.has_change_permission(request, obj)
        return {} if is_read else dict(super().get_prepopulated_fields(request, obj))

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **options: Any) -> Any:
        """Explain why the tag is read-only."""
        tag = context.get("original")
        if tag is not None and not may_change(tag, request.user):
            self.message_user(request, NO_APPROVAL, messages.INFO)
        return super().render_change_form(request, context, *args, **options)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Save through the service, which checks permissions again."""
        if change:
            rename_tag(obj, name=obj.name, slug=obj.slug, by=request.user)
        else:
            super().save_model(request, obj, form, change)

    def delete_model(self, request: HttpRequest, obj: Tag) -> None:
        """Delete through the service."""
        delete_tag(obj, by=request.user)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Tag]) -> None:
        """Delete through the service, one by one."""
        for tag in queryset:
            delete_tag(tag, by=request.user)
