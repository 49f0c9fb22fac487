"""The transitions of articles and releases, as data.

One row of `TRANSITIONS` is everything the admin, the API, the `article` command and the bulk actions know about a
transition; the function that performs it is registered in `articles.publishing` with `@performs(Transition.NAME)`.

The system's own transitions (the automatic review, going live, being unpublished at a set time) lead to the same
statuses; they need no permission and live beside the code that applies them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from articles.models import Article, Release, ReleaseMember

Status = Article.Status


class Transition(StrEnum):
    """What a user can do with an article."""

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
    """Whose status decides whether a transition is possible."""

    ARTICLE = "the article"
    TEXT = "its newest text: the draft of its update, or else the article itself"
    UPDATE = "the approved text of its update"
    NEWER = "its update, approved or not"


class Input(Enum):
    """What a transition needs beside the article: the names of its function's arguments.

    In sets, since Python 3.11.2 of Debian 12 takes an empty tuple for no value at all.
    """

    NONE = frozenset[str]()
    REASON = frozenset({"reason", "revision"})
    NOTICE = frozenset({"notice"})
    TIME = frozenset({"publish_at", "at_once"})
    MINUTES = frozenset({"minutes"})
    REVISION = frozenset({"revision", "override", "stage"})
    EMBARGO = frozenset({"until"})


@dataclass(frozen=True, kw_only=True)
class TransitionRule:
    """What is true of one transition, wherever it is offered."""

    label: Promise
    icon: str
    permission: str
    sources: frozenset[Status]
    target: Status | None = None  #: None: the status stays
    subject: Subject = Subject.ARTICLE
    input: Input = Input.NONE
    path: str  #: in the API, below the article
    held_for: ReleaseMember.Action | None = None  #: refused for members of a pending release with this action
    is_undoable: bool = False  #: as a bulk action
    is_bulk_action: bool = False
    is_removal: bool = False  #: shows readers nothing new, whatever was changed since the form was opened
    confirmation: Promise | None = None  #: what readers notice at once; asked about first
    bulk_confirmation: Promise | None = None

    @property
    def is_for_one(self) -> bool:
        """Whether an article's form has a button for it and the `article` command takes it."""
        return self.input not in (Input.MINUTES, Input.EMBARGO)

    @property
    def is_confirmed_first(self) -> bool:
        """Whether a page asks before it is made, or asks for its reason or notice."""
        return bool(self.confirmation) or self.input in (Input.REASON, Input.NOTICE)


WAITING = frozenset(Status.waiting())
UNAPPROVED = frozenset(Status.unapproved())
TO_COME = UNAPPROVED | WAITING

