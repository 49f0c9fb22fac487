"""Admin of webhooks: list with health, form, log of deliveries, tests, replays and secrets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext, gettext_lazy as _, ngettext
from django.views.decorators.http import require_POST
from unfold.decorators import display
from unfold.views import ChangeList
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminTextInputWidget,
)

from articles.desk.bounded import RetriedScreens
from articles.desk.opened_form import OpenedForm
from articles.desk.parse import number_or_zero
from articles.desk.time_field import ZonedTimeField
from articles.exceptions import ArticleError
from articles.limits import ADDRESS_LENGTH, DESCRIPTION_LENGTH, MOST_REPLAYED, TIME_LENGTH
from articles.models import Channel, Delivery, Endpoint, Event, named
from articles.text import base_language
from articles.webhooks import (
    MANAGE,
    SEND_SCHEDULES,
    TargetRefused,
    check,
    delete_endpoint,
    health_of,
    replay,
    replay_since,
    rotate_secret,
    save_endpoint,
    send_test,
    set_enabled,
    with_health,
)
from scheduling.database import CappedPaginator, read_database_clock

_SHOWN = 50


class EndpointForm(OpenedForm):
    """A webhook."""

    url = forms.CharField(
        label=_("URL"),
        max_length=ADDRESS_LENGTH,
        widget=UnfoldAdminTextInputWidget(attrs={"type": "url", "placeholder": "https://"}),
        help_text=_("Events are sent there by POST, as JSON, signed as in Standard Webhooks."),
    )
    description = forms.CharField(
        label=_("Description"), max_length=DESCRIPTION_LENGTH, required=False, widget=UnfoldAdminTextInputWidget
    )
    kinds = forms.MultipleChoiceField(
        label=_("Events"),
        choices=Event.Kind.choices,
        required=False,
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        help_text=_("Empty: all that it may hear of."),
    )
    channels = forms.ModelMultipleChoiceField(
        label=_("Channels"),
        queryset=Channel.objects.all(),
        required=False,
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        help_text=_("Empty: all."),
    )
    languages = forms.MultipleChoiceField(
        label=_("Languages"),
        choices=[(base_language(code), name) for code, name in settings.LANGUAGES],
        required=False,
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        help_text=_("Empty: all."),
    )

    class Meta:
        model = Endpoint
        fields = ["url", "description", "kinds", "channels", "languages", "is_full", "hears_newsroom", "enabled"]

    def clean_url(self) -> str:
        """Refuse what only this server can reach."""
        url: str = self.cleaned_data["url"]
        if "url" in self.changed_data and url != self.instance.url:
            try:
                check(url)
            except TargetRefused as refusal:
                raise forms.ValidationError(str(refusal), code=refusal.code) from refusal
        return url


class EndpointList(ChangeList):
    """Reads the health of a page of webhooks at once."""

    def get_results(self, request: HttpRequest) -> None:
        """With the health of each."""
        super().get_results(request)
        with_health(self.result_list)


class SinceForm(forms.Form):
    """From when on events are sent again."""

    since = ZonedTimeField(label=_("Send again what happened since"))


_SINCE = ("since", "since_which", "since_zone")
"""The inputs of that field."""


@admin.register(Endpoint)
class EndpointAdmin(RetriedScreens):
    """Webhooks, for users who may manage them."""

    form = EndpointForm
    nothing_yet = _("A webhook tells another system at once what was published, changed or removed.")
    names_related = False
    list_display = ["name", "badge", "delivered", "retrying", "median"]
    search_fields = ["url", "description"]
    list_per_page = 50
    keeps_history = False  # the audit log has it
    change_form_outer_after_template = "articles/desk/webhooks/log.html"  # type: ignore[assignment]

    def has_view_permission(self, request: HttpRequest, obj: Endpoint | None = None) -> bool:
        """Users who may manage webhooks."""
        return request.user.has_perm(MANAGE)

    has_change_permission = has_delete_permission = has_view_permission

    def has_add_permission(self, request: HttpRequest) -> bool:
        """The same."""
        return request.user.has_perm(MANAGE)

    def has_module_permission(self, request: HttpRequest) -> bool:
        """The same."""
        return request.user.has_perm(MANAGE)

    def get_readonly_fields(self, request: HttpRequest, obj: Endpoint | None = None) -> list[str]:
        """Who may not let webhooks hear of what is not out sees whether one does."""
        return [] if request.user.has_perm(SEND_SCHEDULES) else ["hears_newsroom"]

    def get_changelist(self, request: HttpRequest, **options: Any) -> Any:
        """With the health of each."""
        return EndpointList

    @admin.display(description=_("webhook"), ordering="description")
    def name(self, endpoint: Endpoint) -> str:
        """What it is for, or its URL."""
        return str(endpoint)

    @display(label={"success": "success", "danger": "danger", "warning": "warning", "default": "default"})
    @admin.display(description=_("state"))
    def badge(self, endpoint: Endpoint) -> tuple[str, str]:
        """Whether it works."""
        return state_of(endpoint)

    @admin.display(description=_("delivered, 24 h"))
    def delivered(self, endpoint: Any) -> int:
        """In the last 24 hours."""
        return int(endpoint.health.delivered)

    @admin.display(description=_("retrying"))
    def retrying(self, endpoint: Any) -> int:
        """Deliveries that have failed and will be tried again."""
        return int(endpoint.health.retrying)

    @admin.display(description=_("median after the event"))
    def median(self, endpoint: Any) -> str | None:
        """From the event to the first attempt, in the last 24 hours."""
        return _duration(endpoint.health.median_ms)

    def get_urls(self) -> list[URLPattern]:
        """The URLs of webhooks, before the default ones."""

        def at(route: str, view: Callable[..., HttpResponse], name: str) -> URLPattern:
            def run(request: HttpRequest, pk: int) -> HttpResponse:
                if not self.has_change_permission(request):
                    raise PermissionDenied
                endpoint = get_object_or_404(Endpoint, pk=pk)
                try:
                    return view(request, endpoint)
                except ArticleError as refusal:
                    self.message_user(request, str(refusal), messages.ERROR)
                    return _back_to(endpoint, typed=request.POST)

            shown = self.admin_site.admin_view(require_POST(run))
            return path(f"<int:pk>/{route}/", shown, name=f"articles_endpoint_{name}")

        own = [
            at("test", self.test, "test"),
            at("rotate", self.rotate, "rotate"),
            at("pause", self.pause, "pause"),
            at("replay", self.replay, "replay"),
        ]
        return [*own, *super().get_urls()]

    def test(self, request: HttpRequest, endpoint: Endpoint) -> HttpResponse:
        """Send a test message."""
        send_test(endpoint, by=request.user)
        self.message_user(request, gettext("A test message is on its way; reload the page to see the answer."))
        return _back_to(endpoint)

    def rotate(self, request: HttpRequest, endpoint: Endpoint) -> HttpResponse:
        """Give it a new secret, and show that."""
        rotate_secret(endpoint, by=request.user)
        return self._secret(request, endpoint)

    def pause(self, request: HttpRequest, endpoint: Endpoint) -> HttpResponse:
        """Pause it, or go on, as the button said."""
        set_enabled(endpoint, request.POST.get("enabled") == "1", by=request.user)
        return _back_to(endpoint)

    def replay(self, request: HttpRequest, endpoint: Endpoint) -> HttpResponse:
        """Send a delivery again, or all since a time."""
        if "delivery" in request.POST:
            count = replay(endpoint, [number_or_zero(request.POST["delivery"])], by=request.user)
        else:
            form = SinceForm(request.POST)
            if not form.is_valid():
                for errors in form.errors.values():
                    self.message_user(request, " ".join(map(str, errors)), messages.ERROR)
                return _back_to(endpoint, typed=request.POST)
            count = replay_since(endpoint, form.cleaned_data["since"], by=request.user)
        self.message_user(request, _sent_again(count, is_paused=not endpoint.enabled))
        return _back_to(endpoint)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """With the log."""
        endpoint = Endpoint.objects.filter(pk=number_or_zero(object_id)).first()
        more = {} if endpoint is None else self._log(request, endpoint)
        page: HttpResponse = super().change_view(request, object_id, form_url, {**(extra_context or {}), **more})
        return page

    def _log(self, request: HttpRequest, endpoint: Endpoint) -> dict[str, Any]:
        rows = Delivery.objects.filter(endpoint=endpoint).select_related("event").order_by("-pk")
        page = CappedPaginator(rows, _SHOWN).get_page(request.GET.get("page"))
        return {
            "endpoint": endpoint,
            "badge": state_of(endpoint),
            "health": health_of([endpoint])[endpoint.pk],
            "owner": named(endpoint.owner),
            "page": page,
            "since_form": SinceForm(request.GET if "since" in request.GET else None),
        }

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Save through the service."""
        save_endpoint(obj, channels=form.cleaned_data["channels"], by=request.user)

    def delete_model(self, request: HttpRequest, obj: Endpoint) -> None:
        """Delete through the service."""
        delete_endpoint(obj, by=request.user)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Endpoint]) -> None:
        """Delete through the service, one by one."""
        for endpoint in queryset:
            delete_endpoint(endpoint, by=request.user)

    def response_add(self, request: HttpRequest, obj: Endpoint, post_url_continue: str | None = None) -> HttpResponse:
        """The page that shows the secret, once."""
        return self._secret(request, obj)

    def _secret(self, request: HttpRequest, endpoint: Endpoint) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "title": gettext("The secret of “%s”") % endpoint,
            "opts": self.model._meta,
            "endpoint": endpoint,
            "is_rotated": bool(endpoint.old_secret),
        }
        return TemplateResponse(request, "articles/desk/webhooks/secret.html", context)


