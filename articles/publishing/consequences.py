"""What readers notice of a change at once: the sentences that its confirmation shows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime

from django.utils.translation import gettext as _

from articles.exceptions import ArticleError
from articles.models import Article, Text
from articles.review import needs_second_person
from articles.text import format_time_exactly
from articles.workflow import TRANSITIONS, Transition
from scheduling.database import read_database_clock


class Unconfirmed(ArticleError):
    """The change is possible and needs confirmation. `typed` is whether the form has unsaved edits."""

    code = "unconfirmed"

    def __init__(self, consequences: Sequence[str], *, typed: bool) -> None:
        super().__init__(" ".join(consequences))
        self.consequences, self.typed = consequences, typed


def refuse_unconfirmed(
    article: Article, before: Article | None, *, transitions: Collection[Transition], changed: Collection[str]
) -> None:
    """Raise `Unconfirmed` if readers notice the change just made to `article`, so that its transaction rolls back.

    `before` is the previous state, None for a new article; `changed` are the changed form fields.
    """
    transition = next((one for one in transitions if TRANSITIONS[one].is_confirmed_first), None)
    if transition is None and not _goes_live(article, before):
        return
    shown = list(consequences(transition, before))
    if transition is Transition.PUBLISH_NOW and _leaves_a_draft(before, changed):
        shown.append(_("Readers see the approved text. Later changes need approval first."))
    raise Unconfirmed(shown, typed=bool(changed))


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


def _leaves_a_draft(before: Article | None, changed: Collection[str]) -> bool:
    """Whether text remains that the transition does not publish."""
    pending_update = before.pending_update if before else None
    return bool(pending_update and pending_update.draft_id) or not Text.NAMES.isdisjoint(changed)
