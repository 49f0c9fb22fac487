"""Admin of releases: list, release page and confirmation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Count, Exists, OuterRef, QuerySet
from django.db.models.expressions import Combinable
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext, gettext_lazy as _, ngettext
from django.views.decorators.http import require_POST
from unfold.decorators import display

from articles import releases
from articles.desk.bounded import SearchedScreens
from articles.desk.following import answer_unchanged
from articles.desk.parse import number_or_zero
from articles.desk.releases.forms import ReleaseNameForm, TimeForm
from articles.desk.releases.members import report, take_in
from articles.desk.releases.page import BADGES, FUNCTIONS, badge, following_of, page_of, question, state
from articles.exceptions import ArticleError
from articles.models import Article, FrontVersion, Release, ReleaseMember, named
from articles.permissions import allows
from articles.releases import RIGHT
from articles.text import format_time_exactly
from articles.workflow import ReleaseTransition
from scheduling.database import read_database_clock


@admin.register(Release)
class ReleaseAdmin(SearchedScreens):
    """Releases."""

    nothing_yet = _("A release publishes several articles at the same time. Add one, then add articles to it.")
    list_display = ["name", "badge", "goes_out", "size", "readiness", "maker"]
    list_filter = ["status"]
    list_per_page = 50
    list_select_related = ["created_by"]
    search_fields = ["name"]
    show_full_result_count = False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """With the number of articles, and whether they are overdue."""
        late = Release.objects.overdue(read_database_clock()).filter(pk=OuterRef("pk"))
        return Release.objects.annotate(
            number=Count("members", distinct=True),
            fronts=Count("front_versions", distinct=True),
            is_overdue=Exists(late),
        )

    def get_ordering(self, request: HttpRequest) -> list[str | Combinable]:
        """Overdue ones first, then by last change."""
        return ["-is_overdue", "-updated_at"]

    @display(label={name: name for name in (*BADGES.values(), "danger")})
    @admin.display(description=_("status"), ordering="status")
    def badge(self, release: Any) -> tuple[str, str]:
        """The status with its colour."""
        return badge(release, is_overdue=release.is_overdue)

    @admin.display(description=_("goes live"), ordering="publish_at")
    def goes_out(self, release: Release) -> str | None:
        """Publish time with its zone."""
        moment = release.published_at or release.publish_at
        return format_time_exactly(moment) if moment else None

    @admin.display(description=_("articles"), ordering="number")
    def size(self, release: Any) -> int:
        """Number of articles."""
        return int(release.number)

    @display(label={"ready": "success", "issues": "danger"})
    @admin.display(description=_("ready"))
    def readiness(self, release: Release) -> tuple[str, str] | str | None:
        """Whether the preflight check passes."""
        if not release.is_pending or not (release.number or release.fronts):  # type: ignore[attr-defined]
            return None
        problems = len(releases.preflight(release))
        if not problems:
            return "ready", gettext("ready")
        return "issues", ngettext("%d blocking issue", "%d blocking issues", problems) % problems

    @admin.display(description=_("created by"), ordering="created_by__username")
    def maker(self, release: Release) -> str:
        """The creator's display name."""
        return named(release.created_by)

    def get_urls(self) -> list[URLPattern]:
        """The URLs of releases, before the default ones."""

        def at(route: str, view: Callable[..., HttpResponse], name: str) -> URLPattern:
            return path(f"<int:pk>/{route}", self.admin_site.admin_view(view), name=f"articles_release_{name}")

        own = [
            at("rename/", require_POST(self.rename), "rename"),
            at("schedule/", require_POST(self.schedule), "schedule"),
            at("dry_run/", require_POST(self.dry_run), "dry_run"),
            at("members/", require_POST(self.add_members), "add_members"),
            at("members/<int:member>/remove/", require_POST(self.remove_member), "remove_member"),
            at("fronts/", require_POST(self.add_front), "add_front"),
            at("fronts/<int:version>/remove/", require_POST(self.remove_front), "remove_front"),
            at("<slug:transition>/ask/", self.ask, "ask"),
        ]
        return [*own, *super().get_urls()]

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        """Ask for a name; everything else is on the release page."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = ReleaseNameForm(request.POST or None)
        if form.is_valid():
            release = releases.create_release(name=form.cleaned_data["name"], by=request.user)
            return _back_to(release)
        return self._shown(request, "add", {"title": gettext("Create a release"), "form": form})

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """The release page; `?q=` searches articles to add."""
        release = self._release(request, number_or_zero(object_id))
        unchanged = answer_unchanged(request, following_of(release, request, read_database_clock()))
        return unchanged or self._page(request, release)

    def rename(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Rename the release."""
        release, form = self._release(request, pk), ReleaseNameForm(request.POST)
        if form.is_valid():
            try:
                releases.rename_release(release, by=request.user, **form.cleaned_data)
                return self._done(request, release)
            except ArticleError as refusal:
                self.message_user(request, str(refusal), messages.ERROR)
        return self._page(request, self._release(request, pk), name_form=form)

    def schedule(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Schedule or reschedule the release."""
        release, form = self._release(request, pk), TimeForm(request.POST)
        if form.is_valid():
            try:
                releases.schedule_release(release, by=request.user, at_once=False, **form.cleaned_data)
                return self._done(request, release)
            except ArticleError as refusal:
                self.message_user(request, str(refusal), messages.ERROR)
        return self._page(request, self._release(request, pk), time_form=form)

    def add_members(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Add the selected articles."""
        release = self._release(request, pk)
        action = request.POST.get("action", "")
        if action not in ("", *ReleaseMember.Action.values):
            raise Http404
        chosen = [number_or_zero(pk) for pk in request.POST.getlist("article")]
        articles = Article.objects.filter(pk__in=chosen).order_by("pk")
        report(request, take_in(release, articles, action=action, by=request.user))
        return _back_to(release)

    def remove_member(self, request: HttpRequest, pk: int, member: int) -> HttpResponse:
        """Remove an article."""
        release = self._release(request, pk)
        found = get_object_or_404(ReleaseMember, pk=member)
        return self._do(request, release, lambda: releases.remove_member(release, member=found, by=request.user))

    def add_front(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Add a draft of a front."""
        release, chosen = self._release(request, pk), number_or_zero(request.POST.get("version", ""))
        found = get_object_or_404(FrontVersion.objects.select_related("front__channel"), pk=chosen)
        return self._do(request, release, lambda: releases.add_front(release, version=found, by=request.user))

    def remove_front(self, request: HttpRequest, pk: int, version: int) -> HttpResponse:
        """Make a version of a front a draft again."""
        release = self._release(request, pk)
        found = get_object_or_404(FrontVersion.objects.select_related("front__channel"), pk=version)
        return self._do(request, release, lambda: releases.remove_front(release, version=found, by=request.user))

    def dry_run(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Run a dry run with the same code as publishing."""
        release = self._release(request, pk)
        try:
            dry_run = releases.dry_run_release(release, by=request.user)
        except ArticleError as refusal:
            self.message_user(request, str(refusal), messages.ERROR)
            return _back_to(release)
        return self._page(request, release, dry_run=dry_run)

    def ask(self, request: HttpRequest, pk: int, transition: str) -> HttpResponse:
        """Confirmation page of a transition; POST makes it."""
        release = self._release(request, pk)
        if transition not in FUNCTIONS:
            raise Http404
        taken = ReleaseTransition(transition)
        if request.method != "POST":
            return self._shown(
                request, "confirm", {"original": release, "release": release, **question(taken, release)}
            )
        answer = self._do(request, release, lambda: FUNCTIONS[taken](release, by=request.user))
        return redirect("admin:articles_release_changelist") if release.pk is None else answer

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Users who may create releases."""
        return allows(RIGHT, request.user)

    def has_change_permission(self, request: HttpRequest, obj: Release | None = None) -> bool:
        """Any user who may view it may open it; the services check each transition."""
        return self.has_view_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Release | None = None) -> bool:
        """Deleting is a transition on the release page."""
        return False

    def _release(self, request: HttpRequest, pk: int) -> Release:
        if not self.has_view_permission(request):
            raise PermissionDenied
        return get_object_or_404(Release.objects.select_related("created_by"), pk=pk)

    def _do(self, request: HttpRequest, release: Release, transition: Callable[[], None]) -> HttpResponse:
        try:
            transition()
        except ArticleError as refusal:
            self.message_user(request, str(refusal), messages.ERROR)
            return _back_to(release)
        return self._done(request, release)

    def _done(self, request: HttpRequest, release: Release) -> HttpResponse:
        self._notify(request, release)
        return _back_to(release)

    def _notify(self, request: HttpRequest, release: Release) -> None:
        """Result message; a warning if there are blocking issues."""
        if not release.pk:
            return self.message_user(request, gettext("The release is deleted."), messages.SUCCESS)
        shown = state(release, read_database_clock())
        number = len(releases.preflight(release)) if release.status == Release.Status.SCHEDULED else 0
        if not number:
            return self.message_user(request, shown, messages.SUCCESS)
        text = ngettext(
            "The release cannot be published: there is %d blocking issue.",
            "The release cannot be published: there are %d blocking issues.",
            number,
        )
        return self.message_user(request, f"{shown} {text % number}", messages.WARNING)

    def _page(self, request: HttpRequest, release: Release, **more: Any) -> HttpResponse:
        may_change = allows(RIGHT, request.user)
        context = {
            "original": release,
            "title": release.name,
            "follow": following_of(release, request, read_database_clock()).as_json(),
            **page_of(release, request, may_change=may_change),
            **more,
        }
        return self._shown(request, "page", context)

    def _shown(self, request: HttpRequest, template: str, context: dict[str, Any]) -> HttpResponse:
        every = {**self.admin_site.each_context(request), "opts": self.model._meta}
        return TemplateResponse(request, f"articles/desk/releases/{template}.html", {**every, **context})


def _back_to(release: Release) -> HttpResponse:
    return redirect("admin:articles_release_change", release.pk)
