"""Admin of channels and tags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib import admin, messages
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext, gettext_lazy as _

from articles.desk.bounded import retried_view
from articles.desk.opened_form import OpenedForm
from articles.desk.review.proposed_changes import SecondPersonScreens
from articles.exceptions import MOST_LISTED, SensitiveText
from articles.models import Article, Channel, Front, Tag
from articles.permissions import reads_articles
from articles.publishing import NO_APPROVAL, delete_tag, may_change, rename_tag, save_channel
from articles.review import refuse_sensitive
from scheduling.database import lock_by_ids


class TaxonomyForm(OpenedForm):
    """A channel or tag, whose texts readers see at once."""

    def clean(self) -> dict[str, Any]:
        """Refuse sensitive words."""
        cleaned = super().clean()
        for name in {"name", "description"} & {*self.changed_data} & self.cleaned_data.keys():
            try:
                refuse_sensitive(cleaned[name])
            except SensitiveText as refusal:
                self.add_error(name, str(refusal))
        return cleaned


@admin.register(Channel)
class ChannelAdmin(SecondPersonScreens):
    """Channels in site order, with article counts."""

    form = TaxonomyForm
    names_related = False
    nothing_yet = _("Channels are the sections of the site, such as Politics.")
    list_display = ["name", "position", "enabled", "article_count"]
    list_editable = ["position", "enabled"]
    search_fields = ["name"]
    prepopulated_fields = {"slug": ["name"]}

    def get_queryset(self, request: HttpRequest) -> QuerySet[Channel]:
        channels: QuerySet[Channel] = super().get_queryset(request)
        return channels.annotate(number=Count("articles"))

    list_max_show_all = 100  #: rows, each with five fields; a form may have 1,000

    def get_changelist_form(self, request: HttpRequest, **options: Any) -> Any:
        """A row of the list leaves what others changed since it was opened, too."""
        return super().get_changelist_form(request, **{**options, "form": OpenedForm})

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        """What the list is compared with when it is saved stays until it is stored."""
        if request.method != "POST" or "_save" not in request.POST:
            return super().changelist_view(request, extra_context)
        return retried_view(self._locked_list, request, extra_context)()

    def _locked_list(self, request: HttpRequest, extra_context: Any) -> Any:
        list(lock_by_ids(Channel, Channel.objects.values_list("pk", flat=True)).values_list("pk"))
        return super().changelist_view(request, extra_context)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Save through the service, also from the list."""
        save_channel(obj, by=request.user)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """With the first articles that keep a channel, named only to users who may see them."""
        shown, counts, missing, _none = super().get_deleted_objects(objs, request)
        keys = [channel.pk for channel in objs]
        if Front.objects.filter(channel__in=keys).exists():
            missing = {*missing, Front._meta.verbose_name}  # no user may delete one
        articles = _articles_in(keys)
        if articles and not reads_articles(request.user):
            articles = [gettext("articles you cannot see")]
        return shown, counts, missing, articles

    @admin.display(description=_("articles"), ordering="number")
    def article_count(self, channel: Channel) -> int:
        """Number of articles of any status."""
        return channel.number  # type: ignore[attr-defined,no-any-return]


def _articles_in(channels: Sequence[int]) -> list[str]:
    """Links to the first articles in these channels, now or with their updates."""
    found: dict[int, str] = {}
    for name in ("channel", "update__draft__channel", "update__approved__channel"):
        articles = Article.objects.filter(**{f"{name}__in": channels}).order_by()
        found |= dict(articles.values_list("pk", "title")[: MOST_LISTED + 1])
    links = [
        format_html(
            '{}: <a href="{}">{}</a>', gettext("Article"), reverse("admin:articles_article_change", args=[pk]), title
        )
        for pk, title in found.items()
    ]
    return [*links[:MOST_LISTED], *(["…"] if len(links) > MOST_LISTED else [])]


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
