"""Admin of a user's own notifications and notification preferences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.forms.boundfield import BoundWidget
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext, gettext_lazy as _
from django.views.decorators.http import require_POST
from unfold.admin import ModelAdmin
from unfold.decorators import action, display
from unfold.widgets import CHECKBOX_CLASSES

from articles.desk.bounded import one_at_a_time
from articles.models import Notification, NotificationPreference
from articles.permissions import reads_articles
from articles.text import format_time
from scheduling.database import CappedPaginator, database_now

Kind = Notification.Kind
F = TypeVar("F", bound=Callable[..., Any])

BADGES = {
    Kind.SUBMITTED: "info",
    Kind.REJECTED: "warning",
    Kind.APPROVED: "primary",
    Kind.PUBLISHED: "success",
    Kind.FAILED: "danger",
    Kind.OVERDUE: "danger",
    Kind.PULLED_BACK: "warning",
    Kind.ROLLED_BACK: "warning",
    Kind.MENTIONED: "info",
    Kind.NOTED: "default",
    Kind.ASSIGNED: "info",
    Kind.PROPOSED: "info",
}


NAMING = ("article_title", "reason")
"""The columns that name articles."""


def button(label: Any, path: str, icon: str) -> Callable[[F], F]:
    """A button above the list for every user."""
    return cast(Any, action)(description=label, url_path=path, icon=icon, permissions=["view"])  # type: ignore[no-any-return]


def unread_count(request: HttpRequest) -> int:
    """Number of unread notifications."""
    return Notification.objects.in_desk_of(request.user).unread().count()


class Boxes(forms.CheckboxSelectMultiple):
    """Checkboxes in unfold's style."""

    def __init__(self) -> None:
        super().__init__({"class": " ".join(CHECKBOX_CLASSES)})


class ChoiceForm(forms.ModelForm):  # type: ignore[type-arg]
    """Notification preferences: in the admin and by mail."""

    desk = forms.MultipleChoiceField(label=_("In app"), choices=Kind.choices, required=False, widget=Boxes)
    mail = forms.MultipleChoiceField(label=_("By mail"), choices=Kind.choices, required=False, widget=Boxes)

    class Meta:
        model = NotificationPreference
        fields = ["desk", "mail"]

    def rows(self) -> list[tuple[str, BoundWidget, BoundWidget]]:
        """Kinds of notifications with their two checkboxes."""
        boxes = zip(self["desk"].subwidgets, self["mail"].subwidgets, strict=True)
        return [(desk.choice_label, desk, mail) for desk, mail in boxes]


@admin.register(Notification)
class NotificationAdmin(ModelAdmin):
    """The user's own notifications, latest first; opening one marks it read and redirects to its object."""

    nothing_yet = _("Updates and problems concerning your articles appear here.")
    actions = ["mark_read"]
    actions_list = ["choose"]  # type: ignore[assignment]
    list_before_template = "articles/desk/notifications_before.html"  # type: ignore[assignment]
    list_display = ["article_title", "badge", "reason", "moment", "is_new"]
    list_filter = ["kind", ("read_at", admin.EmptyFieldListFilter)]
    list_per_page = 50
    ordering = ["-at"]
    paginator = CappedPaginator
    show_full_result_count = False

    def get_urls(self) -> list[URLPattern]:
        """With the URL that marks all as read."""
        view = self.admin_site.admin_view(require_POST(self.mark_all_read))
        return [path("read/", view, name="articles_notification_read"), *super().get_urls()]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        """With a "Mark all as read" button while any are unread."""
        context: dict[str, Any] = {"unread": unread_count(request), **(extra_context or {})}
        return super().changelist_view(request, context)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Notification]:
        """The user's own in-app notifications."""
        notifications: QuerySet[Notification] = super().get_queryset(request)
        return notifications.filter(user=request.user.pk, in_desk=True)

    def get_list_display(self, request: HttpRequest) -> Any:
        """Without headlines and reasons for users who have lost their role."""
        columns = [*super().get_list_display(request)]
        return columns if reads_articles(request.user) else [name for name in columns if name not in NAMING]

    @display(label={kind.value: colour for kind, colour in BADGES.items()})
    @admin.display(description=_("about"), ordering="kind")
    def badge(self, notification: Notification) -> tuple[str, str]:
        """The kind with its colour."""
        return notification.kind, notification.get_kind_display()

    @admin.display(description=_("time"), ordering="at")
    def moment(self, notification: Notification) -> str:
        return format_time(notification.at)

    @display(label={"new": "primary"})
    @admin.display(description=_("new"), ordering="read_at", empty_value="")
    def is_new(self, notification: Notification) -> tuple[str, str] | None:
        """Whether it is unread."""
        return ("new", gettext("new")) if notification.read_at is None else None

    @admin.action(description=_("Mark as read"), permissions=["view"])
    def mark_read(self, request: HttpRequest, chosen: QuerySet[Notification]) -> None:
        """Mark the selected ones as read."""
        chosen.filter(read_at=None).update(read_at=database_now())

    def mark_all_read(self, request: HttpRequest) -> HttpResponse:
        """Mark all as read."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        self.mark_read(request, self.get_queryset(request))
        return redirect("admin:articles_notification_changelist")

    @button(_("Notification preferences"), "choices", "tune")
    @one_at_a_time
    def choose(self, request: HttpRequest) -> HttpResponse:
        """Show and save the preferences."""
        choice = NotificationPreference.objects.filter(pk=request.user.pk).first() or NotificationPreference(
            pk=request.user.pk
        )
        form = ChoiceForm(request.POST or None, instance=choice)
        if request.method == "POST" and form.is_valid():
            form.save()
            self.message_user(request, gettext("Your preferences are saved."), messages.SUCCESS)
            return redirect("admin:articles_notification_changelist")
        context = {
            **self.admin_site.each_context(request),
            "title": gettext("Choose which notifications you receive, and how."),
            "form": form,
            "opts": self.model._meta,
            "has_address": bool(getattr(request.user, "email", "")),
        }
        return TemplateResponse(request, "articles/desk/notification_preference.html", context)

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **options: Any) -> HttpResponse:
        """Mark it read, and redirect to its object."""
        notification = self.get_object(request, object_id)
        if notification is None:
            return redirect("admin:articles_notification_changelist")
        self.mark_read(request, self.get_queryset(request).filter(pk=notification.pk))
        if notification.kind == Kind.PROPOSED:
            return redirect("desk_proposed_changes")
        if notification.release_id is not None:
            return redirect("admin:articles_release_change", notification.release_id)
        if notification.article_id is None:
            self.message_user(request, gettext("The object of this notification has been deleted."), messages.WARNING)
            return redirect("admin:articles_notification_changelist")
        name = "queuedarticle" if notification.kind == Kind.SUBMITTED else "article"
        address = reverse(f"admin:articles_{name}_change", args=[notification.article_id])
        return redirect(f"{address}#notes" if notification.is_about_note else address)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_active and request.user.is_staff)

    def has_view_permission(self, request: HttpRequest, obj: Notification | None = None) -> bool:
        """Own notifications only, see `get_queryset`."""
        return self.has_module_permission(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Notification | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Notification | None = None) -> bool:
        return False
