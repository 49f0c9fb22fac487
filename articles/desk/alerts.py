"""Admin of breaking alerts, and their line in the article editor."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext, gettext_lazy, ngettext
from django.views.decorators.http import require_POST
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget, UnfoldBooleanSwitchWidget

from articles.alerts import delete_alert, may_delete_alert, save_alert
from articles.desk.articles.forms import LineFormField
from articles.desk.autocomplete import ChoosingScreens
from articles.desk.opened_form import OpenedForm
from articles.desk.parse import number_or_zero
from articles.desk.review.proposed_changes import SecondPersonScreens
from articles.desk.time_field import ZonedTimeField
from articles.exceptions import AlertTaken, ArticleError
from articles.limits import ALERT_LENGTH
from articles.models import DURATION, MINUTES, Alert, Article, minutes_of
from articles.pages import newest_text
from articles.permissions import PUBLISH, allows, reads_articles
from articles.push import plan_of, push_now
from articles.review import waits
from articles.text import format_time
from scheduling.database import database_now, lock_by_ids


class MinutesField(forms.TypedChoiceField):
    """One of the durations that are offered, in minutes."""

    def prepare_value(self, value: Any) -> Any:
        """Minutes."""
        return minutes_of(value) if isinstance(value, timedelta) else value


def _duration(value: Any) -> timedelta:
    return value if isinstance(value, timedelta) else timedelta(minutes=int(value))


class AlertForm(OpenedForm):
    """A breaking alert."""

    text = LineFormField(
        label=gettext_lazy("Text"),
        max_length=ALERT_LENGTH,
        widget=UnfoldAdminTextInputWidget,
        help_text=gettext_lazy("What readers see at the bottom of every page, with a link to the article."),
    )
    starts_at = ZonedTimeField(
        label=gettext_lazy("Shown from"),
        required=False,
        help_text=gettext_lazy("Empty: from the moment at which the article goes live. Never before it."),
    )
    lasts = MinutesField(
        label=gettext_lazy("Shown for"),
        coerce=_duration,
        choices=lambda: [(minutes, _in_words(minutes)) for minutes in MINUTES],
        widget=UnfoldAdminSelectWidget,
    )

    push = forms.BooleanField(
        label=gettext_lazy("Push"),
        required=False,
        widget=UnfoldBooleanSwitchWidget,
        help_text=gettext_lazy("Readers who want it are notified once, when the article goes live."),
    )
    in_quiet_hours = forms.BooleanField(
        label=gettext_lazy("Push in quiet hours"),
        required=False,
        widget=UnfoldBooleanSwitchWidget,
        help_text=gettext_lazy("Only the editor-in-chief may turn this on: otherwise none is sent then."),
    )

    enabled = forms.BooleanField(
        label=gettext_lazy("Enabled"),
        required=False,
        initial=True,
        widget=UnfoldBooleanSwitchWidget,
        help_text=gettext_lazy("Readers see it when its time comes."),
    )

    class Meta:
        model = Alert
        fields = ["article", "text", "starts_at", "lasts", "push", "in_quiet_hours", "enabled"]
        error_messages = {"article": {"unique": AlertTaken.message}}  # noqa: RUF012 (Django's own form)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if self.instance.pk and waits(self.instance):
            self.initial["enabled"] = True

    def values(self) -> dict[str, Any]:
        """What is to be stored: all of a new alert, what was changed of another."""
        names = self.changed_data if self.instance.pk else self.fields
        return {name: self.cleaned_data[name] for name in names if name != "article"}


def _in_words(minutes: int) -> str:
    return ngettext("%d minute", "%d minutes", minutes) % minutes


@admin.register(Alert)
class AlertAdmin(ChoosingScreens, SecondPersonScreens):  # type: ignore[misc]
    """Breaking alerts, latest first, for users who may publish."""

    form = AlertForm
    nothing_yet = gettext_lazy("A breaking alert is a line on every page of the site, from the moment of an article.")
    autocomplete_fields = ["article"]
    list_display = ["text", "state", "from_when", "until_when", "headline"]
    list_select_related = ["article"]
    search_fields = ["text"]
    list_per_page = 50
    change_form_outer_after_template = "articles/desk/alerts/push.html"  # type: ignore[assignment]

    def get_urls(self) -> list[URLPattern]:
        """With the URL that pushes an alert."""
        view = self.admin_site.admin_view(require_POST(self.push))
        return [path("<int:pk>/push/", view, name="articles_alert_push"), *super().get_urls()]

    def push(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Push the alert once more, after the push and with the text that the form has shown."""
        alert = get_object_or_404(Alert, pk=pk)
        if not self.has_change_permission(request, alert):
            raise PermissionDenied
        try:
            after, text = number_or_zero(request.POST.get("after", "")), request.POST.get("text")
            push_now(alert, after=after, text=text, by=request.user)
            self.message_user(request, gettext("The push is on its way; reload the page to see who got it."))
        except ArticleError as refusal:
            self.message_user(request, str(refusal), messages.ERROR)
        return redirect("admin:articles_alert_change", pk)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """With the preview, and what has become of its push."""
        alert: Any = self.get_queryset(request).filter(pk=number_or_zero(object_id)).select_related("article").first()
        more = {"alert": alert, "plan": plan_of(alert, alert.article)} if alert is not None else {}
        page: HttpResponse = super().change_view(request, object_id, form_url, {**(extra_context or {}), **more})
        return page

    def get_readonly_fields(self, request: HttpRequest, obj: Alert | None = None) -> list[str]:
        """An alert stays with its article."""
        return ["article"] if obj else []

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """With `?article=`, the headline of that article."""
        article = Article.objects.filter(pk=number_or_zero(request.GET.get("article", ""))).first()
        initial = {"lasts": minutes_of(DURATION)}
        return initial if article is None else initial | {"article": article.pk, "text": _headline(article)}

    def has_view_permission(self, request: HttpRequest, obj: Alert | None = None) -> bool:
        """Users who may publish."""
        return allows(PUBLISH, request.user) and reads_articles(request.user)

    has_add_permission = has_change_permission = has_view_permission

    def has_delete_permission(self, request: HttpRequest, obj: Alert | None = None) -> bool:
        """Also users who may delete its article, and it with that."""
        return may_delete_alert(request.user)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Alert]:
        """With the state of each at the same instant."""
        alerts: QuerySet[Alert] = Alert.objects.state_at(database_now())
        return alerts.order_by(*self.get_ordering(request))

    def lock_row(self, pk: Any) -> Alert | None:
        """After its article, as everywhere."""
        lock_by_ids(Article, Alert.objects.filter(pk=pk).values_list("article", flat=True)).exists()
        found: Alert | None = super().lock_row(pk)
        return found

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Save through the service."""
        obj.pk = save_alert(obj.article_id, form.values(), by=request.user, pk=obj.pk).pk

    def delete_model(self, request: HttpRequest, obj: Alert) -> None:
        """Delete through the service."""
        delete_alert(obj, by=request.user)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Alert]) -> None:
        """Delete through the service, one by one."""
        for alert in queryset:
            delete_alert(alert, by=request.user)

    @admin.display(description=gettext_lazy("State"))
    def state(self, alert: Any) -> str:
        """What readers see of it now."""
        return str(Alert.State(alert.state).label)

    @admin.display(description=gettext_lazy("Shown from"))
    def from_when(self, alert: Alert) -> str:
        """From when readers see it."""
        return _time(alert.begins_at)

    @admin.display(description=gettext_lazy("until"))
    def until_when(self, alert: Alert) -> str:
        """Until when readers see it."""
        return _time(alert.ends_at)

    @admin.display(description=gettext_lazy("Article"))
    def headline(self, alert: Alert) -> str:
        """Of its article."""
        return alert.article.title


def alert_line(request: HttpRequest, article: Article | None, now: datetime) -> Mapping[str, Any]:
    """What the editor says about the alert of an article, for users who may publish."""
    if article is None or not allows(PUBLISH, request.user):
        return {}
    alert: Any = Alert.objects.filter(article=article).state_at(now).first()
    if alert is None:
        return {"address": f"{reverse('admin:articles_alert_add')}?article={article.pk}"}
    return {
        "plan": plan_of(alert, article) if alert.push else None,
        "address": reverse("admin:articles_alert_change", args=[alert.pk]),
        "alert": alert,
        "state": Alert.State(alert.state).label,
        "duration": _in_words(minutes_of(alert.lasts)),
    }


def _headline(article: Article) -> str:
    text, _correction = newest_text(article)
    return text.title[:ALERT_LENGTH]


def _time(moment: datetime | None) -> str:
    return "—" if moment is None else format_time(moment)
