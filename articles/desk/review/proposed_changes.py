"""Changes of texts for readers that wait for another person: their page, and what forms say about them."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Any

from django.contrib import admin, messages
from django.contrib.auth import get_user_model
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from articles.desk.bounded import RetriedScreens
from articles.exceptions import ArticleError
from articles.models import Image, ProposedChange, named
from articles.permissions import reads_articles
from articles.publishing import FieldDiff, compare_texts
from articles.review import (
    Comparison,
    address_of_subject,
    approve_change,
    comparisons,
    deciding_refusal,
    needs_second_person,
    reject_change,
    version_of_change,
    waits,
)

PER_PAGE = 50
"""Changes on the page, oldest first."""


@dataclass(frozen=True)
class Waiting:
    """A proposed change as it is shown to a user."""

    change: ProposedChange
    compared: list[Comparison]
    writers: str
    is_own: bool
    refusal: str  #: why the user may not approve it

    @classmethod
    def of(cls, change: ProposedChange, by: Any) -> Waiting:
        """For this user."""
        users = get_user_model()._default_manager.in_bulk(change.proposed_by)
        writers = _(", ").join(map(named, users.values()))
        return cls(change, comparisons(change), writers, by.pk in change.proposed_by, deciding_refusal(change, by))

    @property
    def version(self) -> str:
        """What an approval of it names."""
        return version_of_change(self.compared)

    @property
    def fields(self) -> list[FieldDiff]:
        """The fields that an approval changes."""
        return [compare_texts(*astuple(one)) for one in self.compared if one.old != one.new]

    @property
    def others(self) -> list[Comparison]:
        """The other texts that readers see with them."""
        return [one for one in self.compared if one.new and one.old == one.new]

    @property
    def address(self) -> str:
        """The form of the object."""
        return address_of_subject(self.change)

    @property
    def image(self) -> Image | None:
        """The image whose texts are changed."""
        is_image = self.change.subject == ProposedChange.Subject.IMAGE
        return Image.objects.filter(pk=self.change.subject_id).first() if is_image else None


def waiting_for(by: Any, most: int = PER_PAGE) -> list[Waiting]:
    """The changes that wait longest, for users who may read them."""
    changes = ProposedChange.objects.order_by("proposed_at", "pk")[:most]
    return [Waiting.of(change, by) for change in changes]


def count_to_decide(request: HttpRequest) -> int:
    """The number of changes that the user may approve."""
    changes = ProposedChange.objects.order_by("pk")[:PER_PAGE]
    return sum(not deciding_refusal(change, request.user) for change in changes)


def may_see_changes(by: Any) -> bool:
    """Whether the user may see the page, and there is a reason for it."""
    return reads_articles(by) and (needs_second_person() or ProposedChange.objects.exists())


@never_cache
@require_safe
def show(request: HttpRequest) -> HttpResponse:
    """All changes that wait."""
    _require_reader(request)
    context = {
        **admin.site.each_context(request),
        "title": _("Proposed changes"),
        "rows": waiting_for(request.user),
    }
    return TemplateResponse(request, "articles/desk/review/proposed_changes.html", context)


@require_POST
def approve(request: HttpRequest, pk: int) -> HttpResponse:
    """Approve a change as it was shown."""
    _require_reader(request)
    try:
        approve_change(pk, version=request.POST.get("version", ""), by=request.user)
    except ArticleError as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(request, _("Approved: readers see the change."))
    return redirect("desk_proposed_changes")


@require_POST
def reject(request: HttpRequest, pk: int) -> HttpResponse:
    """Reject a change with a reason, or discard an own one."""
    _require_reader(request)
    try:
        reject_change(pk, by=request.user, reason=request.POST.get("reason", ""))
    except ArticleError as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(request, _("The change is dropped."))
    return redirect("desk_proposed_changes")


class SecondPersonScreens(RetriedScreens):
    """A form whose texts readers see: it says when a change of them waits for another person."""

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **options: Any) -> Any:
        """Say that a change waits, which the form does not show."""
        row = context.get("original")
        if request.method == "GET" and row is not None and waits(row):
            _say(request)
        return super().render_change_form(request, context, *args, **options)

    def response_add(self, request: HttpRequest, obj: Any, *args: Any, **options: Any) -> Any:
        """Say that what was typed waits."""
        if waits(obj):
            _say(request)
        return super().response_add(request, obj, *args, **options)

    def response_change(self, request: HttpRequest, obj: Any) -> Any:
        """The same."""
        if waits(obj):
            _say(request)
        return super().response_change(request, obj)


def _say(request: HttpRequest) -> None:
    link = format_html('<a class="desk-link" href="{}">{}</a>', reverse("desk_proposed_changes"), _("Proposed changes"))
    text = _("Readers see this change once another person has approved it.")
    messages.warning(request, format_html("{} {}", text, link))


def _require_reader(request: HttpRequest) -> None:
    if not reads_articles(request.user):
        raise PermissionDenied
