"""The ways an article may go, as data: pure, no I/O. One row of `STEPS` is one thing a person can do.

The system's own ways (the verdict of the automatic review, going live, being taken off at a set time) end in the
same statuses; they ask for no permission and live beside the code that takes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from articles.models import Article

Status = Article.Status


class Step(StrEnum):
    """What a person can do with an article."""

    SUBMIT = "submit"
    APPROVE = "approve"
    REFUSE = "refuse"
    SCHEDULE = "schedule"
    CANCEL_SCHEDULE = "cancel_schedule"
    PUBLISH_NOW = "publish_now"
    WITHDRAW = "withdraw"
    RESTORE = "restore"


@dataclass(frozen=True)
class Transition:
    """Where a step may start, where it leads (None: the status stays) and which permission it takes."""

    label: Promise
    sources: frozenset[Status]
    target: Status | None
    permission: str


WAITING = frozenset(Status.waiting())

STEPS: dict[Step, Transition] = {
    Step.SUBMIT: Transition(
        _("Submit for review"), frozenset({Status.DRAFT, Status.REJECTED}), Status.SUBMITTED, "articles.change_article"
    ),
    Step.APPROVE: Transition(
        _("Approve"), frozenset({Status.MANUAL_REVIEW}), Status.MANUALLY_APPROVED, "articles.review_article"
    ),
    Step.REFUSE: Transition(_("Refuse"), frozenset({Status.MANUAL_REVIEW}), Status.REJECTED, "articles.review_article"),
    Step.SCHEDULE: Transition(_("Schedule"), WAITING, None, "articles.schedule_article"),
    Step.CANCEL_SCHEDULE: Transition(_("Cancel the schedule"), WAITING, None, "articles.schedule_article"),
    Step.PUBLISH_NOW: Transition(_("Publish now"), WAITING, Status.PUBLISHED, "articles.publish_article"),
    Step.WITHDRAW: Transition(
        _("Withdraw"), frozenset({Status.PUBLISHED}), Status.WITHDRAWN, "articles.publish_article"
    ),
    Step.RESTORE: Transition(_("Restore"), frozenset({Status.WITHDRAWN}), Status.PUBLISHED, "articles.publish_article"),
}


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


def may_start(step: Step, status: int) -> bool:
    """Whether an article in this status can take the step."""
    return status in STEPS[step].sources


def steps_from(status: int) -> list[Step]:
    """The steps open to an article in this status, in the order of the table."""
    return [step for step in STEPS if may_start(step, status)]
