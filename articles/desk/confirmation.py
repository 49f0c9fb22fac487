"""Confirmation of changes that readers notice immediately: tried, rolled back, described, and made when confirmed."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from articles.desk.asked_text import NAME, asked_text, needs_text
from articles.desk.editor.autosave import NEVER_SAVED, window_of
from articles.desk.transitions import pressed, transition_button
from articles.exceptions import ArticleError
from articles.models import Article, Text
from articles.publishing import save_autosave
from articles.review import needs_second_person
from articles.text import format_time_exactly
from articles.workflow import TRANSITIONS, Transition
from scheduling.database import read_database_clock

CONFIRMED = "confirmed"
"""Name of the confirmed button's value."""


class Unconfirmed(ArticleError):
    """The change is possible and needs confirmation. `typed` is whether the form has unsaved edits."""

    code = "unconfirmed"

    def __init__(self, consequences: Sequence[str], *, typed: bool) -> None:
        super().__init__(" ".join(consequences))
        self.consequences, self.typed = consequences, typed


def ask_first(request: HttpRequest, article: Article, before: Article | None, changed: Sequence[str]) -> None:
    """Raise `Unconfirmed` if readers notice the change just made to `article`, unless it is confirmed.

    `before` is the previous state, None for a new article; `changed` are the changed form fields.
    """
    text = asked_text(request)
    if is_confirmed(request) and not (text and text.error):
        return
    transition = next((one for one in pressed(request) if TRANSITIONS[one].confirmation or needs_text(one)), None)
    if transition is None and not _goes_live(article, before):
        return
    shown = list(consequences(transition, before))
    if transition is Transition.PUBLISH_NOW and _leaves_a_draft(before, changed):
        shown.append(_("Readers see the approved text. Later changes need approval first."))
    raise Unconfirmed(shown, typed=bool(changed))


def is_confirmed(request: HttpRequest) -> bool:
    """Whether the request is the answer of the confirmation page."""
    return request.POST.get(_button(request)) == CONFIRMED


def question(request: HttpRequest, article: Article | None, asked: Unconfirmed) -> HttpResponse:
    """The confirmation page, which posts the form again; "Back" returns to the form with its input."""
    button, transitions, text = _button(request), pressed(request), asked_text(request)
    if text and not is_confirmed(request):
        text = replace(text, error="")  # not answered yet
    context = {
        **admin.site.each_context(request),
        "opts": Article._meta,
        "title": TRANSITIONS[transitions[0]].label if transitions else _("Save"),
        "article": article or request.POST.get("title", ""),
        "consequences": asked.consequences,
        "text": text,
        "text_name": NAME,
        "button": button,
        "confirmed": CONFIRMED,
        "is_dangerous": any(TRANSITIONS[one].is_removal and TRANSITIONS[one].confirmation for one in transitions),
        "sent": [
            (name, value)
            for name, values in request.POST.lists()
            for value in values
            if name not in (button, "csrfmiddlewaretoken", *((NAME,) if text else ()))
        ],
        "back": _way_back(request, article, is_kept=asked.typed),
    }
    return TemplateResponse(request, "articles/desk/confirm.html", context)


def _button(request: HttpRequest) -> str:
    names = [*map(transition_button, pressed(request)), "_continue", "_addanother"]
    return next((name for name in names if name in request.POST), "_save")


def _goes_live(article: Article, before: Article | None) -> bool:
    """Whether it goes live now because its time is past."""
    now = read_database_clock()
    if before is not None and before.is_out_at(now):
        return False
    return Article.objects.live(now).filter(pk=article.pk).exists()


def consequences(transition: Transition | None, before: Article | None) -> Iterator[str]:
    """What happens, a sentence each."""
    if transition is None:
        yield _("Its publish time is in the past: readers see it immediately.")
    elif sentence := TRANSITIONS[transition].confirmation:
        yield str(sentence)
    pending_update = before.pending_update if before else None
    if transition is Transition.PUBLISH_NOW:
        yield from _instead_of(before.goes_live_at if before else None)
    elif transition is Transition.PUBLISH_UPDATE:
        yield from _instead_of(pending_update.publish_at if pending_update else None)
    elif transition is Transition.RETRACT:
        if needs_second_person():
            yield _("They see a standard text until another person has approved the notice.")
        yield from _discarded(before)


def _instead_of(planned: datetime | None) -> Iterator[str]:
    if planned and planned > read_database_clock():
        yield _("It was scheduled for %s.") % format_time_exactly(planned)


def _discarded(before: Article | None) -> Iterator[str]:
    """What a retraction discards."""
    pending_update = before.pending_update if before else None
    if pending_update and pending_update.approved_id:
        when = format_time_exactly(pending_update.publish_at) if pending_update.publish_at else _("not scheduled")
        yield _("Its approved update (%s) is discarded. It stays in the revisions.") % when
    if pending_update and pending_update.draft_id:
        yield _("The draft of its update is discarded. It stays in the revisions.")


def _leaves_a_draft(before: Article | None, changed: Sequence[str]) -> bool:
    """Whether text remains that the transition does not publish."""
    pending_update = before.pending_update if before else None
    return bool(pending_update and pending_update.draft_id) or not Text.NAMES.isdisjoint(changed)


def _way_back(request: HttpRequest, article: Article | None, *, is_kept: bool) -> str:
    """The autosaved form to return to; not for read-only users, who entered at most a time."""
    name, arguments = ("change", [article.pk]) if article else ("add", [])
    form, window = reverse(f"admin:articles_article_{name}", args=arguments), window_of(request)
    if not is_kept:
        return form
    typed = {
        name: values
        for name, values in request.POST.lists()
        if name not in NEVER_SAVED and not name.startswith(("_", "keep_"))
    }
    try:
        save_autosave(window, article, by=request.user, typed=typed, number=time.time_ns() // 1_000_000)
    except ArticleError:
        return form
    return f"{form}?restore={window}"