def state_of(endpoint: Endpoint) -> tuple[str, str]:
    """The colour and the words for whether it works."""
    reasons = {
        "gone": gettext("Paused: the receiver is gone"),
        "failing": gettext("Paused: it has failed for five days"),
        "channel": gettext("Paused: its only channel was deleted"),
        "restored": gettext("Paused: restored from a backup"),
    }
    if not endpoint.enabled:
        return ("danger" if endpoint.paused_because else "default"), reasons.get(
            endpoint.paused_because, gettext("Paused")
        )
    if endpoint.resumes_at and endpoint.resumes_at > read_database_clock():
        return "warning", gettext("The receiver asked for a pause")
    if endpoint.failing_since:
        return "danger", gettext("Failing")
    return "success", gettext("OK")


def _duration(milliseconds: int | None) -> str | None:
    if milliseconds is None:
        return None
    return f"{milliseconds} ms" if milliseconds < 10_000 else f"{milliseconds / 1000:.0f} s"


def _sent_again(count: int, *, is_paused: bool) -> str:
    """That so many events will be sent, and when, or that there are more."""
    if is_paused:
        text = ngettext(
            "%d event is sent again once the webhook goes on.",
            "%d events are sent again once the webhook goes on.",
            count,
        )
    else:
        text = ngettext("%d event is sent again.", "%d events are sent again.", count)
    text %= count
    if count == MOST_REPLAYED:
        text += " " + gettext("These are the first ones; send the others again from a later time on.")
    return text


def _back_to(endpoint: Endpoint, typed: Mapping[str, str] | None = None) -> HttpResponse:
    """To its page, with the time that was typed and refused."""
    place = reverse("admin:articles_endpoint_change", args=[endpoint.pk])
    time = {name: typed[name][: 2 * TIME_LENGTH] for name in _SINCE if typed and name in typed}
    return redirect(f"{place}?{urlencode(time)}" if time else place)
