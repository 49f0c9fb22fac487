"""The ways an article may go, as data: pure, no I/O. One row of `STEPS` is one thing a person can do.

The system's own ways (the verdict of the automatic review, going live, being taken off at a set time) end in the
same statuses; they ask for no permission and live beside the code that takes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from articles.models import Article, Release, ReleaseMember

Status = Article.Status


class Transition(StrEnum):
    """What a person can do with an article."""

    SUBMIT = "submit"
    APPROVE = "approve"
    REJECT = "reject"
    SCHEDULE = "schedule"
    RESCHEDULE = "reschedule"
    UNSCHEDULE = "unschedule"
    PUBLISH_NOW = "publish_now"
    UNPUBLISH = "unpublish"
    REPUBLISH = "republish"
    SET_EMBARGO = "set_embargo"
    RETRACT = "retract"
    UNDO_RETRACTION = "undo_retraction"
    SCHEDULE_UPDATE = "schedule_update"
    UNSCHEDULE_UPDATE = "unschedule_update"
    PUBLISH_UPDATE = "publish_update"
    DISCARD_UPDATE = "discard_update"


class Subject(Enum):
    """Whose status says whether a step is possible."""

    ARTICLE = "the article"
    TEXT = "its newest text: the draft of its update, or else the article itself"
    UPDATE = "the approved text of its update"
    NEWER = "its update, approved or not"


@dataclass(frozen=True)
class TransitionRule:
    """Where a step may start, where it leads (None: the status stays), which permission it takes, and whose status
    is meant.
    """

    label: Promise
    sources: frozenset[Status]
    target: Status | None
    permission: str
    subject: Subject = Subject.ARTICLE


WAITING = frozenset(Status.waiting())
UNAPPROVED = frozenset(Status.unapproved())
TO_COME = UNAPPROVED | WAITING

TRANSITIONS: dict[Transition, TransitionRule] = {
    Transition.SUBMIT: TransitionRule(
        _("Submit for review"),
        frozenset({Status.DRAFT, Status.REJECTED}),
        Status.SUBMITTED,
        "articles.change_article",
        Subject.TEXT,
    ),
    Transition.APPROVE: TransitionRule(
        _("Approve"),
        frozenset({Status.MANUAL_REVIEW}),
        Status.MANUALLY_APPROVED,
        "articles.review_article",
        Subject.TEXT,
    ),
    Transition.REJECT: TransitionRule(
        _("Reject"), frozenset({Status.MANUAL_REVIEW}), Status.REJECTED, "articles.review_article", Subject.TEXT
    ),
    Transition.SCHEDULE: TransitionRule(_("Schedule"), WAITING, None, "articles.schedule_article"),
    Transition.RESCHEDULE: TransitionRule(_("Reschedule"), WAITING, None, "articles.schedule_article"),
    Transition.UNSCHEDULE: TransitionRule(_("Unschedule"), WAITING, None, "articles.schedule_article"),
    Transition.PUBLISH_NOW: TransitionRule(_("Publish now"), WAITING, Status.PUBLISHED, "articles.publish_article"),
    Transition.UNPUBLISH: TransitionRule(
        _("Unpublish"), frozenset({Status.PUBLISHED}), Status.UNPUBLISHED, "articles.publish_article"
    ),
    Transition.REPUBLISH: TransitionRule(
        _("Republish"), frozenset({Status.UNPUBLISHED}), Status.PUBLISHED, "articles.publish_article"
    ),
    Transition.SET_EMBARGO: TransitionRule(
        _("Set or lift embargo"), UNAPPROVED | WAITING | {Status.UNPUBLISHED}, None, "articles.lift_embargo"
    ),
    Transition.RETRACT: TransitionRule(
        _("Retract"), WAITING | {Status.PUBLISHED, Status.UNPUBLISHED}, Status.RETRACTED, "articles.retract_article"
    ),
    Transition.UNDO_RETRACTION: TransitionRule(
        _("Undo retraction"), frozenset({Status.RETRACTED}), Status.UNPUBLISHED, "articles.retract_article"
    ),
    Transition.SCHEDULE_UPDATE: TransitionRule(
        _("Schedule update"), UNAPPROVED | WAITING, None, "articles.schedule_article", Subject.NEWER
    ),
    Transition.UNSCHEDULE_UPDATE: TransitionRule(
        _("Unschedule update"), UNAPPROVED | WAITING, None, "articles.schedule_article", Subject.NEWER
    ),
    Transition.PUBLISH_UPDATE: TransitionRule(
        _("Publish update"), WAITING, None, "articles.publish_article", Subject.UPDATE
    ),
    Transition.DISCARD_UPDATE: TransitionRule(
        _("Discard update"), UNAPPROVED | WAITING, None, "articles.change_article", Subject.NEWER
    ),
}


HELD_BY_RELEASE: dict[ReleaseMember.Action, frozenset[Transition]] = {
    ReleaseMember.Action.PUBLISH: frozenset(
        {
            Transition.SCHEDULE,
            Transition.RESCHEDULE,
            Transition.UNSCHEDULE,
            Transition.PUBLISH_NOW,
            Transition.REPUBLISH,
        }
    ),
    ReleaseMember.Action.UPDATE: frozenset(
        {Transition.SCHEDULE_UPDATE, Transition.UNSCHEDULE_UPDATE, Transition.PUBLISH_UPDATE}
    ),
    ReleaseMember.Action.UNPUBLISH: frozenset(),
}
"""What a pending release keeps for itself: the steps that would show readers a member before the others.

