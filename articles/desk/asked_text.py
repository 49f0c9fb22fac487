"""Texts that a transition needs, which its confirmation page asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.translation import gettext as _, gettext_lazy, pgettext_lazy

from articles.desk.transitions import pressed
from articles.exceptions import ArticleError, ReasonMissing, RetractionNoticeMissing
from articles.models import Article
from articles.workflow import Transition

NAME = "reason"
"""Name of the field on the page."""
_STAND_IN = "…"  # with which a transition is tried until it is asked about


@dataclass(frozen=True)
class AskedText:
    """A text field of the confirmation page, as it is shown: with its value and, after a wrong answer, an error."""

    label: Promise
    help_text: Promise
    column: str
    missing: type[ArticleError]
    value: str = ""
    error: str = ""

    @property
    def limit(self) -> int:
        """Most characters."""
        return int(Article._meta.get_field(self.column).max_length or 0)  # type: ignore[union-attr]

    def answered(self, text: str) -> AskedText:
        """With this answer, and what is wrong with it."""
        return replace(self, value=text, error=self._error(text))

    def _error(self, text: str) -> str:
        if not text:
            return str(self.missing())
        over = len(text) - self.limit
        return _("Shorten it by %(count)d characters.") % {"count": over} if over > 0 else ""


_ASKED: Mapping[Transition, AskedText] = {
    Transition.RETRACT: AskedText(
        gettext_lazy("Retraction notice"),
        gettext_lazy("Readers see it in place of the article."),
        "retraction_notice",
        RetractionNoticeMissing,
    ),
    Transition.REJECT: AskedText(
        pgettext_lazy("of a rejection", "Feedback to author"),
        gettext_lazy("The author gets the article back with it."),
        "status_reason",
        ReasonMissing,
    ),
}


def asked_text(request: HttpRequest) -> AskedText | None:
    """The text that the pressed transition needs, with what was entered; None if it needs none."""
    found = next((_ASKED[one] for one in pressed(request) if one in _ASKED), None)
    return found and found.answered(_entered(request))


def text_to_try(request: HttpRequest) -> dict[str, str]:
    """The entered text as the arguments of a transition, or a stand-in, with which it is only tried."""
    return dict.fromkeys(("reason", "notice"), _entered(request) or _STAND_IN)


def _entered(request: HttpRequest) -> str:
    return request.POST.get(NAME, "").replace("\r\n", "\n").strip()
