"""Admin of fronts: the list, the editor of a version, and *Put on the front…*."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.translation import gettext, override
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_POST, require_safe
from unfold.admin import ModelAdmin

from articles import fronts, releases
from articles.desk.following import answer_unchanged
from articles.desk.fronts.buttons import operation_of
from articles.desk.fronts.forms import BlockForm, CardForm, ChannelFrontForm, FrontReleaseForm, FrontTimeForm, PartForm
from articles.desk.fronts.page import (
    VERSION_BADGES,
    Editor,
    chosen_version,
    coming_version,
    composed_at,
    following_of,
    instant_of,
)
from articles.desk.fronts.recurring import DayForm, EndForm, RepeatForm
from articles.desk.parse import number_or_zero
from articles.exceptions import ArticleError, DoubleTime, FrontConflict, FrontGone, MissingTime
from articles.fronts import Operation, OperationKind, Recurrence
from articles.models import Article, Block, Card, Channel, Front, FrontVersion, named, state_at
from articles.pages import uncached
from articles.permissions import PUBLISH, allows, reads_articles
from articles.review import waits
from articles.text import base_language, format_time_exactly
from scheduling.database import read_database_clock

View = Callable[..., HttpResponse]


@admin.register(Front)
class FrontAdmin(ModelAdmin):
    """Fronts, which users who may publish compose."""

    keeps_history = False  # that of its versions is on its page

    def get_urls(self) -> list[URLPattern]:
        """The URLs of fronts, before the default ones."""

        def at(route: str, view: View, name: str) -> URLPattern:
            return path(route, self.admin_site.admin_view(view), name=f"articles_{name}")

        own = [
            at("put/", self.put, "front_put"),
            at("compose/", require_POST(self.compose), "front_compose"),
            at("<int:pk>/start/", require_POST(self.start), "front_start"),
            at("version/<int:pk>/", require_safe(self.version), "frontversion_change"),
            at("version/<int:pk>/preview/", xframe_options_sameorigin(require_safe(self.preview)), "front_preview"),
            at("version/<int:pk>/compare/", require_safe(self.compare_with), "front_compare"),
            at("version/<int:pk>/edit/", require_POST(self.edit), "front_edit"),
            at("version/<int:pk>/card/<uuid:uuid>/", self.card, "front_card"),
            at("version/<int:pk>/block/<uuid:uuid>/", self.block, "front_block"),
            at("version/<int:pk>/schedule/", require_POST(self.schedule), "front_schedule"),
            at("version/<int:pk>/repeat/", require_POST(self.repeat), "front_repeat"),
            at("version/<int:pk>/skip/", require_POST(self.skip), "front_skip"),
            at("version/<int:pk>/unskip/", require_POST(self.unskip), "front_unskip"),
            at("version/<int:pk>/end/", require_POST(self.end), "front_end"),
            at("version/<int:pk>/publish/", require_POST(self.publish), "front_publish"),
            at("version/<int:pk>/release/", require_POST(self.join), "front_join"),
            at("version/<int:pk>/unschedule/", require_POST(self.unschedule), "front_unschedule"),
            at("version/<int:pk>/delete/", require_POST(self.remove), "front_delete_draft"),
        ]
        return [*own, *super().get_urls()]

    def has_view_permission(self, request: HttpRequest, obj: Front | None = None) -> bool:
        """Users who may read articles; the services check who may publish."""
        return reads_articles(request.user)

    has_change_permission = has_view_permission

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Users who may publish."""
        return allows(PUBLISH, request.user)

    def has_delete_permission(self, request: HttpRequest, obj: Front | None = None) -> bool:
        """A front stays with its channel or language."""
        return False

    # The list

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        """All fronts: of each language of the site, and those of channels."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        now = read_database_clock()
        stored = list(Front.objects.select_related("channel").order_by("channel__position", "channel__name", "id"))
        rows = [_listed(front, now) for front in [*_of_the_site(stored), *(one for one in stored if one.channel_id)]]
        context = {"title": gettext("Fronts"), "rows": rows, "may": self.has_add_permission(request)}
        return self._shown(request, "list", context)

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        """Compose the front of a channel."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = ChannelFrontForm(request.POST or None)
        if form.is_valid():
            front = fronts.open_front(by=request.user, **form.cleaned_data)
            return self._edited(request, front)
        return self._shown(request, "add", {"title": gettext("Compose the front of a channel"), "form": form})

    def compose(self, request: HttpRequest) -> HttpResponse:
        """Open the front of a language, and start a draft of it."""
        self._require(request)
        try:
            front = fronts.open_front(language=request.POST.get("language", ""), by=request.user)
        except ArticleError as refusal:
            self.message_user(request, str(refusal), messages.ERROR)
            return redirect("admin:articles_front_changelist")
        return self._edited(request, front)

    def _edited(self, request: HttpRequest, front: Front) -> HttpResponse:
        """The editor with a draft, which is started if there is none."""
        return redirect(_address(front, fronts.newest_draft(front, by=request.user).number))

    # The editor

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """The editor of a front; `?version=` chooses one of its versions."""
        front, now = self._front(request, number_or_zero(object_id)), read_database_clock()
        number = number_or_zero(request.GET.get("version", ""))
        version = chosen_version(front, number, now)
        if version is None and number:
            raise Http404
        unchanged = answer_unchanged(request, following_of(request, front, version, now))
        return unchanged or self._page(request, front, version)

    def version(self, request: HttpRequest, pk: int) -> HttpResponse:
        """The page of a version by its own id."""
        version = self._version(request, pk)
        return redirect(_address(version.front, version.number))

    def start(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Start a draft like what readers get, or restore the version `like`."""
        front = self._front(request, pk)
        number = number_or_zero(request.POST.get("like", ""))
        like = front.versions.filter(number=number).first() if number else None
        if number and like is None:
            raise Http404
        try:
            draft = fronts.start_once(front, like=like, by=request.user)
        except ArticleError as refusal:
            return self._refused(request, front, None, refusal)
        text = (
            gettext("A draft like version %(number)d.") % {"number": like.number} if like else gettext("A new draft.")
        )
        self.message_user(request, text, messages.SUCCESS)
        return redirect(_address(front, draft.number))

    def edit(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Apply the operations of a button."""
        version = self._version(request, pk)
        sent, base = request.POST.getlist("op"), number_or_zero(request.POST.get("base", ""))
        try:
            fronts.edit_draft(version, [operation_of(text) for text in sent], base=base, by=request.user)
        except FrontConflict as refusal:
            again = {"again": sent, "conflicts": refusal.conflicts}
            return self._refused(request, version.front, version, refusal, status=409, **again)
        except ArticleError as refusal:
            return self._refused(request, version.front, version, refusal)
        return redirect(_address(version.front, version.number))

    def card(self, request: HttpRequest, pk: int, uuid: UUID) -> HttpResponse:
        """The form of a card."""
        version = self._version(request, pk)
        rows = Card.objects.filter(block__version=version, uuid=uuid)
        card = rows.select_related("article__channel", "image").first()
        return self._part(request, version, card or Card(uuid=uuid), CardForm, OperationKind.EDIT_CARD, "card")

    def block(self, request: HttpRequest, pk: int, uuid: UUID) -> HttpResponse:
        """The form of a block."""
        version = self._version(request, pk)
        block = version.blocks.select_related("tag").filter(uuid=uuid).first()
        return self._part(request, version, block or Block(uuid=uuid), BlockForm, OperationKind.EDIT_BLOCK, "block")

    def _part(
        self,
        request: HttpRequest,
        version: FrontVersion,
        row: Card | Block,
        form_class: Callable[..., PartForm],
        kind: str,
        name: str,
    ) -> HttpResponse:
        """The form of a row, or of one that was removed since, with what was typed into it."""
        self._require(request)
        gone = FrontGone(gettext("It is not on the front any more.")) if row._state.adding else None
        if gone and request.method != "POST":
            return self._refused(request, version.front, version, gone)
        typed = request.POST if request.method == "POST" else None
        form, conflicts, status = form_class(row, version.edits, typed), (), 200
        if request.method == "POST":
            status = 400
            if form.is_valid() and not gone:
                operation = Operation(op=kind, uuid=row.uuid, values=form.changes(row))
                try:
                    fronts.edit_draft(version, [operation], base=form.cleaned_data["base"], by=request.user)
                    return redirect(f"{_address(version.front, version.number)}#{name}-{row.uuid}")
                except FrontConflict as refusal:
                    form.add_error(None, str(refusal))
                    conflicts, status = refusal.conflicts, 409  # type: ignore[assignment]
                    # What is sent again has been seen beside what another has stored.
                    again = request.POST.copy()
                    again["base"] = str(FrontVersion.objects.get(pk=version.pk).edits)
                    form.data = again
                except ArticleError as refusal:
                    form.add_error(None, str(refusal))
            elif gone:
                form.add_error(None, str(gone))
        context = {
            "title": str(row) or str(version),
            "version": version,
            "row": row,
            "form": form,
            "conflicts": conflicts,
            "back": f"{_address(version.front, version.number)}#{name}-{row.uuid}",
        }
        return self._shown(request, name, context, status=status)

    def schedule(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Give the version to readers at an instant."""
        self._require(request)
        version, form = self._version(request, pk), FrontTimeForm(request.POST)
        if not form.is_valid():
            return self._page(request, version.front, version, status=400, time_form=form)
        try:
            fronts.schedule_version(version, by=request.user, **form.cleaned_data)
        except ArticleError as refusal:
            return self._refused(request, version.front, version, refusal, time_form=form)
        return self._done(request, version)

    def repeat(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Give the version to readers at each time of a rule."""
        self._require(request)
        version, form = self._version(request, pk), RepeatForm(request.POST)
        if form.is_valid():
            try:
                fronts.repeat_version(version, rule=form.rule(), by=request.user)
            except (MissingTime, DoubleTime) as refusal:
                form.refuse(refusal)
            except ArticleError as refusal:
                return self._refused(request, version.front, version, refusal, repeat_form=form)
            else:
                return self._done(request, version)
        return self._page(request, version.front, version, status=400, repeat_form=form)

    def skip(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Leave out a day of the rule."""
        return self._on_day(request, pk, fronts.skip_occurrence)

    def unskip(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Have a skipped day again."""
        return self._on_day(request, pk, fronts.unskip_occurrence)

    def _on_day(self, request: HttpRequest, pk: int, change: Callable[..., None]) -> HttpResponse:
        self._require(request)
        form = DayForm(request.POST)
        if not form.is_valid():
            raise Http404
        return self._apply(request, self._version(request, pk), change, **form.cleaned_data)

    def end(self, request: HttpRequest, pk: int) -> HttpResponse:
        """End the rule, on a day or now."""
        self._require(request)
        version, form = self._version(request, pk), EndForm(request.POST)
        if not form.is_valid():
            return self._page(request, version.front, version, status=400, end_form=form)
        try:
            fronts.end_rule(version, by=request.user, **form.cleaned_data)
        except ArticleError as refusal:
            return self._refused(request, version.front, version, refusal, end_form=form)
        return self._done(request, version)

    def publish(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Give the version to readers now."""
        return self._apply(request, self._version(request, pk), fronts.publish_version)

    def join(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Have readers get the version with a release."""
        self._require(request)
        version, form = self._version(request, pk), FrontReleaseForm(request.POST)
        if not form.is_valid():
            return self._page(request, version.front, version, status=400, release_form=form)
        release = form.cleaned_data["release"]
        return self._apply(request, version, lambda version, by: releases.add_front(release, version=version, by=by))

    def unschedule(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Make the version a draft again."""
        version = self._version(request, pk)
        release = version.release if version.status == FrontVersion.Status.IN_RELEASE else None
        if release is None:
            return self._apply(request, version, fronts.unschedule_version)
        return self._apply(request, version, lambda version, by: releases.remove_front(release, version=version, by=by))

    def remove(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Delete a draft."""
        version = self._version(request, pk)
        try:
            fronts.delete_draft(version, by=request.user)
        except ArticleError as refusal:
            return self._refused(request, version.front, version, refusal)
        self.message_user(request, gettext("The draft is deleted."), messages.SUCCESS)
        return redirect("admin:articles_front_change", version.front_id)

    def preview(self, request: HttpRequest, pk: int) -> HttpResponse:
        """The version as readers would see it, at its instant or now."""
        version = self._version(request, pk)
        front = version.front
        now = read_database_clock()
        moment = max(instant_of(version, now) or now, now)
        with timezone.override(timezone.get_default_timezone()), override(front.language):
            title = front.channel.name if front.channel else gettext("Latest news")
            context = {
                "front": composed_at(version, moment),
                "stream": {"title": title, "path": front.get_absolute_url(), "description": title},
                "address": front.get_absolute_url(),
            }
            return uncached(render(request, "articles/front_preview.html", context))

    def compare_with(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Two versions side by side, and what differs as text; `?with=` is the number of the older one."""
        new = self._version(request, pk)
        versions = new.front.versions.select_related("author")
        number = number_or_zero(request.GET.get("with", ""))
        before = versions.filter(number=number) if number else versions.filter(pk=new.based_on_id or 0)
        old = before.first() or versions.filter(number__lt=new.number).order_by("-number").first()
        if old is None or (number and old.number != number):
            raise Http404
        values = {"old": old.number, "new": new.number}
        context = {
            "title": gettext("Versions %(old)d and %(new)d") % values,
            "front": new.front,
            "original": new.front,
            "sides": [old, new],
            "changes": fronts.compare_versions(old, new),
        }
        return self._shown(request, "compare", context)

    # Put on the front…

    def put(self, request: HttpRequest, pk: int = 0) -> HttpResponse:
        """Choose the front and the place of an article."""
        self._require(request)
        article = get_object_or_404(
            Article.objects.select_related("channel"), pk=number_or_zero(request.GET.get("article", ""))
        )
        now = read_database_clock()
        if request.method == "POST":
            return self._put(request, article)
        found = state_at(article, now)
        stored = list(Front.objects.select_related("channel").order_by("channel__position", "id"))
        offered = [*_of_the_site(stored), *(front for front in stored if front.channel_id)]
        offered.sort(key=lambda front: _distance(front, article))
        context = {
            "title": gettext("Put on the front"),
            "article": article,
            "state": found.label,
            "since": format_time_exactly(found.since) if found.since else "",
            "rows": [_offer(front, article, now) for front in offered],
        }
        return self._shown(request, "put", context)

    def _put(self, request: HttpRequest, article: Article) -> HttpResponse:
        """Add the article to a draft, which is started if there is none, and show it there."""
        language, _comma, channel = request.POST.get("front", "").partition(",")
        of_channel = get_object_or_404(Channel, pk=number_or_zero(channel)) if channel else None
        try:
            front = fronts.open_front(language=language, channel=of_channel, by=request.user)
            now = read_database_clock()
            draft = fronts.newest_draft(front, by=request.user)
            fronts.place_article(draft, article, is_lead=request.POST.get("place") == "lead", by=request.user)
        except ArticleError as refusal:
            self.message_user(request, str(refusal), messages.ERROR)
            return redirect(f"{reverse('admin:articles_front_put')}?article={article.pk}")
        self.message_user(request, gettext("“%(title)s” is on the draft.") % {"title": article.title}, messages.SUCCESS)
        found = state_at(article, now)
        at = f"&at={found.since:%Y-%m-%dT%H:%M:%S.%fZ}" if found.since and found.since > now else ""
        return redirect(f"{_address(front, draft.number)}{at}")

    # What they share

    def _apply(
        self, request: HttpRequest, version: FrontVersion, change: Callable[..., None], **values: Any
    ) -> HttpResponse:
        try:
            change(version, by=request.user, **values)
        except ArticleError as refusal:
            return self._refused(request, version.front, version, refusal)
        return self._done(request, version)

    def _done(self, request: HttpRequest, version: FrontVersion) -> HttpResponse:
        self.message_user(request, _outcome(version), messages.SUCCESS)
        return redirect(_address(version.front, version.number))

    def _refused(
        self,
        request: HttpRequest,
        front: Front,
        version: FrontVersion | None,
        refusal: ArticleError,
        *,
        status: int = 400,
        **more: Any,
    ) -> HttpResponse:
        """The page with the reason why nothing was changed."""
        if not allows(PUBLISH, request.user):
            raise PermissionDenied
        return self._page(request, front, version, status=status, refusal=str(refusal), **more)

    def _page(
        self, request: HttpRequest, front: Front, version: FrontVersion | None, *, status: int = 200, **more: Any
    ) -> HttpResponse:
        now = read_database_clock()
        version = chosen_version(front, version.number, now) if version else chosen_version(front, 0, now)
        return self._shown(request, "page", Editor(request, front, version, now).context(**more), status=status)

    def _shown(
        self, request: HttpRequest, template: str, context: Mapping[str, Any], *, status: int = 200
    ) -> HttpResponse:
        every = {**self.admin_site.each_context(request), "opts": self.model._meta}
        found = {**every, **context}
        return TemplateResponse(request, f"articles/desk/fronts/{template}.html", found, status=status)

    def _front(self, request: HttpRequest, pk: int) -> Front:
        if not self.has_view_permission(request):
            raise PermissionDenied
        return get_object_or_404(Front.objects.select_related("channel"), pk=pk)

    def _version(self, request: HttpRequest, pk: int) -> FrontVersion:
        if not self.has_view_permission(request):
            raise PermissionDenied
        return get_object_or_404(FrontVersion.objects.select_related("front__channel", "release"), pk=pk)

    def _require(self, request: HttpRequest) -> None:
        if not allows(PUBLISH, request.user):
            raise PermissionDenied


def _address(front: Front, number: int) -> str:
    return f"{reverse('admin:articles_front_change', args=[front.pk])}?version={number}"


def _of_the_site(stored: Sequence[Front]) -> list[Front]:
    """The front of the site in each of its languages, stored or not."""
    found = {front.language: front for front in stored if not front.channel_id}
    return [found.get(code) or Front(slug=code, language=code) for code, _name in settings.LANGUAGES]


def _listed(front: Front, now: Any) -> dict[str, Any]:
    """A row of the list."""
    versions = front.versions.with_states(now).select_related("author") if front.pk else FrontVersion.objects.none()
    timed = versions.filter(status=FrontVersion.Status.SCHEDULED)
    drafts = list(versions.exclude(status=FrontVersion.Status.SCHEDULED).order_by("-number")[:3])
    return {
        "front": front,
        "language": dict(settings.LANGUAGES).get(front.language, front.language),
        "live": versions.live(now).first(),
        "next": coming_version(timed, now),
        "drafts": [(draft, VERSION_BADGES[draft.state], named(draft.author)) for draft in drafts],
        "waits": any(waits(draft) for draft in drafts),
    }


def _distance(front: Front, article: Article) -> tuple[bool, bool]:
    """Fronts in the language of the article first, those of other channels last."""
    is_foreign = base_language(front.language) != article.language
    return front.channel_id not in (None, article.channel_id), is_foreign


def _offer(front: Front, article: Article, now: Any) -> dict[str, Any]:
    draft = chosen_version(front, 0, now) if front.pk else None
    is_draft = draft is not None and draft.status == FrontVersion.Status.DRAFT
    cards = Card.objects.filter(block__version=draft, article=article) if is_draft else Card.objects.none()
    return {
        "front": front,
        "key": f"{front.language},{front.channel_id}" if front.channel_id else front.language,
        "draft": draft if is_draft else None,
        "writer": named(draft.author) if draft and is_draft else "",
        "is_present": cards.exists(),
    }


def _outcome(version: FrontVersion) -> str:
    """What has become of a version."""
    if waits(version):
        return gettext("Readers see this version once another person has approved it.")
    if version.status == FrontVersion.Status.IN_RELEASE and version.release:
        return gettext("Readers see this version with the release “%(release)s”.") % {"release": version.release}
    if version.live_from is None:
        return gettext("It is a draft again.")
    if version.repeats is not None:
        return gettext("Readers see this version: %(rule)s.") % {"rule": Recurrence.of(version.repeats)}
    if version.live_from <= read_database_clock():
        return gettext("Readers see this version now.")
    return gettext("Readers see this version from %(time)s on.") % {"time": format_time_exactly(version.live_from)}
