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


class Step(StrEnum):
    """What a person can do with an article."""

    SUBMIT = "submit"
    APPROVE = "approve"
    REFUSE = "refuse"
    SCHEDULE = "schedule"
    MOVE = "move"
    CANCEL_SCHEDULE = "cancel_schedule"
    PUBLISH_NOW = "publish_now"
    WITHDRAW = "withdraw"
    RESTORE = "restore"
    SET_EMBARGO = "set_embargo"
    KILL = "kill"
    REVIVE = "revive"
    SCHEDULE_UPDATE = "schedule_update"
    CANCEL_UPDATE = "cancel_update"
    PUBLISH_UPDATE = "publish_update"
    DISCARD_UPDATE = "discard_update"


class Subject(Enum):
    """Whose status says whether a step is possible."""

    ARTICLE = "the article"
    TEXT = "its newest text: the draft of its update, or else the article itself"
    UPDATE = "the approved text of its update"
    NEWER = "its update, approved or not"


@dataclass(frozen=True)
class Transition:
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

STEPS: dict[Step, Transition] = {
    Step.SUBMIT: Transition(
        _("Submit for review"),
        frozenset({Status.DRAFT, Status.REJECTED}),
        Status.SUBMITTED,
        "articles.change_article",
        Subject.TEXT,
    ),
    Step.APPROVE: Transition(
        _("Approve"),
        frozenset({Status.MANUAL_REVIEW}),
        Status.MANUALLY_APPROVED,
        "articles.review_article",
        Subject.TEXT,
    ),
    Step.REFUSE: Transition(
        _("Refuse"), frozenset({Status.MANUAL_REVIEW}), Status.REJECTED, "articles.review_article", Subject.TEXT
    ),
    Step.SCHEDULE: Transition(_("Schedule"), WAITING, None, "articles.schedule_article"),
    Step.MOVE: Transition(_("Move"), WAITING, None, "articles.schedule_article"),
    Step.CANCEL_SCHEDULE: Transition(_("Cancel the schedule"), WAITING, None, "articles.schedule_article"),
    Step.PUBLISH_NOW: Transition(_("Publish now"), WAITING, Status.PUBLISHED, "articles.publish_article"),
    Step.WITHDRAW: Transition(
        _("Withdraw"), frozenset({Status.PUBLISHED}), Status.WITHDRAWN, "articles.publish_article"
    ),
    Step.RESTORE: Transition(_("Restore"), frozenset({Status.WITHDRAWN}), Status.PUBLISHED, "articles.publish_article"),
    Step.SET_EMBARGO: Transition(
        _("Set or lift the embargo"), UNAPPROVED | WAITING | {Status.WITHDRAWN}, None, "articles.lift_embargo"
    ),
    Step.KILL: Transition(
        _("Kill"), WAITING | {Status.PUBLISHED, Status.WITHDRAWN}, Status.KILLED, "articles.kill_article"
    ),
    Step.REVIVE: Transition(_("Revive"), frozenset({Status.KILLED}), Status.WITHDRAWN, "articles.kill_article"),
    Step.SCHEDULE_UPDATE: Transition(
        _("Schedule the update"), UNAPPROVED | WAITING, None, "articles.schedule_article", Subject.NEWER
    ),
    Step.CANCEL_UPDATE: Transition(
        _("Cancel the update’s time"), UNAPPROVED | WAITING, None, "articles.schedule_article", Subject.NEWER
    ),
    Step.PUBLISH_UPDATE: Transition(
        _("Publish the update now"), WAITING, None, "articles.publish_article", Subject.UPDATE
    ),
    Step.DISCARD_UPDATE: Transition(
        _("Discard the newer text"), UNAPPROVED | WAITING, None, "articles.change_article", Subject.NEWER
    ),
}


KEPT_BY_RELEASE: dict[ReleaseMember.Action, frozenset[Step]] = {
    ReleaseMember.Action.PUBLISH: frozenset(
        {Step.SCHEDULE, Step.MOVE, Step.CANCEL_SCHEDULE, Step.PUBLISH_NOW, Step.RESTORE}
    ),
    ReleaseMember.Action.UPDATE: frozenset({Step.SCHEDULE_UPDATE, Step.CANCEL_UPDATE, Step.PUBLISH_UPDATE}),
    ReleaseMember.Action.WITHDRAW: frozenset(),
}
"""What a pending release keeps for itself: the steps that would show readers a member before the others.

Whatever takes something away from readers stays possible, and makes the release fail unless it is mended.
"""


class ReleaseStep(StrEnum):
    """What a person can do with a release."""

    CHANGE = "change_release"
    SCHEDULE = "schedule_release"
    PUBLISH = "publish_release"
    CANCEL = "cancel_release"
    REOPEN = "reopen_release"
    ROLL_BACK = "roll_back_release"
    DELETE = "delete_release"


@dataclass(frozen=True)
class ReleaseTransition:
    """Where a step of a release may start, and where it leads (None: the status stays)."""

    label: Promise
    sources: frozenset[Release.Status]
    target: Release.Status | None


_PENDING = frozenset(Release.Status.pending())
_OVER = frozenset({Release.Status.CANCELLED, Release.Status.ROLLED_BACK})

RELEASE_STEPS: dict[ReleaseStep, ReleaseTransition] = {
    ReleaseStep.CHANGE: ReleaseTransition(_("Change the release"), _PENDING, None),
    ReleaseStep.SCHEDULE: ReleaseTransition(_("Schedule the release"), _PENDING, Release.Status.SCHEDULED),
    ReleaseStep.PUBLISH: ReleaseTransition(_("Publish the release now"), _PENDING, Release.Status.PUBLISHED),
    ReleaseStep.CANCEL: ReleaseTransition(_("Cancel the release"), _PENDING, Release.Status.CANCELLED),
    ReleaseStep.REOPEN: ReleaseTransition(_("Prepare it again"), _OVER, Release.Status.DRAFT),
    ReleaseStep.ROLL_BACK: ReleaseTransition(
        _("Roll the release back"), frozenset({Release.Status.PUBLISHED}), Release.Status.ROLLED_BACK
    ),
    ReleaseStep.DELETE: ReleaseTransition(
        _("Delete the release"),
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


def may_start(step: Step, position: Position) -> bool:
    """Whether an article that stands so can take the step."""
    return position.of(STEPS[step].subject) in STEPS[step].sources


def steps_from(position: Position) -> list[Step]:
    """The steps open to an article that stands so, in the order of the table."""
    return [step for step in STEPS if may_start(step, position)]