Whatever takes something away from readers stays possible, and makes the release fail unless it is mended.
"""


class ReleaseTransition(StrEnum):
    """What a person can do with a release."""

    CHANGE = "change_release"
    SCHEDULE = "schedule_release"
    PUBLISH = "publish_release"
    CANCEL = "cancel_release"
    REOPEN = "reopen_release"
    ROLL_BACK = "roll_back_release"
    DELETE = "delete_release"


@dataclass(frozen=True)
class ReleaseTransitionRule:
    """Where a step of a release may start, and where it leads (None: the status stays)."""

    label: Promise
    sources: frozenset[Release.Status]
    target: Release.Status | None


_PENDING = frozenset(Release.Status.pending())
_OVER = frozenset({Release.Status.CANCELLED, Release.Status.ROLLED_BACK})

RELEASE_TRANSITIONS: dict[ReleaseTransition, ReleaseTransitionRule] = {
    ReleaseTransition.CHANGE: ReleaseTransitionRule(_("Edit release"), _PENDING, None),
    ReleaseTransition.SCHEDULE: ReleaseTransitionRule(_("Schedule release"), _PENDING, Release.Status.SCHEDULED),
    ReleaseTransition.PUBLISH: ReleaseTransitionRule(_("Publish release now"), _PENDING, Release.Status.PUBLISHED),
    ReleaseTransition.CANCEL: ReleaseTransitionRule(_("Cancel release"), _PENDING, Release.Status.CANCELLED),
    ReleaseTransition.REOPEN: ReleaseTransitionRule(_("Reopen release"), _OVER, Release.Status.DRAFT),
    ReleaseTransition.ROLL_BACK: ReleaseTransitionRule(
        _("Roll back release"), frozenset({Release.Status.PUBLISHED}), Release.Status.ROLLED_BACK
    ),
    ReleaseTransition.DELETE: ReleaseTransitionRule(
        _("Delete release"),
        frozenset({Release.Status.DRAFT, Release.Status.FAILED, Release.Status.CANCELLED}),
        None,
    ),
}
"""All of them take the permission `articles.schedule_release`."""


class Verdict(StrEnum):
    """What the automatic review says about a submitted article."""

    PASSED = "passed"
    BLOCKED = "blocked"
    UNSURE = "unsure"


VERDICTS: dict[Verdict, Status] = {
    Verdict.PASSED: Status.APPROVED,
    Verdict.BLOCKED: Status.REJECTED,
    Verdict.UNSURE: Status.MANUAL_REVIEW,
}


@dataclass(frozen=True)
class Position:
    """The statuses of an article, of the draft of its update, and of the update's approved text; None without one."""

    article: int
    draft: int | None = None
    update: int | None = None

    def of(self, subject: Subject) -> int | None:
        """The status that says whether a step is possible."""
        if subject is Subject.TEXT:
            return self.article if self.draft is None else self.draft
        if subject is Subject.NEWER:
            return self.update if self.draft is None else self.draft
        return self.update if subject is Subject.UPDATE else self.article


def is_possible(transition: Transition, position: Position) -> bool:
    """Whether an article that stands so can take the step."""
    return position.of(TRANSITIONS[transition].subject) in TRANSITIONS[transition].sources


def transitions_from(position: Position) -> list[Transition]:
    """The steps open to an article that stands so, in the order of the table."""
    return [transition for transition in TRANSITIONS if is_possible(transition, position)]