TRANSITIONS: dict[Transition, TransitionRule] = {
    Transition.SUBMIT: TransitionRule(
        label=_("Submit for review"),
        icon="send",
        permission="articles.change_article",
        sources=frozenset({Status.DRAFT, Status.REJECTED}),
        target=Status.SUBMITTED,
        subject=Subject.TEXT,
        path="submit",
        is_undoable=True,
        is_bulk_action=True,
    ),
    Transition.APPROVE: TransitionRule(
        label=_("Approve"),
        icon="check",
        permission="articles.review_article",
        sources=frozenset({Status.MANUAL_REVIEW}),
        target=Status.MANUALLY_APPROVED,
        subject=Subject.TEXT,
        input=Input.REVISION,
        path="approve",
        is_undoable=True,
        is_bulk_action=True,
    ),
    Transition.REJECT: TransitionRule(
        label=_("Reject"),
        icon="block",
        permission="articles.review_article",
        sources=frozenset({Status.MANUAL_REVIEW}),
        target=Status.REJECTED,
        subject=Subject.TEXT,
        input=Input.REASON,
        path="reject",
    ),
    Transition.SCHEDULE: TransitionRule(
        label=_("Schedule"),
        icon="schedule",
        permission="articles.schedule_article",
        sources=WAITING,
        input=Input.TIME,
        path="schedule",
        held_for=ReleaseMember.Action.PUBLISH,
        is_undoable=True,
        is_bulk_action=True,
    ),
    Transition.RESCHEDULE: TransitionRule(
        label=_("Reschedule"),
        icon="update",
        permission="articles.schedule_article",
        sources=WAITING,
        input=Input.MINUTES,
        path="reschedule",
        held_for=ReleaseMember.Action.PUBLISH,
        is_undoable=True,
        is_bulk_action=True,
    ),
    Transition.UNSCHEDULE: TransitionRule(
        label=_("Unschedule"),
        icon="event_busy",
        permission="articles.schedule_article",
        sources=WAITING,
        path="unschedule",
        held_for=ReleaseMember.Action.PUBLISH,
        is_undoable=True,
        is_bulk_action=True,
        is_removal=True,
    ),
    Transition.PUBLISH_NOW: TransitionRule(
        label=_("Publish now"),
        icon="bolt",
        permission="articles.publish_article",
        sources=WAITING,
        target=Status.PUBLISHED,
        path="publish",
        held_for=ReleaseMember.Action.PUBLISH,
        is_bulk_action=True,
        confirmation=_("Readers will see it immediately."),
        bulk_confirmation=_(
            "Readers will see these articles immediately. This cannot be undone, but you can unpublish them."
        ),
    ),
    Transition.UNPUBLISH: TransitionRule(
        label=_("Unpublish"),
        icon="visibility_off",
        permission="articles.publish_article",
        sources=frozenset({Status.PUBLISHED}),
        target=Status.UNPUBLISHED,
        path="unpublish",
        is_undoable=True,
        is_bulk_action=True,
        is_removal=True,
        confirmation=_("Readers will no longer see it. You can republish it later."),
        bulk_confirmation=_("Readers will no longer see these articles."),
    ),
    Transition.REPUBLISH: TransitionRule(
        label=_("Republish"),
        icon="undo",
        permission="articles.publish_article",
        sources=frozenset({Status.UNPUBLISHED}),
        target=Status.PUBLISHED,
        path="republish",
        held_for=ReleaseMember.Action.PUBLISH,
        is_undoable=True,
        is_bulk_action=True,
        confirmation=_("Readers will see it again immediately, with its original date."),
        bulk_confirmation=_("Readers will see these articles again immediately, with their original dates."),
    ),
    Transition.SET_EMBARGO: TransitionRule(
        label=_("Set or lift embargo"),
        icon="lock_clock",
        permission="articles.lift_embargo",
        sources=TO_COME | {Status.UNPUBLISHED},
        input=Input.EMBARGO,
        path="embargo",
    ),
    Transition.RETRACT: TransitionRule(
        label=_("Retract"),
        icon="cancel",
        permission="articles.retract_article",
        sources=WAITING | {Status.PUBLISHED, Status.UNPUBLISHED},
        target=Status.RETRACTED,
        input=Input.NOTICE,
        path="retract",
        is_removal=True,
        confirmation=_("Readers see only the retraction notice from now on."),
    ),
    Transition.UNDO_RETRACTION: TransitionRule(
        label=_("Undo retraction"),
        icon="undo",
        permission="articles.retract_article",
        sources=frozenset({Status.RETRACTED}),
        target=Status.UNPUBLISHED,
        path="undo-retraction",
    ),
    Transition.SCHEDULE_UPDATE: TransitionRule(
        label=_("Schedule update"),
        icon="update",
        permission="articles.schedule_article",
        sources=TO_COME,
        subject=Subject.NEWER,
        input=Input.TIME,
        path="update/schedule",
        held_for=ReleaseMember.Action.UPDATE,
    ),
    Transition.UNSCHEDULE_UPDATE: TransitionRule(
        label=_("Unschedule update"),
        icon="event_busy",
        permission="articles.schedule_article",
        sources=TO_COME,
        subject=Subject.NEWER,
        path="update/unschedule",
        held_for=ReleaseMember.Action.UPDATE,
        is_removal=True,
    ),
    Transition.PUBLISH_UPDATE: TransitionRule(
        label=_("Publish update"),
        icon="bolt",
        permission="articles.publish_article",
        sources=WAITING,
        subject=Subject.UPDATE,
        path="update/publish",
        held_for=ReleaseMember.Action.UPDATE,
        confirmation=_("The update replaces the live text immediately."),
    ),
    Transition.DISCARD_UPDATE: TransitionRule(
        label=_("Discard update"),
        icon="delete",
        permission="articles.change_article",
        sources=TO_COME,
        subject=Subject.NEWER,
        path="update/discard",
    ),
}


