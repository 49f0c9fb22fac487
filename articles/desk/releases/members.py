"""Adding articles to a release, from its page or from the article list."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin import helpers
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _, gettext_lazy, ngettext

from articles import releases
from articles.desk.releases.forms import JoinForm
from articles.exceptions import ArticleError
from articles.models import Article, Release
from articles.publishing import Actor

SHOWN_REFUSALS = 5


@dataclass
class AddedMembers:
    """Number of articles added, and errors of the others."""

    done: int = 0
    refusals: list[str] = field(default_factory=list)


def take_in(release: Release, articles: Iterable[Article], *, action: str, by: Actor) -> AddedMembers:
    """Add articles one by one; an error does not affect the others."""
    outcome = AddedMembers()
    for article in articles:
        try:
            releases.add_member(release, article=article, action=action, by=by)
            outcome.done += 1
        except ArticleError as refusal:
            outcome.refusals.append(str(refusal))
    return outcome


def report(request: HttpRequest, outcome: AddedMembers) -> None:
    """Show the result as messages."""
    if outcome.done:
        text = ngettext("%d article is in the release.", "%d articles are in the release.", outcome.done)
        messages.success(request, text % outcome.done)
    for refusal in outcome.refusals[:SHOWN_REFUSALS]:
        messages.warning(request, refusal)
    if (more := len(outcome.refusals) - SHOWN_REFUSALS) > 0:
        messages.warning(request, _("… and %d more.") % more)


@admin.action(description=gettext_lazy("Add to release…"), permissions=["schedule_release"])
def add_to_release(screen: Any, request: HttpRequest, chosen: QuerySet[Article]) -> HttpResponse:
    """Ask for the release, then add the selected articles."""
    form = JoinForm(request.POST if "what" in request.POST else None)
    if form.is_valid():
        typed = form.cleaned_data
        release = typed["release"] or releases.create_release(name=typed["name"], by=request.user)
        report(request, take_in(release, chosen.order_by("pk"), action=typed["what"], by=request.user))
        return redirect("admin:articles_release_change", release.pk)
    context = {
        **screen.admin_site.each_context(request),
        "title": _("Add to release"),
        "form": form,
        "chosen": chosen,
        "opts": screen.model._meta,
        "checkbox": helpers.ACTION_CHECKBOX_NAME,
    }
    return TemplateResponse(request, "articles/desk/releases/add_articles.html", context)
