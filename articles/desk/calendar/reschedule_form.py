"""The reschedule form of the calendar, its response, and undo."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.translation import gettext as _, gettext_lazy

from articles.desk.articles.forms import VersionField
from articles.desk.calendar.subjects import MovableSubject, subject_named
from articles.desk.time_field import ZonedTimeField, two_times
from articles.exceptions import ArticleError, NotAllowed, TimePast
from articles.limits import ADDRESS_LENGTH, ENTRY_KEY_LENGTH
from articles.publishing import Actor
from articles.text import format_time_exactly

LAST_RESCHEDULED = "calendar_last_rescheduled"
"""Session key of what the user rescheduled last."""


class SubjectField(forms.CharField):
    """The key of an entry."""

    def clean(self, value: Any) -> Any:
        """The subject with this key."""
        return subject_named(super().clean(value))


class RescheduleEntryForm(forms.Form):
    """An entry and its new time."""

    key = SubjectField(max_length=ENTRY_KEY_LENGTH, widget=forms.HiddenInput)
    seen = VersionField(widget=forms.HiddenInput)
    back = forms.CharField(max_length=ADDRESS_LENGTH, widget=forms.HiddenInput, required=False)
    at = ZonedTimeField(label=gettext_lazy("New time"))

    def reject(self, reason: str) -> None:
        """Add the error of the service to the form."""
        self.add_error("at", reason)


@dataclass(frozen=True)
class Alternative:
    """An alternative, submitted as `name=value` with the original request."""

    label: str
    name: str
    value: str


@dataclass(frozen=True)
class Answer:
    """The result of rescheduling: done, refused, or a question."""

    message: str
    code: str = ""
    choices: tuple[Alternative, ...] = ()

    @property
    def is_done(self) -> bool:
        """Whether the entry was rescheduled."""
        return not self.code

    def as_json(self) -> dict[str, Any]:
        """JSON for the calendar script."""
        return {
            "done": self.is_done,
            "code": self.code,
            "message": self.message,
            "choices": [vars(choice) for choice in self.choices],
        }


def response_to(form: RescheduleEntryForm, request: HttpRequest) -> Answer:
    """Process the form. Asks about a time that is past or occurs twice."""
    if not form.is_valid():
        return _misunderstood(form)
    asked = form.cleaned_data
    subject: MovableSubject = asked["key"]
    try:
        if "now" in request.POST:
            return _do_now(subject, asked["seen"], request)
        return reschedule_subject(subject, asked["at"], asked["seen"], request)
    except TimePast as refusal:
        return _past(subject, refusal, request.user)
    except ArticleError as refusal:
        return Answer(str(refusal), refusal.code)


def undo(request: HttpRequest) -> Answer:
    """Undo the last rescheduling, unless another user has changed the time since."""
    last = request.session.pop(LAST_RESCHEDULED, None)
    if last is None:
        return Answer(_("There is nothing to undo."), "nothing")
    old, new = datetime.fromisoformat(last["old"]), datetime.fromisoformat(last["new"])
    try:
        return reschedule_subject(subject_named(last["key"]), old, new, request)
    except ValidationError as error:
        return Answer(str(error.messages[0]), "gone")
    except ArticleError as refusal:
        return Answer(str(refusal), refusal.code)


def reschedule_subject(subject: MovableSubject, to: datetime, seen: datetime, request: HttpRequest) -> Answer:
    """Reschedule it, and remember that for `undo`."""
    _require_sight(subject, request)
    subject.reschedule(to, seen=seen, by=request.user)
    request.session[LAST_RESCHEDULED] = {"key": subject.key, "old": seen.isoformat(), "new": to.isoformat()}
    words = {"title": subject.title, "time": format_time_exactly(to)}
    return Answer(_("“%(title)s” is rescheduled to %(time)s.") % words)


def _require_sight(subject: MovableSubject, request: HttpRequest) -> None:
    """Raise `NotAllowed` before an error names what the user may not see."""
    if not subject.may_be_seen(request.user):
        raise NotAllowed


def _do_now(subject: MovableSubject, seen: datetime, request: HttpRequest) -> Answer:
    _require_sight(subject, request)
    subject.do_now(seen=seen, by=request.user)
    request.session.pop(LAST_RESCHEDULED, None)
    return Answer(_("“%(title)s” is published.") % {"title": subject.title})


def _misunderstood(form: RescheduleEntryForm) -> Answer:
    """The first form error; an hour that occurs twice is a question."""
    errors = form.errors.as_data()
    fault = next(iter(errors.values()))[0]
    message = str(fault.messages[0])
    if fault.code != "ambiguous":
        return Answer(message, fault.code or "invalid")
    choices = [Alternative(label, "at_which", value) for value, label in two_times(form["at"].data)]
    return Answer(message, "ambiguous", tuple(choices))


def _past(subject: MovableSubject, refusal: TimePast, by: Actor) -> Answer:
    reloaded = subject_named(subject.key)  # the refusal left its new time in the instance
    transition = reloaded.transition_at_once(by)
    if transition is None:
        return Answer(str(refusal), refusal.code)
    return Answer(
        _("This time is in the past, so “%(title)s” was not rescheduled. Do it now?") % {"title": subject.title},
        refusal.code,
        (Alternative(str(transition), "now", "1"),),
    )