def held_for(action: ReleaseMember.Action) -> frozenset[Transition]:
    """The transitions refused for members of a pending release: they would show readers one member before the others.

    Removing a member from the site stays possible, and makes the release fail its preflight check.
    """
    return frozenset(transition for transition, rule in TRANSITIONS.items() if rule.held_for is action)


class ReleaseTransition(StrEnum):
    """What a user can do with a release."""

    CHANGE = "change_release"
    SCHEDULE = "schedule_release"
    PUBLISH = "publish_release"
    CANCEL = "cancel_release"
    REOPEN = "reopen_release"
    ROLL_BACK = "roll_back_release"
    DELETE = "delete_release"


@dataclass(frozen=True, kw_only=True)
class ReleaseTransitionRule:
    """From which statuses a release can take a transition, and to which it leads (None: the status stays)."""

    label: Promise
    sources: frozenset[Release.Status]
    target: Release.Status | None = None
    confirmation: Promise | None = None  #: asked about first, above the list of members
    is_removal: bool = False  #: takes the release or what it published away


_PENDING = frozenset(Release.Status.pending())

RELEASE_TRANSITIONS: dict[ReleaseTransition, ReleaseTransitionRule] = {
    ReleaseTransition.CHANGE: ReleaseTransitionRule(label=_("Edit release"), sources=_PENDING),
    ReleaseTransition.SCHEDULE: ReleaseTransitionRule(
        label=_("Schedule release"), sources=_PENDING, target=Release.Status.SCHEDULED
    ),
    ReleaseTransition.PUBLISH: ReleaseTransitionRule(
        label=_("Publish release now"),
        sources=_PENDING,
        target=Release.Status.PUBLISHED,
        confirmation=_("All of these go live as soon as you confirm:"),
    ),
    ReleaseTransition.CANCEL: ReleaseTransitionRule(
        label=_("Cancel release"),
        sources=_PENDING,
        target=Release.Status.CANCELLED,
        confirmation=_(
            "The release is not published. Its articles stay approved and unscheduled, and can join other releases:"
        ),
        is_removal=True,
    ),
    ReleaseTransition.REOPEN: ReleaseTransitionRule(
        label=_("Reopen release"),
        sources=frozenset({Release.Status.CANCELLED, Release.Status.ROLLED_BACK}),
        target=Release.Status.DRAFT,
        confirmation=_("Its articles lose any time set since, and belong to this release again:"),
    ),
    ReleaseTransition.ROLL_BACK: ReleaseTransitionRule(
        label=_("Roll back release"),
        sources=frozenset({Release.Status.PUBLISHED}),
        target=Release.Status.ROLLED_BACK,
        confirmation=_("All its articles return to their earlier state at once:"),
        is_removal=True,
    ),
    ReleaseTransition.DELETE: ReleaseTransitionRule(
        label=_("Delete release"),
        sources=frozenset({Release.Status.DRAFT, Release.Status.FAILED, Release.Status.CANCELLED}),
        confirmation=_("The release is deleted. Only its audit log entries stay. Its articles stay, unscheduled:"),
        is_removal=True,
    ),
}
"""All of them need the permission `articles.schedule_release`."""


class Verdict(StrEnum):
    """The result of the automatic review of a submitted article."""

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
        """The status that decides whether a transition is possible."""
        if subject is Subject.TEXT:
            return self.article if self.draft is None else self.draft
        if subject is Subject.NEWER:
            return self.update if self.draft is None else self.draft
        return self.update if subject is Subject.UPDATE else self.article


def is_possible(transition: Transition, position: Position) -> bool:
    """Whether an article in this position can take the transition."""
    return position.of(TRANSITIONS[transition].subject) in TRANSITIONS[transition].sources


def transitions_from(position: Position) -> list[Transition]:
    """The transitions possible from this position, in the order of the table."""
    return [transition for transition in TRANSITIONS if is_possible(transition, position)]
